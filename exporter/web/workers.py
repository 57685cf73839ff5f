"""A few threads for what must not run on the server's loop, with a bounded queue before them."""

import queue
import threading
from collections.abc import Callable

Job = Callable[[], None]


class Workers:
    """Daemon threads, not concurrent.futures: those are joined at exit, hung ones for ever.

    They start at once, for a limit on threads must stop the start and not the first request. A job
    must not raise.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(waiting)
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True)
            for n in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> bool:
        """Queue a job; False where the queue is full. Called from one thread only."""
        try:
            self._queue.put_nowait(job)
        except queue.Full:
            return False
        return True

    def stop(self) -> None:
        """Forget what waits and end the threads once their present jobs end; wait for none."""
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
            self._queue.put_nowait(None)  # for the next thread
        except queue.Full:
            return
