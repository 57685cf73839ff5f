"""Tests of the wear recorder: a disk that hangs delays no other thread."""

import threading
from typing import cast

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.drives.wearout import WearoutRules
from exporter.wear.wear_history import WearHistory
from exporter.wear.wear_recorder import WearRecorder

KEY = "naa.5002538e00000001"


class HangingHistory:
    """Simulates a file on a hanging disk, until it is released."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.notes = 0
        self.flushes = 0

    def record(self, _key: str, _seen: WearObservation) -> bool:
        self.let_go.wait(10.0)
        self.notes += 1
        return True

    def observations(self, _key: str) -> tuple[WearObservation, ...]:
        return ()

    def flush(self) -> None:
        self.flushes += 1

    def close(self) -> None:
        return


def seen(day: float) -> WearObservation:
    return WearObservation(day * DAY, day * DAY, 0.1, 0.01)


def test_record_and_remaining_do_not_wait_for_a_history_that_hangs() -> None:
    history = HangingHistory()
    wear = WearRecorder(lambda: cast("WearHistory", history), WearoutRules())
    wear.record(KEY, seen(1), None)
    working = threading.Thread(target=wear.process_queue)
    working.start()
    wear.record(KEY, seen(2), None)
    assert wear.remaining(KEY, 2 * DAY) is None
    assert working.is_alive(), "it hangs, and the two calls above came back"
    history.let_go.set()
    working.join(10.0)
    wear.process_queue()
    assert (2, 2) == (history.notes, history.flushes)


def test_no_file_is_opened_before_a_drive_reports_wear() -> None:
    opened = []

    def opened_history() -> WearHistory:
        opened.append(1)
        return cast("WearHistory", HangingHistory())

    wear = WearRecorder(opened_history, WearoutRules())
    wear.process_queue()
    wear.close()
    assert [] == opened


def test_the_file_of_another_process_is_not_written() -> None:
    history = HangingHistory()
    history.let_go.set()
    wear = WearRecorder(lambda: cast("WearHistory", history), WearoutRules(), keeps=False)
    wear.record(KEY, seen(1), None)
    wear.close()
    assert (1, 0) == (history.notes, history.flushes)
