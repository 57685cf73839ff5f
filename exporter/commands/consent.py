"""What a measurement writes is said before it begins, and agreed to by a person."""

from dataclasses import dataclass
from typing import TextIO

from exporter.commands.words import span
from exporter.errors import ConfigError
from exporter.report.words import printable, quantity


@dataclass(frozen=True, slots=True)
class Streams:
    """asks: where the answer is read from; says: where questions and progress go, not results."""

    asks: TextIO
    says: TextIO


@dataclass(frozen=True, slots=True)
class Plan:
    """What is about to be done.

    where: "/mnt/probe on sda". charge_bytes: written at most, with the filesystem's share.
    rated_bytes: what the drive's maker lets be written; None is not known. left_bytes: of today's
    budget of the scheduled probes.
    """

    where: str
    charge_bytes: int
    seconds: float
    rated_bytes: float | None = None
    left_bytes: int = 0

    def words(self) -> str:
        """A sentence without its subject and end: "writes at most 2 GB to ..."."""
        if not self.charge_bytes:
            return f"reads in {self.where} and writes nothing; takes at most {span(self.seconds)}"
        life = ""
        if self.rated_bytes:
            life = f" ({100 * self.charge_bytes / self.rated_bytes:.2g} % of its rated life)"
        over = ""
        if self.charge_bytes > self.left_bytes:
            over = f" (scheduled probes may write {quantity(self.left_bytes, 'B')} more today)"
        return (
            f"writes at most {quantity(self.charge_bytes, 'B')}{life} to {self.where}, with what"
            f" the filesystem adds{over}; takes at most {span(self.seconds)}"
        )


def ask(plan: Plan, streams: Streams, *, yes: bool) -> None:
    """Come back where the plan is agreed to.

    Raises:
        ConfigError: it is not, or nobody is there to be asked.
    """
    words = printable(plan.words())
    if yes:
        streams.says.write(f"{words}\n")
        streams.says.flush()
        return
    if not streams.asks.isatty():
        raise ConfigError(f"this {words}", "agree to it with --yes")
    streams.says.write(f"{words}\ngo on? [y/N] ")
    streams.says.flush()
    answer = streams.asks.readline()
    if not answer.endswith("\n"):
        streams.says.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was written", "it begins with the answer y, or with --yes")
