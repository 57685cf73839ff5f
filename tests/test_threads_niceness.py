"""What stands back is nicer from then on, and never less nice than it was."""

import os
import threading

import pytest

from exporter.threads import NICE, lower_priority


@pytest.mark.parametrize(("before", "after"), [(0, NICE), (15, 15)])
def test_a_thread_stands_back_and_is_never_less_nice_than_it_was(before: int, after: int) -> None:
    said: list[int] = []

    def run() -> None:
        os.setpriority(os.PRIO_PROCESS, 0, max(before, os.getpriority(os.PRIO_PROCESS, 0)))
        lower_priority()
        said.append(os.getpriority(os.PRIO_PROCESS, 0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [after] == said
