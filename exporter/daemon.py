"""Runs the daemon: its threads, the HTTP server and the notifications for the service manager.

`exporter.monitor` builds the objects that read and evaluate data. Only the command line imports
this module.
"""

import contextlib
import gc
import logging
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from exporter import __version__
from exporter.config.settings import Settings
from exporter.io.drive_journal import DriveJournal
from exporter.metrics.page import PageCache
from exporter.monitor import Monitor
from exporter.pages.live_pages import LivePages
from exporter.programs.command import SystemRunner
from exporter.runtime import logs, sample_times, service
from exporter.runtime.clock import Clock, SystemClock
from exporter.runtime.errors import ConfigError
from exporter.runtime.privileges import as_owner
from exporter.runtime.state import (
    StateFile,
    check_state_directory,
    existing_directory,
    open_state_file,
)
from exporter.runtime.threads import LoopThread, PeriodicThread
from exporter.web import listen, lobby, security
from exporter.web.server import HttpServer
from exporter.web.site import Site

if TYPE_CHECKING:
    from exporter.programs.children import SystemChildren
    from exporter.wear.wear_history import WearHistory

log = logging.getLogger(__name__)

#: Time between two saves of the state, in seconds. kill -9 or a power failure loses at most the
#: changes of this time.
_SAVE_INTERVAL_SECONDS = 600.0

#: Minimum time between two surveys (refreshes of the topology) in seconds. It applies if devices
#: appear and disappear more often.
_MIN_SURVEY_INTERVAL_SECONDS = 2.0

#: The sampler is considered to hang if its last sample is older than both limits: a number of
#: sampling intervals, and a time in seconds.
_MAX_SAMPLE_AGE_INTERVALS, _MAX_SAMPLE_AGE_SECONDS = 5, 10.0

#: Maximum time in seconds that the start waits for the first survey. After this time the page is
#: served without the results of the survey.
_FIRST_SURVEY_TIMEOUT_SECONDS = 2.0

#: Timeouts in seconds for the end of the process after SIGTERM. The first one limits the wait for
#: the threads, whose child processes may need SIGKILL. The second one is for the thread of a probe,
#: whose fio gets SIGKILL after two seconds; until it ends, all bytes that it may write count as
#: written. The third one limits the last save of the state. It takes milliseconds, but seconds on a
#: saturated disk.
_STOP_TIMEOUT_SECONDS, _PROBE_STOP_TIMEOUT_SECONDS, _LAST_SAVE_TIMEOUT_SECONDS = 0.5, 3.0, 3.0

#: Time in seconds between two checks on the main thread whether the daemon works. It applies if the
#: service manager sets no watchdog timeout.
_CHECK_INTERVAL_SECONDS = 60.0

#: The time in seconds after which Python switches to another waiting thread. With the default of
#: 5 ms, rendering a page with 1,000 disks would delay the sampler by 5 ms at a time.
_SWITCH_INTERVAL_SECONDS = 0.0005


def check(settings: Settings, environment: dict[str, str]) -> None:
    """Check the web configuration and the state directory, as `serve` does at its start.

    Nothing is created.

    environment: the environment variables.

    Raises:
        ConfigError: the web configuration is not usable, or the configured state directory cannot
            be created or written.
    """
    if settings.web.config_file is not None:
        security.load_security(settings.web.config_file)
    # The daemon runs as the owner of the directory. Root may run this check.
    directory = existing_directory(settings.state.directory, environment)
    with contextlib.nullcontext() if directory is None else as_owner(directory):
        check_state_directory(settings.state.directory, environment)


def serve(
    settings: Settings, reload_settings: Callable[[], Settings], environment: dict[str, str]
) -> None:
    """Monitor this host and serve the page until SIGTERM or SIGINT. SIGHUP reloads the settings.

    reload_settings: reads the configuration file again and returns the settings.
    environment: the environment variables.

    Raises:
        ConfigError: an address cannot be bound, a certificate cannot be loaded, another daemon uses
            the state directory, or the configured state directory cannot be used.
    """
    sys.setswitchinterval(_SWITCH_INTERVAL_SECONDS)
    lobby.raise_descriptor_limit()
    clock = SystemClock()
    state = open_state_file(settings.state.directory, environment)
    if state is not None:
        state.hold()
    monitor = Monitor(
        settings,
        clock,
        SystemRunner(),
        state.load() if state else {},
        children=lambda: _children(clock),
        history=(lambda: _history(state)) if state else None,
        state_directory=state.directory if state else None,
    )
    threads = _Threads(monitor, state, clock)
    pages = PageCache(monitor.samples, lambda: monitor.sampler.samples, monitor.collector_status)
    live = LivePages(monitor, threads.problem)
    site = Site(pages, threads.problem, threads.is_ready, live.respond)
    server = HttpServer(
        [listen.parse_address(text) for text in settings.web.listen_address],
        site.respond,
        web_config=settings.web.config_file,
        fast=site.fast(),
    )
    with service.Signals() as signals:
        server.start()
        threads.start()
        # The objects that exist now are needed until the end. The garbage collector no longer
        # checks them.
        gc.freeze()
        _announce(server)
        service.notify("READY=1", "STATUS=sampling")
        while not signals.stop:
            watchdog = service.watchdog_seconds()
            signals.wait(_CHECK_INTERVAL_SECONDS if watchdog is None else watchdog / 3)
            if signals.reload:
                signals.reload = False
                _reload(monitor, server, reload_settings)
                threads.trigger_survey()
            if not threads.problem() and server.is_alive:
                service.notify("WATCHDOG=1")
        service.notify("STOPPING=1")
        log.info("stopping")
        server.stop()
        threads.stop()


def _children(clock: Clock) -> "SystemChildren":
    from exporter.programs.children import SystemChildren  # noqa: PLC0415

    return SystemChildren(clock)


def _history(state: StateFile) -> "WearHistory":
    from exporter.wear.wear_database import HISTORY_FILE  # noqa: PLC0415
    from exporter.wear.wear_history import WearHistory  # noqa: PLC0415

    return WearHistory.open(state.directory / HISTORY_FILE)


class _Threads:
    """Runs the parts of a `Monitor` on threads."""

    def __init__(self, monitor: Monitor, state: StateFile | None, clock: Clock) -> None:
        self._monitor = monitor
        self._state = state
        self._clock = clock
        self._started_at = clock.monotonic()
        times = sample_times.SampleTimes(lambda: monitor.sampler.interval)
        self._sampling = PeriodicThread("sampler", monitor.tick, times.time_to_next, clock)
        self._journal = DriveJournal()
        self._surveying = PeriodicThread(
            "survey",
            self._survey,
            lambda: monitor.settings.survey.interval_seconds,
            clock,
            _MIN_SURVEY_INTERVAL_SECONDS,
        )
        self._saving = PeriodicThread("state", self._save, lambda: _SAVE_INTERVAL_SECONDS, clock)
        self._reading = [
            PeriodicThread(name, read, seconds, clock) for name, read, seconds in monitor.readings()
        ]
        self._watching_services = PeriodicThread(
            "services", self._watch_services, lambda: monitor.services.refresh_seconds, clock
        )
        self._health_threads: list[LoopThread] = []
        if monitor.health is not None:
            source, wear = monitor.health.source, monitor.health.wear
            smart = LoopThread(
                "smart", self._poll_drives, source.wake, source.close, low_priority=True
            )
            self._health_threads.append(smart)
            if wear is not None:
                self._health_threads.append(LoopThread("wear", wear.step, wear.wake, wear.close))
            monitor.health.drives.on_change(self._saving.trigger)
        self._probing: LoopThread | None = None
        if monitor.probe is not None:
            probe = monitor.probe.probe
            probe.on_done(self._saving.trigger)
            self._probing = LoopThread("probe", probe.step, probe.stop, probe.close)

    def start(self) -> None:
        """Take the first sample, read the topology for the first time, and start the threads."""
        self._monitor.sampler.tick()
        # The first survey runs on a separate thread, because a file or program of the host may hang
        # and the sampler must not wait for it.
        first_survey = threading.Thread(target=self._initialize, name="survey-first", daemon=True)
        first_survey.start()
        first_survey.join(_FIRST_SURVEY_TIMEOUT_SECONDS)
        if first_survey.is_alive():
            log.info(
                "reading /sys, the mounts and the versions of the programs takes more than %.0f s;"
                " the page is served without them until it has ended",
                _FIRST_SURVEY_TIMEOUT_SECONDS,
            )
        for periodic in (self._sampling, self._saving, self._watching_services):
            periodic.start()
        # The topology is known now, so the first reading is the base of the second one.
        self._watching_services.trigger()
        for reading in self._reading:
            reading.start()
            reading.trigger()
        for thread in self._health_threads:
            thread.start()
        # The state is saved at once. If this run is killed, the next start detects that from the
        # saved counters, which are not marked as final.
        self._saving.trigger()

    def trigger_survey(self) -> None:
        """Request a refresh of the topology as soon as possible."""
        self._surveying.trigger()

    def stop(self) -> None:
        """Stop the threads and save the state, each within its timeout, because disks may hang."""
        timeouts: dict[PeriodicThread | LoopThread, float] = dict.fromkeys(
            (self._sampling, *self._health_threads), _STOP_TIMEOUT_SECONDS
        )
        if self._probing is not None:
            # When fio is terminated, it reports the bytes that it wrote, and the thread records
            # them in the budget.
            timeouts[self._probing] = _PROBE_STOP_TIMEOUT_SECONDS
        for thread in timeouts:
            thread.request_stop()
        began = self._clock.monotonic()
        for thread, seconds in timeouts.items():
            thread.stop(max(0.0, began + seconds - self._clock.monotonic()))
        saving = threading.Thread(target=partial(self._save, at_end=True), daemon=True)
        saving.start()
        saving.join(_LAST_SAVE_TIMEOUT_SECONDS)

    def problem(self) -> str:
        """Returns why the page is out of date, as text; empty if the page is up to date."""
        sampled_at = self._monitor.sampler.sampled_at or self._started_at
        age = self._clock.monotonic() - sampled_at
        if age > max(
            _MAX_SAMPLE_AGE_SECONDS, _MAX_SAMPLE_AGE_INTERVALS * self._monitor.sampler.interval
        ):
            return f"no sample for {age:.0f} seconds"
        return ""

    def is_ready(self) -> bool:
        """Returns True after the first sample."""
        return self._monitor.sampler.samples > 0

    def _initialize(self) -> None:
        try:
            self._survey()
        finally:
            # After an error, too: the next survey may succeed, and without it no device is found.
            self._monitor.sampler.on_change(self._on_device_change)
            self._surveying.start()
            if self._monitor.survey.topology is None:
                # The next survey follows soon, and its exception is logged.
                self._surveying.trigger()
            if self._probing is not None:
                self._probing.start()

    def _watch_services(self) -> None:
        """Reads the I/O of all services, and logs why it is unknown. `--once` does not log this."""
        services = self._monitor.services
        before = services.problem
        self._monitor.refresh_services()
        if services.problem not in ("", before):
            log.info("%s", services.problem)

    def _survey(self) -> None:
        """Refreshes the topology, and logs what has changed."""
        monitor = self._monitor
        monitor.refresh_host()
        drives = monitor.health.watched() if monitor.health else []
        now = self._clock.monotonic()
        verdicts = monitor.sampler.verdicts()
        disks = monitor.survey.identities()
        monitor.compare_latencies(drives)
        wall = self._clock.wall()
        monitor.events.observe(wall, disks, drives, verdicts, now)
        monitor.problem_times.observe(wall, drives)
        for level, line in self._journal.observe(now, disks, drives, verdicts):
            log.log(level, "%s", line)

    def _on_device_change(self) -> None:
        self._surveying.trigger()
        if self._monitor.health is not None:
            self._monitor.health.source.rescan_soon()

    def _poll_drives(self) -> None:
        health = self._monitor.health
        if health is None:
            return
        health.source.step()
        if self._state is not None:
            try:
                health.drives.forget(self._state.directory, self._save_inventory)
            except OSError as e:
                log.warning(
                    "%s: requests of `ssd-exporter forget` could not be processed: %s",
                    *(self._state.directory, e.strerror or e),
                )

    def _save(self, *, at_end: bool = False) -> None:
        if self._state is None:
            return
        # Before the state: its fsync then also writes what the history has changed.
        self._monitor.save_history(at_end=at_end)
        try:
            self._state.save(self._monitor.to_state(at_end=at_end), final=at_end)
        except OSError as e:
            log.warning(
                "%s: the state could not be saved: %s", self._state.directory, e.strerror or e
            )
        if not at_end:
            self._monitor.kept_copies.refresh()

    def _save_inventory(self) -> None:
        if self._state is not None:
            self._state.save(self._monitor.to_state())


def _announce(server: HttpServer) -> None:
    scheme = "https" if server.is_encrypted else "http"
    for host, port in server.addresses:
        log.info(
            "ssd-exporter %s serves %s://%s/",
            __version__,
            scheme,
            listen.format_address(host, port),
        )


def _reload(monitor: Monitor, server: HttpServer, reload_settings: Callable[[], Settings]) -> None:
    service.notify_reloading()
    try:
        settings = reload_settings()
        server.reload()
        monitor.reconfigure(settings)
        logs.configure(settings.log.level, settings.log.format)
        # Measured: without this call, a reload adds 1 to 4 KiB to the resident memory.
        gc.collect()
        log.info(
            "settings reloaded; changes of addresses, paths, collectors, probes and the state "
            "directory take effect at the next restart"
        )
    except ConfigError as e:
        log.error("reload failed, the previous settings remain active: %s", e)  # noqa: TRY400
    service.notify("READY=1")
