"""Tests of the wear recorder: a disk that hangs delays no other thread."""

import threading
from typing import cast

from exporter.drives.wear_counter import DAY, WearObservation
from exporter.drives.wearout import WearoutRules
from exporter.wear.wear_history import WearHistory
from exporter.wear.wear_recorder import WearRecorder
from exporter.wear.wear_year import WearYear
from tests.duration import PATIENCE_SECONDS

KEY = "naa.5002538e00000001"


class HangingHistory:
    """Simulates a file on a hanging disk, until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.notes = 0
        self.flushes = 0

    def record(self, _key: str, _seen: WearObservation) -> bool:
        self.begun.set()
        self.let_go.wait(PATIENCE_SECONDS)
        self.notes += 1
        return True

    def observations(self, _key: str, _former_key: str = "") -> tuple[WearObservation, ...]:
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
    assert history.begun.wait(PATIENCE_SECONDS)
    wear.record(KEY, seen(2), None)
    assert wear.remaining(KEY, 2 * DAY) is None
    assert working.is_alive(), "it hangs, and the two calls above came back"
    history.let_go.set()
    working.join(PATIENCE_SECONDS)
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


def test_a_year_of_wear_contains_only_the_changes() -> None:
    observations = [WearObservation(day * DAY, None, 0.1 + day // 100 / 100) for day in range(301)]
    points = list(WearYear([WearObservation(0.5 * DAY), *observations]).points())
    days = [round(at / DAY) for at, _ in points]
    assert days == [0, 99, 100, 199, 200, 299, 300]
    assert [round(ratio, 4) for _, ratio in points] == [0.1, 0.1, 0.11, 0.11, 0.12, 0.12, 0.13]


def test_a_counter_that_always_changes_has_a_bounded_year() -> None:
    observations = [WearObservation(day * DAY, None, day / 1e6) for day in range(2000)]
    points = list(WearYear(observations).points())
    assert 500 == len(points)
    assert 1999 == round(points[-1][0] / DAY)


def test_the_year_of_a_drive_is_known_after_its_estimate() -> None:
    class Kept(HangingHistory):
        def observations(self, _key: str, _former_key: str = "") -> tuple[WearObservation, ...]:
            return seen(1.0), seen(2.0)

    kept = Kept()
    kept.let_go.set()
    recorder = WearRecorder(lambda: cast("WearHistory", kept), WearoutRules())
    assert [] == recorder.year(KEY)
    recorder.record(KEY, seen(2.0), None)
    recorder.process_queue()
    assert [1, 2] == [round(at / DAY) for at, _ in recorder.year(KEY)]


def test_reading_a_year_never_waits_for_the_file() -> None:
    hanging = HangingHistory()
    recorder = WearRecorder(lambda: cast("WearHistory", hanging), WearoutRules())
    recorder.record(KEY, seen(1.0), None)
    thread = threading.Thread(target=recorder.process_queue)
    thread.start()
    assert [] == recorder.year(KEY)
    hanging.let_go.set()
    thread.join()
