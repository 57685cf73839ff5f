"""A measurement's file is filled: charged for, and only while production can spare the device."""

from collections.abc import Callable

from exporter.background.probe_filling import FillingGuard
from exporter.commands import measured_file
from exporter.commands.conditions import Conditions
from exporter.commands.guarded_run import guard_words
from exporter.errors import ReadError


def fill(
    conditions: Conditions,
    name: str,
    size_bytes: int,
    *,
    missing: int,
    show: Callable[[str, float], None],
) -> None:
    """Fill what is missing of the file. show: hears how far it is, from 0 to 1.

    Raises:
        ConfigError: the directory or the file is none that may be used, or the budget is spent.
        ReadError: the disk is full, production needs the device, or it was interrupted.
    """
    its, account, interruption = conditions.directory, conditions.account, conditions.interruption
    guard = FillingGuard(its, conditions.rules, conditions.clock, size_bytes, missing)

    def filling(at: int) -> None:
        reason = guard.look(at)
        if interruption.is_set:
            raise ReadError(f"nothing was measured: ended by {interruption.words}")
        if reason is not None:
            words = guard_words(reason)
            raise ReadError(f"nothing was measured: the file is not filled, for {words}")
        show("filling the file with random data", at / size_bytes)

    account.reserve("filling", missing)
    try:
        measured_file.fill(
            its.path, name, size_bytes, missing=missing, clock=conditions.clock, filling=filling
        )
    finally:
        account.settle(guard.written_bytes, None)
