"""The commands that measure: their arguments, and where each is carried out.

What a command needs is imported when it runs, as in `subcommands`.
"""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from exporter.config import Settings
from exporter.errors import ConfigError

if TYPE_CHECKING:
    from exporter.measurement.session import MeasurementOptions, MeasurementTools


def _measuring_arguments(p: argparse.ArgumentParser) -> None:
    """Those that all measurements share; the directory is each one's own."""
    p.add_argument("--json", action="store_true", help="the result for programs; the keys stay")
    p.add_argument("--html", type=Path, metavar="FILE", help="write a page too")
    p.add_argument("--yes", action="store_true", help="agree beforehand to what is written")
    p.add_argument(
        "--anyway", action="store_true", help="measure although the device or MySQL is busy"
    )
    p.add_argument("--fio.path", dest="path.fio", metavar="PROGRAM", help="the fio to run")


def _options(arguments: argparse.Namespace) -> "MeasurementOptions":
    from exporter.measurement.session import MeasurementOptions  # noqa: PLC0415

    return MeasurementOptions(arguments.directory, yes=arguments.yes, anyway=arguments.anyway)


def _edges(chosen: Settings, *, has_regions: bool = False) -> "MeasurementTools":
    """has_regions: sequential jobs of one profile have a part of the file each."""
    from exporter.clock import SystemClock  # noqa: PLC0415
    from exporter.measurement.admission import Streams  # noqa: PLC0415
    from exporter.measurement.session import MeasurementTools  # noqa: PLC0415
    from exporter.probe.fio import RegionFio, SystemFio  # noqa: PLC0415
    from exporter.programs.command import SystemRunner  # noqa: PLC0415

    clock = SystemClock()
    its_fio = RegionFio if has_regions else SystemFio
    return MeasurementTools(
        clock,
        lambda: its_fio(chosen.path.fio, SystemRunner(), clock),
        dict(os.environ),
        Streams(sys.stdin, sys.stderr),
    )


def probe_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "profile",
        nargs="?",
        metavar="PROFILE",
        help="fsync, page_read, page_write, burst, or one of the configuration; without, those that"
        " the daemon runs: the first three, unless configured otherwise",
    )
    p.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="where: one that does not exist yet is made, and kept with its file; without, the"
        " configuration's probe.directory",
    )
    p.add_argument(
        "--acknowledge",
        action="store_true",
        help="do not probe: the reason why the host rebooted during a probe is known, and probes"
        " may run again",
    )
    _measuring_arguments(p)


def probe(chosen: Settings, arguments: argparse.Namespace) -> int:
    if arguments.acknowledge:
        if arguments.profile is not None:
            raise ConfigError("--acknowledge takes no profile", "leave it out")
        return _acknowledge(chosen)
    from exporter.commands import probe_command  # noqa: PLC0415
    from exporter.measurement import session  # noqa: PLC0415

    wanted = probe_command.ProbeRequest(
        _options(arguments), arguments.profile, as_json=arguments.json, html=arguments.html
    )
    edges = _edges(chosen)
    return session.status(lambda: probe_command.run(chosen, wanted, edges, sys.stdout), sys.stderr)


def _acknowledge(chosen: Settings) -> int:
    from exporter.clock import SystemClock  # noqa: PLC0415
    from exporter.commands import probe_command  # noqa: PLC0415
    from exporter.linux import files  # noqa: PLC0415
    from exporter.measurement import ownership  # noqa: PLC0415

    directory, path = _state(chosen), chosen.path
    boot_id = files.read_attribute(path.procfs / "sys" / "kernel" / "random" / "boot_id") or ""
    lock_directory = path.rootfs / "run" / "lock"
    with ownership.as_owner(directory):
        return probe_command.acknowledge_reboot(
            directory, lock_directory, SystemClock(), boot_id, sys.stdout
        )


def slc_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "directory",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="where to write; one that does not exist yet is made, and taken away again; without,"
        " probe.directory",
    )
    p.add_argument(
        "--bytes",
        metavar="SIZE",
        help="write at most so much, as 32GiB, or 32GB for powers of ten; without,"
        " 16 GiB or a tenth of what is free",
    )
    p.add_argument(
        "--recover",
        action="store_true",
        help="after a cliff look how much of the cache is back after 30 s, 2 min, 10 min and 1 h"
        " of rest, each time with a write of the cache's size: 73 minutes and more",
    )
    p.add_argument(
        "--idle",
        action="append",
        type=int,
        metavar="SECONDS",
        help="--recover with this rest instead of those; may be repeated",
    )
    _measuring_arguments(p)


def slc(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.commands import slc  # noqa: PLC0415
    from exporter.measurement import session  # noqa: PLC0415

    wanted = slc.SlcRequest(
        _options(arguments),
        arguments.bytes,
        slc.rests(arguments.idle, recover=arguments.recover),
        as_json=arguments.json,
        html=arguments.html,
    )
    edges = _edges(chosen)
    return session.status(lambda: slc.run(chosen, wanted, edges, sys.stdout), sys.stderr)


def steady_state_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "profile",
        nargs="?",
        metavar="PROFILE",
        help="page_write without; fsync, page_read, burst, or one of the configuration",
    )
    p.add_argument("--directory", type=Path, metavar="DIR", help="where; without, probe.directory")
    p.add_argument(
        "--rounds", type=int, default=25, metavar="N", help="at most so many; %(default)s"
    )
    p.add_argument(
        "--kept",
        action="store_true",
        help="run nothing: judge what the daemon has kept of its own runs",
    )
    _measuring_arguments(p)


def steady_state(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.commands import steady_state_command  # noqa: PLC0415
    from exporter.measurement import session  # noqa: PLC0415

    wanted = steady_state_command.SteadyStateRequest(
        _options(arguments),
        arguments.profile,
        arguments.rounds,
        as_json=arguments.json,
        html=arguments.html,
    )
    if arguments.kept:
        return steady_state_command.run_kept(_state(chosen), wanted, sys.stdout)
    edges = _edges(chosen)
    return session.status(
        lambda: steady_state_command.run(chosen, wanted, edges, sys.stdout), sys.stderr
    )


def _state(chosen: Settings) -> Path:
    from exporter.state import existing_directory  # noqa: PLC0415

    directory = existing_directory(chosen.state.directory, dict(os.environ))
    if directory is None:
        raise ConfigError("no state directory is found", "give the daemon's as --state.directory")
    return directory


def bench_arguments(p: argparse.ArgumentParser) -> None:
    p.add_argument(
        "directory",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="where: one that does not exist yet is made, and taken away again; without, the"
        " configuration's probe.directory",
    )
    p.add_argument(
        "--block-size",
        dest="block_sizes",
        action="append",
        default=[],
        metavar="SIZE",
        help="one or several, with commas or repeated; 4K,16K,128K,1M without",
    )
    p.add_argument(
        "--jobs",
        action="append",
        default=[],
        metavar="N",
        help="threads at a time, likewise; 1,4 without",
    )
    p.add_argument(
        "--mode",
        dest="modes",
        action="append",
        default=[],
        metavar="MODE",
        help="likewise; randread,read,randrw,randwrite,write without; randrw is 3 reads to a write",
    )
    p.add_argument(
        "--seconds", type=float, default=10.0, help="a cell takes at most so long; %(default)g"
    )
    p.add_argument(
        "--size",
        default="1G",
        help="of the file, and what a cell writes at most, as 4GiB, or 4GB for powers of ten;"
        " %(default)s",
    )
    p.add_argument(
        "--depth", type=int, default=1, help="requests in flight of each job; %(default)s"
    )
    _measuring_arguments(p)


def bench(chosen: Settings, arguments: argparse.Namespace) -> int:
    from exporter.commands import bench, bench_matrix  # noqa: PLC0415
    from exporter.measurement import session  # noqa: PLC0415

    matrix = bench_matrix.matrix(
        block_sizes=arguments.block_sizes,
        jobs=arguments.jobs,
        modes=arguments.modes,
        size_text=arguments.size,
        seconds=arguments.seconds,
        depth=arguments.depth,
    )
    wanted = bench.BenchRequest(
        _options(arguments), matrix, as_json=arguments.json, html=arguments.html
    )
    edges = _edges(chosen, has_regions=True)
    return session.status(lambda: bench.run(chosen, wanted, edges, sys.stdout), sys.stderr)
