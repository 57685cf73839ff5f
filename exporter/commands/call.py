"""What is the same in each call of a command that measures: its options, and where it reports."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from exporter.commands.measuring import Options
from exporter.report import delivery
from exporter.report.content import Report


@dataclass(frozen=True, slots=True)
class Call:
    """What a person asked for, of any measurement. as_json: for programs. html: a page goes there.

    Each command adds its own.
    """

    options: Options = field(default_factory=Options)
    as_json: bool = field(default=False, kw_only=True)
    html: Path | None = field(default=None, kw_only=True)

    def check(self) -> None:
        """Before an hour of measuring: whether it can be reported as it is to be.

        Raises:
            ConfigError: it cannot.
        """
        delivery.check(self.html)

    def deliver(self, report: Report, out: TextIO) -> None:
        """Print the report, and write the page.

        Raises:
            ConfigError: the page cannot be written. The report has been printed then.
        """
        delivery.deliver(report, out, as_json=self.as_json, html=self.html)
