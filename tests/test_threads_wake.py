"""A wait ends when another thread or a signal asks for it, and none is lost."""

import select
import signal
import threading
from collections.abc import Iterator

import pytest

from exporter.threads import WakePipe


@pytest.fixture
def wake() -> Iterator[WakePipe]:
    wake = WakePipe()
    yield wake
    wake.close()


def is_set(wake: WakePipe) -> bool:
    return bool(select.select([wake.reading], [], [], 0)[0])


def test_it_is_readable_from_set_to_clear(wake: WakePipe) -> None:
    assert not is_set(wake)
    wake.set()
    wake.set()
    assert is_set(wake)
    assert wake.clear()
    assert not is_set(wake)
    assert not wake.clear()


def test_one_that_is_full_stays_set_and_nobody_waits_for_room(wake: WakePipe) -> None:
    for _ in range(70_000):
        wake.set()
    assert is_set(wake)


def test_a_signal_at_another_thread_ends_the_wait_of_the_main_thread(
    wake: WakePipe,
) -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    release = threading.Event()
    other = threading.Thread(target=release.wait)
    other.start()
    try:
        wake.wake_on_signals()
        assert other.ident is not None
        threading.Timer(0.05, signal.pthread_kill, (other.ident, signal.SIGUSR1)).start()
        assert [wake.reading] == select.select([wake.reading], [], [], 10)[0]
        assert [signal.SIGUSR1] == heard
    finally:
        release.set()
        other.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_closed_one_hears_no_signals() -> None:
    wake = WakePipe()
    wake.wake_on_signals()
    wake.close()
    assert -1 == signal.set_wakeup_fd(-1)
