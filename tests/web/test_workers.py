"""The queues of the worker threads."""

import threading
from collections.abc import Iterator

import pytest

from exporter.web.workers import FairWorkerPool
from tests.web.http_client import WAIT_SECONDS


class Jobs:
    """Jobs that wait until the test lets them continue, and record their order."""

    def __init__(self) -> None:
        self.pool = FairWorkerPool("test", threads=2, queue_length=8, client_queue_length=4)
        self.started: list[str] = []
        self.gone: set[str] = set()
        self.changed = threading.Condition()
        self.permits = threading.Semaphore(0)

    def submit(self, client: str, name: str = "") -> bool:
        return self.pool.submit(
            client, lambda: self.run(name or client), lambda: client not in self.gone
        )

    def run(self, name: str) -> None:
        with self.changed:
            self.started.append(name)
            self.changed.notify_all()
        self.permits.acquire()

    def started_after(self, permits: int, count: int) -> list[str]:
        """Let jobs end, wait until `count` jobs have started, and return their names."""
        for _ in range(permits):
            self.permits.release()
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.started) >= count, WAIT_SECONDS)
            return self.started[:count]


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.pool.stop()
    made.permits.release(100)


def test_one_job_of_a_client_runs_at_a_time_and_another_client_is_next(jobs: Jobs) -> None:
    for n in range(4):
        assert jobs.submit("a", f"a{n}")
    assert ["a0"] == jobs.started_after(0, 1)
    assert jobs.submit("b")
    assert ["a0", "b"] == jobs.started_after(0, 2)


def test_clients_take_turns(jobs: Jobs) -> None:
    assert jobs.submit("x")
    assert jobs.submit("y")
    jobs.started_after(0, 2)
    for n in range(3):
        assert jobs.submit("a", f"a{n}")
    assert jobs.submit("b")
    assert jobs.submit("c")
    assert {"a0", "b"} == set(jobs.started_after(2, 4)[2:])
    assert {"c", "a1"} == set(jobs.started_after(2, 6)[4:])
    assert ["a2"] == jobs.started_after(2, 7)[6:]


def test_the_queue_of_a_client_is_limited(jobs: Jobs) -> None:
    assert jobs.submit("a")
    jobs.started_after(0, 1)
    assert [True] * 4 + [False] == [jobs.submit("a") for _ in range(5)]
    assert jobs.submit("b")


def test_the_whole_queue_is_limited(jobs: Jobs) -> None:
    for client in "xy":
        assert jobs.submit(client)
    jobs.started_after(0, 2)
    assert [True] * 8 + [False] == [jobs.submit(f"client {n}") for n in range(9)]


def test_jobs_that_nothing_waits_for_make_room(jobs: Jobs) -> None:
    for client in "xy":
        assert jobs.submit(client)
    jobs.started_after(0, 2)
    for client in "xyab":
        assert jobs.submit(client)
        assert jobs.submit(client)
    assert not jobs.submit("c")
    jobs.gone = {"a"}
    assert [True, True, False] == [jobs.submit(client) for client in "ccd"]
    assert {"b", "c"} == set(jobs.started_after(2, 4)[2:])


def test_queued_jobs_are_dropped_at_the_stop(jobs: Jobs) -> None:
    for client in "xy":
        assert jobs.submit(client)
    jobs.started_after(0, 2)
    assert jobs.submit("a")
    jobs.pool.stop()
    jobs.permits.release(3)
    for thread in jobs.pool._threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    assert ["x", "y"] == jobs.started
