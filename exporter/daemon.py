"""The daemon: threads, signals, systemd and HTTP around a monitor. The only file that knows all."""

import gc
import logging
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from exporter import __version__, logs, service
from exporter import state as kept
from exporter.clock import Clock, SystemClock
from exporter.config import Settings
from exporter.errors import ConfigError
from exporter.metrics.exposition import render
from exporter.metrics.page import PageCache
from exporter.monitor import Monitor
from exporter.programs.command import SystemRunner
from exporter.service import Signals
from exporter.state import StateFile
from exporter.threads import LoopThread, PeriodicThread
from exporter.web import listen, security
from exporter.web.server import HttpServer
from exporter.web.site import Site

if TYPE_CHECKING:
    from exporter.programs.children import SystemChildren
    from exporter.smart.wear_history import WearHistory

log = logging.getLogger(__name__)

#: What was learned in so long is lost at most, to kill -9 or a power cut.
_SAVE_SECONDS = 600.0

#: A device that comes and goes makes the survey look again no more often than this.
_LEAST_BETWEEN_LOOKS_SECONDS = 2.0

#: Beyond so many intervals without a sample (and this many seconds) the sampler hangs.
_LATE_INTERVALS, _LATE_SECONDS = 5, 10.0

#: The page is served without what the first survey finds where that takes longer.
_FIRST_LOOK_SECONDS = 2.0

#: SIGTERM ends within a second: so long may it take to end what runs, of which some needs SIGKILL,
#: and so long to save what was learned, also while the state directory's disk hangs.
_STOP_SECONDS, _SAVE_LAST_SECONDS = 0.5, 0.3


def check(settings: Settings, environment: dict[str, str]) -> None:
    """Everything that `serve` would refuse; raises ConfigError."""
    if settings.web.config_file is not None:
        security.load_security(settings.web.config_file)
    kept.open_state_file(settings.state.directory, environment)


def print_page(settings: Settings, environment: dict[str, str], out: BinaryIO) -> None:
    """Two samples, one interval apart, and the page that they make."""
    clock = SystemClock()
    state = kept.open_state_file(settings.state.directory, environment)
    # Nothing is continued: a daemon that runs beside this has not kept where its counters stand.
    learned = {**(state.load() if state else {}), "idle": None, "iowait": None}
    monitor = Monitor(settings, clock, SystemRunner(), learned, children=lambda: _children(clock))
    monitor.begin()
    monitor.sampler.tick()
    clock.sleep(settings.sampler.interval_seconds)
    monitor.sampler.tick()
    out.write(render(monitor.samples(), openmetrics=False))
    out.flush()


def serve(
    settings: Settings, read_again: Callable[[], Settings], environment: dict[str, str]
) -> None:
    """Watch this host and serve the page until SIGTERM or SIGINT; SIGHUP reads the settings again.

    Raises:
        ConfigError: an address, a certificate or the state directory asked for is not to be had.
    """
    # Without it a page of 1,000 disks holds the other threads up for 5 ms at a time.
    sys.setswitchinterval(0.0005)
    clock = SystemClock()
    state = kept.open_state_file(settings.state.directory, environment)
    monitor = Monitor(
        settings,
        clock,
        SystemRunner(),
        state.load() if state else {},
        children=lambda: _children(clock),
        history=(lambda: _history(state)) if state else None,
        state_directory=state.directory if state else None,
    )
    running = _Running(monitor, state, clock)
    pages = PageCache(monitor.samples, lambda: monitor.sampler.samples)
    site = Site(pages, running.problem, running.is_ready, monitor.overview)
    server = HttpServer(
        [listen.parse_address(text) for text in settings.web.listen_address],
        site.respond,
        web_config=settings.web.config_file,
        fast=site.fast(),
    )
    with Signals() as signals:
        server.start()
        running.start()
        # What is there now stays: no collection needs to go through it again.
        gc.freeze()
        _announce(server)
        service.notify("READY=1", "STATUS=watching")
        while not signals.stop:
            signals.wait((service.watchdog_seconds() or 180.0) / 3)
            if signals.reload:
                signals.reload = False
                _reload(monitor, server, read_again)
                running.look_again()
            if not running.problem() and server.is_alive:
                service.notify("WATCHDOG=1")
        service.notify("STOPPING=1")
        log.info("stopping")
        server.stop()
        running.stop()


def _children(clock: Clock) -> "SystemChildren":
    from exporter.programs.children import SystemChildren  # noqa: PLC0415

    return SystemChildren(clock)


def _history(state: StateFile) -> "WearHistory":
    from exporter.smart.wear_history import WearHistory  # noqa: PLC0415

    return WearHistory.open(state.directory / "history.sqlite")


class _Running:
    """The threads around a monitor."""

    def __init__(self, monitor: Monitor, state: StateFile | None, clock: Clock) -> None:
        self._monitor = monitor
        self._state = state
        self._clock = clock
        sampler, survey = monitor.sampler, monitor.survey
        self._begun_at = clock.monotonic()
        self._sampling = PeriodicThread("sampler", sampler.tick, lambda: sampler.interval, clock)
        self._surveying = PeriodicThread(
            "survey",
            survey.refresh,
            lambda: monitor.settings.survey.interval_seconds,
            clock,
            _LEAST_BETWEEN_LOOKS_SECONDS,
        )
        self._saving = PeriodicThread("state", self._save, lambda: _SAVE_SECONDS, clock)
        # A person waits for it, but not by the second.
        self._looking_at_slc = PeriodicThread(
            "slc", monitor.look_at_slc, lambda: 2 * monitor.settings.survey.interval_seconds, clock
        )
        self._of_health: list[LoopThread] = []
        if monitor.health is not None:
            source, wear = monitor.health.source, monitor.health.wear
            smart = LoopThread("smart", self._ask, source.wake, source.close, low_priority=True)
            self._of_health.append(smart)
            if wear is not None:
                self._of_health.append(LoopThread("wear", wear.step, wear.wake, wear.close))
            monitor.health.drives.on_change(self._saving.trigger)
        self._probing: LoopThread | None = None
        if monitor.probe is not None:
            probe = monitor.probe.probe
            probe.on_done(self._saving.trigger)
            self._probing = LoopThread("probe", probe.step, probe.stop, probe.close)

    def start(self) -> None:
        """The first look and the first sample, then all threads."""
        self._monitor.sampler.tick()
        # Of the host's files and programs any may hang, as its disks do: not the sampler with them.
        surveying = threading.Thread(target=self._begin, name="survey-first", daemon=True)
        surveying.start()
        surveying.join(_FIRST_LOOK_SECONDS)
        for pace in (self._sampling, self._saving):
            pace.start()
        if self._monitor.slc is not None:
            self._looking_at_slc.start()
            self._looking_at_slc.trigger()
        for rounds in self._of_health:
            rounds.start()
        # At once, so that a run that is killed is known to have run.
        self._saving.trigger()

    def look_again(self) -> None:
        """Survey soon."""
        self._surveying.trigger()

    def _begin(self) -> None:
        self._monitor.begin()
        self._monitor.sampler.on_change(self._note_change)
        self._surveying.start()
        if self._probing is not None:
            self._probing.start()

    def _note_change(self) -> None:
        self._surveying.trigger()
        if self._monitor.health is not None:
            self._monitor.health.source.look_again()

    def _ask(self) -> None:
        health = self._monitor.health
        if health is None:
            return
        health.source.step()
        if self._state is not None:
            try:
                health.drives.forget(self._state.directory, self._save_inventory)
            except OSError as e:
                log.warning("%s: nothing is forgotten: %s", self._state.directory, e.strerror or e)

    def stop(self) -> None:
        """Save what was learned, if the disk lets us; nothing waits for one that hangs."""
        # fio prints what it has done when it is ended, and that is settled.
        threads: list[PeriodicThread | LoopThread] = [self._sampling, *self._of_health]
        if self._probing is not None:
            threads.append(self._probing)
        for thread in threads:
            thread.request_stop()
        until = self._clock.monotonic() + _STOP_SECONDS
        for thread in threads:
            thread.stop(max(0.0, until - self._clock.monotonic()))
        saving = threading.Thread(target=self._save_at_end, daemon=True)
        saving.start()
        saving.join(_SAVE_LAST_SECONDS)

    def problem(self) -> str:
        """Why the page is not to be trusted; empty if it is."""
        sampled_at = self._monitor.sampler.sampled_at or self._begun_at
        late = self._clock.monotonic() - sampled_at
        if late > max(_LATE_SECONDS, _LATE_INTERVALS * self._monitor.sampler.interval):
            return f"no sample for {late:.0f} seconds"
        return ""

    def is_ready(self) -> bool:
        return self._monitor.sampler.samples > 0

    def _save(self, *, at_end: bool = False) -> None:
        if self._state is None:
            return
        try:
            # A thread that waits for a disk that hangs cannot be ended, and the process with it.
            self._state.save(self._monitor.to_state(at_end=at_end), wait_for_disk=not at_end)
        except OSError as e:
            log.warning(
                "%s: what was learned is not saved: %s", self._state.directory, e.strerror or e
            )

    def _save_inventory(self) -> None:
        if self._state is not None:
            self._state.save(self._monitor.to_state())

    def _save_at_end(self) -> None:
        self._save(at_end=True)


def _announce(server: HttpServer) -> None:
    scheme = "https" if server.is_encrypted else "http"
    for host, port in server.addresses:
        log.info(
            "ssd-exporter %s serves %s://%s/",
            __version__,
            scheme,
            listen.format_address(host, port),
        )


def _reload(monitor: Monitor, server: HttpServer, read_again: Callable[[], Settings]) -> None:
    service.notify_reloading()
    try:
        settings = read_again()
        server.reload()
        monitor.reconfigure(settings)
        logs.configure(settings.log.level, settings.log.format)
        log.info("settings read again; addresses, paths and the state directory keep until restart")
    except ConfigError as e:
        log.error("the settings are not usable and the old ones go on: %s", e)  # noqa: TRY400
    service.notify("READY=1")
