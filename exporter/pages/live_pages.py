"""Connects the pages for people with the monitor. Their code is loaded at the first request.

Most daemons serve only metrics, and the code of the pages needs 1.5 MB.
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from exporter.monitor import Monitor
from exporter.runtime.clock import Clock
from exporter.web.http_message import Request, Response

if TYPE_CHECKING:
    from exporter.pages.live_site import LiveSite


#: The paths of the pages, except those of drives. A request for another path, such as one of a
#: scanner, must not load the code of the pages.
_PATHS = frozenset({"/", "/live.json", "/page.css", "/page.js"})


class LivePages:
    """Answers requests for the pages for people. Several threads may call `respond`.

    problem: returns why the samples are out of date; an empty string if they are not.
    """

    def __init__(self, monitor: Monitor, problem: Callable[[], str], clock: Clock) -> None:
        self._monitor = monitor
        self._problem = problem
        self._clock = clock
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
        from exporter.pages import os_release  # noqa: PLC0415
        from exporter.pages.drive_history import HistoryReader  # noqa: PLC0415
        from exporter.pages.live_site import LiveSite  # noqa: PLC0415
        from exporter.pages.snapshot import PageSources, SnapshotReader  # noqa: PLC0415

        monitor = self._monitor
        sources = PageSources(
            settings=lambda: monitor.settings,
            sampler=monitor.sampler,
            survey=monitor.survey,
            health=monitor.health,
            clock=self._clock,
            collector_status=monitor.collector_status,
            problem=self._problem,
            services=lambda device: monitor.services.rates.get(device, ()),
            system=os_release.read(monitor.settings.path.rootfs),
        )
        history = HistoryReader(
            wear=None if monitor.health is None else monitor.health.wear,
            rounds=monitor.probe_rounds,
            caches=monitor.slc_results,
            events=monitor.events.of,
        )
        return LiveSite(SnapshotReader(sources).read, history.of_drive)
