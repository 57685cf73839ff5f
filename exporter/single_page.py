"""Writes the metrics page once, without a daemon: `--once` and `--output`."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from exporter.config.settings import Settings
from exporter.metrics.exposition import render
from exporter.monitor import Monitor
from exporter.programs.children import SystemChildren
from exporter.programs.command import SystemRunner
from exporter.runtime import output_file
from exporter.runtime.clock import SystemClock
from exporter.runtime.errors import ConfigError
from exporter.runtime.state import StateFile, existing_directory

#: Permissions of the file of --output: node_exporter runs as another user.
_PAGE_MODE = 0o644


def write(settings: Settings, environment: dict[str, str], output: Path | None) -> None:
    """Write the metrics page to stdout, or replace a file in one step.

    environment: the environment variables.
    output: the file; None for stdout.

    Raises:
        ConfigError: the file cannot be written. An earlier file is unchanged. If this is known
            before the drives are queried, none is queried.
    """
    if output is None:
        print_page(settings, environment, sys.stdout.buffer)
        return
    page = io.BytesIO()
    with _output_errors(output):
        output_file.check(output)
    print_page(settings, environment, page)
    with _output_errors(output):
        output_file.write(output, page.getvalue(), _PAGE_MODE)


@contextmanager
def _output_errors(output: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as e:
        why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
        hint = "use another file for --output, in a writable directory"
        raise ConfigError(f"cannot write {output}: {why}", hint) from e


def print_page(settings: Settings, environment: dict[str, str], out: BinaryIO) -> None:
    """Read each drive once, take two samples, and write the metrics page to `out`.

    The samples are one sampling interval apart. The state of a daemon is read and not changed. The
    wear-out estimate needs the wear history of a daemon, and is not on the page.

    environment: the environment variables.
    """
    clock = SystemClock()
    directory = existing_directory(settings.state.directory, environment)
    kept = StateFile(directory).load_read_only() if directory else {}
    # The saved idle and iowait counters are not used. A daemon that runs at the same time has
    # larger values than those that it saved last.
    saved = {**kept, "idle": None, "iowait": None}
    monitor = Monitor(
        settings, clock, SystemRunner(), saved, children=lambda: SystemChildren(clock)
    )
    monitor.refresh_host()
    if monitor.health is not None:
        monitor.health.read_once()
    for is_last in (False, True):
        monitor.sampler.tick()
        monitor.refresh_services()
        if not is_last:
            clock.sleep(settings.sampler.interval_seconds)
    out.write(render(monitor.samples(), openmetrics=False))
    out.flush()
