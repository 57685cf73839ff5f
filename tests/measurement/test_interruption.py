"""Tests the handling of Ctrl-C, SIGTERM and SIGHUP."""

import os
import signal

import pytest

from exporter.measurement.interruption import InterruptHandler


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_recorded_and_the_handlers_are_restored(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with InterruptHandler() as interruption:
        assert not interruption.is_set
        os.kill(os.getpid(), number)
        assert interruption.is_set
        assert number is interruption.signal
    assert before == signal.getsignal(number)


def test_a_second_ctrl_c_exits_at_once() -> None:
    with InterruptHandler() as interruption:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert "Ctrl-C" == interruption.words


def test_a_signal_that_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with InterruptHandler() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interruption.is_set
    finally:
        signal.signal(signal.SIGHUP, before)
