"""Runs jobs on worker threads, with a limit on the number of jobs that wait.

concurrent.futures is not used because it joins its threads at exit: a thread that hangs would block
the exit. The constructors start all threads. So if the limit on threads is too low, the start of
the daemon fails, not the first request. A job must not raise an exception.
"""

import atexit
import queue
import threading
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]

#: The jobs of a client that wait. The function returns False if the result of its job is not needed
#: any more.
_ClientJobs = deque[tuple[Callable[[], bool], Job]]


class FairWorkerPool:
    """Runs the jobs of several clients in turn on a fixed number of daemon threads.

    At most one job of a client runs at a time, and the next job is that of the client that has
    waited for longest. So a client with many jobs delays another client by one job per thread.

    The process waits at its exit for the jobs that run. bcrypt is compiled from Rust: a thread that
    the interpreter ends within it aborts the process.

    name: the beginning of the threads' names.
    threads: the number of threads.
    queue_length: the maximum number of jobs that wait for a thread.
    client_queue_length: the maximum number of jobs of one client that wait for a thread.
    """

    def __init__(
        self, name: str, threads: int, queue_length: int, client_queue_length: int
    ) -> None:
        self._queue_length = queue_length
        self._client_queue_length = client_queue_length
        self._changed = threading.Condition()
        self._waiting = 0
        self._is_stopped = False
        # The jobs that wait, keyed by client, in the order of the turns. A client of which a job
        # runs has an entry in `_resting` instead.
        self._ready: dict[str, _ClientJobs] = {}
        self._resting: dict[str, _ClientJobs] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self._finish)

    def submit(self, client: str, job: Job, is_needed: Callable[[], bool]) -> bool:
        """Queue a job of a client; returns False if the client's queue or the whole queue is full.

        Several threads may call it.

        is_needed: returns False if the job need not run any more. If a queue is full, such jobs are
            dropped. They may run nevertheless.
        """
        with self._changed:
            if not self._has_room(client):
                self._drop_needless()
                if not self._has_room(client):
                    return False
            clients = self._resting if client in self._resting else self._ready
            clients.setdefault(client, deque()).append((is_needed, job))
            self._waiting += 1
            if clients is self._ready:
                self._changed.notify()
        return True

    def _finish(self) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    def _has_room(self, client: str) -> bool:
        jobs = self._resting.get(client) or self._ready.get(client) or ()
        return self._waiting < self._queue_length and len(jobs) < self._client_queue_length

    def _drop_needless(self) -> None:
        for clients in (self._ready, self._resting):
            for client, jobs in list(clients.items()):
                needed = deque(entry for entry in jobs if entry[0]())
                self._waiting -= len(jobs) - len(needed)
                if needed or clients is self._resting:
                    clients[client] = needed
                else:
                    del clients[client]

    def stop(self) -> None:
        """Drop the queued jobs, and make each thread end after its current job. Does not wait."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ready or self._is_stopped)
                if self._is_stopped:
                    return
                client = next(iter(self._ready))
                jobs = self._resting[client] = self._ready.pop(client)
                _, job = jobs.popleft()
                self._waiting -= 1
            job()
            with self._changed:
                jobs = self._resting.pop(client)
                if jobs:
                    self._ready[client] = jobs
                    self._changed.notify()


class WorkerPool:
    """Runs jobs on a fixed number of daemon threads, in the order in which they were queued.

    name: the beginning of the threads' names.
    threads: the number of threads.
    queue_length: the maximum number of jobs that wait for a thread.
    """

    def __init__(self, name: str, threads: int, queue_length: int) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(queue_length)
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> bool:
        """Queue a job; returns False if the queue is full.

        Call it only on the thread that calls `stop`.
        """
        try:
            self._queue.put_nowait(job)
        except queue.Full:
            return False
        return True

    def stop(self) -> None:
        """Drop the queued jobs, and make each thread end after its current job. Does not wait."""
        while True:
            try:
                self._queue.get_nowait()
            except queue.Empty:
                break
        self._queue.put_nowait(None)

    def _work(self) -> None:
        while job := self._queue.get():
            job()
        try:
            self._queue.put_nowait(None)  # ends the next thread
        except queue.Full:
            return
