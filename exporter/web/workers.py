"""Runs jobs on worker threads, with limits on the jobs that wait and an order that is fair.

concurrent.futures is not used because it joins its threads at exit: a thread that hangs would block
the exit. The constructor starts all threads. So if the limit on threads is too low, the start of
the daemon fails, not the first request.
"""

import atexit
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

#: Maximum number of clients of which the last turn is remembered. It is more than can wait at the
#: same time, and takes 0.1 MB. The client whose last turn is oldest is forgotten first.
_MAX_REMEMBERED = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Work for a client.

    client: the name of the client.
    run: does the work. It must not raise an exception.
    is_needed: returns False if the job need not run any more. It may run nevertheless.
    refuse: called instead of `run` if another job takes the place of this one in the queue, on the
        thread that queues the other job.
    rank: returns the rank. Jobs of a lower rank run first; the lowest is 0.
    """

    client: str
    run: Callable[[], None]
    is_needed: Callable[[], bool] = lambda: True
    refuse: Callable[[], None] = lambda: None
    rank: Callable[[], int] = lambda: 0


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The maximum number of jobs of a pool.

    waiting: jobs that wait for a thread.
    waiting_of_client: jobs of one client that wait for a thread.
    waiting_behind: jobs of a rank above 0 that wait for a thread.
    running_of_client: jobs of one client that run at the same time.
    running_behind: jobs of a rank above 0 that run at the same time.
    """

    waiting: int
    waiting_of_client: int
    waiting_behind: int
    running_of_client: int
    running_behind: int


class WorkerPool:
    """Runs the jobs of several clients on a fixed number of daemon threads.

    The next job is one of the lowest rank. Of these it is that of the client whose last turn is
    longest ago. So a client with many jobs delays another client by one job per thread. A job for
    which the queue has no place takes the place of the job that would run last, if it would itself
    run before that one.

    name: the beginning of the threads' names.
    threads: the number of threads.
    limits: the maximum number of jobs.
    finishes_at_exit: True if the process waits at its exit for the jobs that run. bcrypt is
        compiled from Rust: a thread that the interpreter ends within it aborts the process.
    """

    def __init__(
        self, name: str, threads: int, limits: QueueLimits, *, finishes_at_exit: bool = False
    ) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._is_stopped = False
        self._waiting: list[Job] = []
        # The jobs that run, each with its rank at its start.
        self._running: dict[Job, int] = {}
        # The number of the last turn of each client. Turns are numbered in their order from 1.
        self._turns: dict[str, int] = {}
        self._turn = 0
        self._progress_at = 0.0
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()
        if finishes_at_exit:
            atexit.register(self._finish)

    def submit(self, job: Job) -> bool:
        """Queue a job; returns False if the queue is full for it. Several threads may call it."""
        displaced = None
        with self._changed:
            if not self._has_room(job):
                self._waiting = [each for each in self._waiting if each.is_needed()]
                if not self._has_room(job):
                    displaced = self._displaced_by(job)
                    if displaced is None:
                        return False
                    self._waiting.remove(displaced)
            self._waiting.append(job)
            self._changed.notify()
        if displaced:
            displaced.refuse()
        return True

    def stuck_seconds(self, now: float) -> float | None:
        """Returns the time since a job last started or ended; None if no job runs.

        now: the monotonic time.
        """
        return now - self._progress_at if self._running else None

    def stop(self) -> None:
        """Drop the queued jobs, and make each thread end after its current job. Does not wait."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _finish(self) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    def _has_room(self, job: Job) -> bool:
        limits, count = self._limits, len(self._waiting)
        return (
            count < limits.waiting
            and (count < limits.waiting_of_client or self._has_room_for_client(job.client))
            and (count < limits.waiting_behind or job.rank() == 0 or self._has_room_behind())
        )

    def _has_room_for_client(self, client: str) -> bool:
        return sum(each.client == client for each in self._waiting) < self._limits.waiting_of_client

    def _has_room_behind(self) -> bool:
        return sum(each.rank() > 0 for each in self._waiting) < self._limits.waiting_behind

    def _displaced_by(self, job: Job) -> Job | None:
        """Returns the waiting job that loses its place to this one; None if there is none."""
        if not self._has_room_for_client(job.client):
            return None
        last = max(reversed(self._waiting), key=self._place)
        return last if self._place(job) < self._place(last) else None

    def _place(self, job: Job) -> tuple[int, int]:
        """Returns the place in the order: a job runs before those with a greater place."""
        return job.rank(), self._turns.get(job.client, 0)

    def _next(self) -> Job | None:
        """Returns the waiting job that may run now and whose place is first; None if none may."""
        limits = self._limits
        running = [each.client for each in self._running]
        has_room_behind = sum(rank > 0 for rank in self._running.values()) < limits.running_behind
        first, place = None, (0, 0)
        for job in self._waiting:
            job_place = self._place(job)
            if (
                (first is None or job_place < place)
                and (has_room_behind or job_place[0] == 0)
                and running.count(job.client) < limits.running_of_client
            ):
                first, place = job, job_place
        return first

    def _start(self, job: Job) -> None:
        self._waiting.remove(job)
        self._running[job] = job.rank()
        self._progress_at = time.monotonic()
        self._turn += 1
        self._turns.pop(job.client, None)
        self._turns[job.client] = self._turn
        if len(self._turns) > _MAX_REMEMBERED:
            del self._turns[next(iter(self._turns))]

    def _work(self) -> None:
        while True:
            with self._changed:
                job = self._next()
                while job is None and not self._is_stopped:
                    self._changed.wait()
                    job = self._next()
                if job is None or self._is_stopped:
                    return
                self._start(job)
            job.run()
            with self._changed:
                del self._running[job]
                self._progress_at = time.monotonic()
                # This thread takes a job itself. The end may also allow a second job to run.
                if self._waiting:
                    self._changed.notify()
            # A thread that waits must not keep the request of its last job in memory.
            del job
