"""The profile `slc` among the daemon's own: watched, judged and kept as the command's."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from exporter.clock import Clock
from exporter.errors import SourceError
from exporter.linux import diskstats
from exporter.linux.diskstats import SECTOR_BYTES
from exporter.linux.topology import Topology
from exporter.probe import slc_watch
from exporter.probe.fio import Fio
from exporter.probe.probed_directory import ProbeDirectory
from exporter.probe.profiles import Profile
from exporter.probe.slc_results import SlcResult
from exporter.probe.slc_watch import MayStop, WatchedFio, WatchedWrite

log = logging.getLogger(__name__)


class ScheduledSlc:
    """Of all directories; on the probes' thread.

    state: where results are kept. identity: under which a drive is known over its names.
    """

    def __init__(
        self,
        state: Path,
        directories: Sequence[ProbeDirectory],
        *,
        clock: Clock,
        proc: Path,
        topology: Callable[[], Topology | None],
        identity: Callable[[str], str],
    ) -> None:
        self._state = state
        self._directories = directories
        self._clock = clock
        self._proc = proc
        self._topology = topology
        self._identity = identity

    def watched(self, fio: Fio) -> Fio:
        """The same fio, whose runs of the profile are watched and kept."""
        return WatchedFio(
            fio,
            self._clock,
            begin=_until_cliff,
            over=self._keep,
            device_bytes=self._device_bytes,
        )

    def _keep(self, written: WatchedWrite) -> None:
        its = self._of(written.file)
        if its is None or its.place is None:
            return
        device, leaves = its.place.device, its.place.leaves
        if not written.samples:
            log.warning("the write cache of %s is not judged: %s", device, written.problem)
            return
        cliff = slc_watch.judged(written, self._capacity_bytes(device))
        drives = tuple(map(self._identity, leaves or (device,)))
        try:
            slc_watch.keep(self._state, SlcResult(drives, device, self._clock.wall(), cliff))
        except OSError as e:
            log.warning("%s: the result is not kept: %s", self._state, e.strerror or e)
        log.info("the write cache of %s: %s", device, cliff.result.value)

    def _of(self, file: Path) -> ProbeDirectory | None:
        return next((each for each in self._directories if each.path == file.parent), None)

    def _capacity_bytes(self, device: str) -> int | None:
        topology = self._topology()
        known = topology.devices.get(device) if topology else None
        return None if known is None else known.block.capacity_bytes

    def _device_bytes(self, file: Path) -> int | None:
        its = self._of(file)
        if its is None or its.place is None:
            return None
        try:
            lines = diskstats.read(self._proc).value
        except SourceError:
            return None
        disk = diskstats.records_by_device(lines.values()).get(its.place.device)
        return None if disk is None else disk.written_sectors * SECTOR_BYTES


def _until_cliff(profile: Profile, _file: Path) -> MayStop:
    watch = slc_watch.watch(profile)
    return lambda sample: watch.observe(sample) is not None
