"""The queues of the worker threads."""

import threading
import time
from collections.abc import Iterator

import pytest

from exporter.web.workers import Job, QueueLimits, WorkerPool
from tests.web.http_client import WAIT_SECONDS

LIMITS = QueueLimits(
    waiting=8, waiting_of_client=4, waiting_behind=6, running_of_client=1, running_behind=1
)


class Jobs:
    """Jobs that wait until the test lets them continue, and record their order."""

    def __init__(self) -> None:
        self.pool = WorkerPool("test", 2, LIMITS)
        self.started: list[str] = []
        self.refused: list[str] = []
        self.gone: set[str] = set()
        self.ranks: dict[str, int] = {}
        self.changed = threading.Condition()
        self.permits = 0
        self.finished: set[str] = set()

    def submit(self, client: str, name: str = "", rank: int = 0) -> bool:
        """Queue a job. Its rank can be changed in `ranks` later."""
        name = name or client
        self.ranks.setdefault(name, rank)
        job = Job(
            client,
            run=lambda: self.run(name),
            is_needed=lambda: client not in self.gone,
            refuse=lambda: self.refused.append(name),
            rank=lambda: self.ranks[name],
        )
        return self.pool.submit(job)

    def fill_threads(self) -> None:
        for client in "xy":
            assert self.submit(client)
        self.started_after(0, 2)

    def run(self, name: str) -> None:
        with self.changed:
            self.started.append(name)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.permits > 0 or name in self.finished)
            self.permits -= name not in self.finished

    def let_end(self, count: int) -> None:
        """Let any jobs end, now or later."""
        with self.changed:
            self.permits += count
            self.changed.notify_all()

    def finish(self, name: str) -> None:
        with self.changed:
            self.finished.add(name)
            self.changed.notify_all()

    def started_after(self, permits: int, count: int) -> list[str]:
        """Let jobs end, wait until `count` jobs have started, and return their names."""
        self.let_end(permits)
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.started) >= count, WAIT_SECONDS)
            return self.started[:count]


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.pool.stop()
    made.let_end(100)


def test_one_job_of_a_client_runs_at_a_time_and_another_client_is_next(jobs: Jobs) -> None:
    for n in range(4):
        assert jobs.submit("a", f"a{n}")
    assert ["a0"] == jobs.started_after(0, 1)
    assert jobs.submit("b")
    assert ["a0", "b"] == jobs.started_after(0, 2)


def test_clients_take_turns(jobs: Jobs) -> None:
    jobs.fill_threads()
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
    jobs.fill_threads()
    assert [True] * 8 + [False] == [jobs.submit(f"client {n}") for n in range(9)]


def test_jobs_that_nothing_waits_for_make_room(jobs: Jobs) -> None:
    jobs.fill_threads()
    for client in "abde":
        assert jobs.submit(client)
        assert jobs.submit(client)
    assert not jobs.submit("c")
    jobs.gone = {"a"}
    assert [True, True, False] == [jobs.submit(client) for client in "ccf"]
    assert {"b", "d"} == set(jobs.started_after(2, 4)[2:])
    assert [] == jobs.refused


def test_queued_jobs_are_dropped_at_the_stop(jobs: Jobs) -> None:
    jobs.fill_threads()
    assert jobs.submit("a")
    jobs.pool.stop()
    jobs.let_end(3)
    for thread in jobs.pool._threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    assert ["x", "y"] == jobs.started


def test_a_job_of_a_lower_rank_runs_first(jobs: Jobs) -> None:
    jobs.fill_threads()
    assert jobs.submit("page", rank=1)
    assert jobs.submit("scrape")
    assert ["scrape"] == jobs.started_after(1, 3)[2:]
    assert ["page"] == jobs.started_after(1, 4)[3:]


def test_a_thread_remains_for_jobs_of_the_lowest_rank(jobs: Jobs) -> None:
    """Also if jobs of a higher rank came first, and hang."""
    for n in range(4):
        assert jobs.submit(f"page {n}", rank=1)
    jobs.started_after(0, 1)
    for n in range(4):
        assert jobs.submit(f"scrape {n}")
        started = jobs.started_after(0, 2 + n)
        assert ["page 0", *(f"scrape {each}" for each in range(n + 1))] == started
        jobs.finish(f"scrape {n}")
    jobs.finish("page 0")
    assert ["page 1"] == jobs.started_after(0, 6)[5:]


def test_jobs_of_higher_ranks_leave_room_in_the_queue(jobs: Jobs) -> None:
    jobs.fill_threads()
    assert [True] * 6 + [False] == [jobs.submit(f"page {n}", rank=1) for n in range(7)]
    assert [True] * 2 == [jobs.submit(f"scrape {n}") for n in range(2)]
    assert [] == jobs.refused
    assert jobs.submit("scrape 2")
    assert ["page 5"] == jobs.refused


def test_a_client_that_had_no_turn_takes_the_place_of_one_that_had_a_turn(jobs: Jobs) -> None:
    jobs.fill_threads()
    for n in range(4):
        assert jobs.submit("x", f"x{n}")
        assert jobs.submit("y", f"y{n}")
    assert jobs.submit("new")
    assert ["y3"] == jobs.refused
    assert not jobs.submit("y")


def test_a_job_whose_rank_has_increased_runs_later_and_loses_its_place(jobs: Jobs) -> None:
    jobs.fill_threads()
    for client in "abcdefgh":
        assert jobs.submit(client)
    assert not jobs.submit("new")
    jobs.ranks["a"] = 1
    assert jobs.submit("new")
    assert ["a"] == jobs.refused
    jobs.ranks["b"] = 1
    assert {"c", "d"} == set(jobs.started_after(2, 4)[2:])


def test_a_pool_is_stuck_since_a_job_last_started_or_ended(jobs: Jobs) -> None:
    assert jobs.pool.stuck_seconds(time.monotonic()) is None
    jobs.fill_threads()
    assert jobs.submit("a")
    now = time.monotonic()
    assert 7 <= (jobs.pool.stuck_seconds(now + 7) or 0)
    jobs.started_after(1, 3)
    assert 7 > (jobs.pool.stuck_seconds(now + 7) or 0)


def test_the_number_of_remembered_clients_is_limited() -> None:
    pool = WorkerPool("test", 1, LIMITS)
    done = threading.Semaphore(0)
    for n in range(1100):
        assert pool.submit(Job(f"client {n}", done.release))
        assert done.acquire(timeout=WAIT_SECONDS)
    pool.stop()
    assert 1024 == len(pool._turns)
