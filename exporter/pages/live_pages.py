"""Answers requests for the pages for people. Their code is loaded at the first request.

Most daemons serve only metrics, and the code of the pages takes 1.5 MB of memory.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from exporter.metrics.collectors import Sources
from exporter.web.http_message import Request, Response

if TYPE_CHECKING:
    from exporter.pages.live_site import LiveSite
    from exporter.pages.past.past_pages import PastPages


#: The paths of the pages, except those of drives. A request for another path, such as one of a
#: scanner, must not load the code of the pages.
_PATHS = frozenset({"/", "/events", "/live.json", "/page.css", "/page.js", "/past.css"})


class LivePages:
    """Answers requests for the pages for people. Several threads may call `respond`.

    problem: returns why the samples are out of date; an empty string if they are not.
    """

    def __init__(self, sources: Sources, problem: Callable[[], str]) -> None:
        self._sources = sources
        self._problem = problem
        self._lock = threading.Lock()
        self._site: LiveSite | None = None

    def respond(self, request: Request) -> Response | None:
        """Returns the response; None for a path that is not one of the pages."""
        if request.path not in _PATHS and not request.path.startswith("/drive/"):
            return None
        with self._lock:
            if self._site is None:
                self._site = self._loaded()
        return self._site.respond(request)

    def _loaded(self) -> "LiveSite":
        from exporter.pages.drive_history import read_history  # noqa: PLC0415
        from exporter.pages.live_site import LiveSite  # noqa: PLC0415
        from exporter.pages.snapshot import SnapshotReader  # noqa: PLC0415

        sources = self._sources
        snapshots = SnapshotReader(sources, self._problem)
        return LiveSite(
            snapshots.read, partial(read_history, sources), lambda: _past_pages(sources)
        )


def _past_pages(sources: Sources) -> "PastPages":
    from exporter.pages.past.past_pages import PastPages  # noqa: PLC0415
    from exporter.pages.past.past_reader import PastReader  # noqa: PLC0415

    reader = PastReader(sources.io_history, sources.clock.wall)
    return PastPages(reader, sources.events.identity)
