"""The command `slc` on a real device that becomes slower after a number of bytes."""

import json
import sys
import tempfile
from pathlib import Path

import pytest

from rigs.devices.slow_disk import SlowDisk
from rigs.devices.write_cache import CACHE_BYTES, FAST, SLOW, mounted, write_cache
from tests.commands.measured import GATE, Ended
from tests.end_to_end.server_process import environment
from tests.processes import run_program

pytest_plugins = ("rigs.devices.fixtures",)
pytestmark = pytest.mark.real

#: The gate, and fewer requests in flight than the default of the profile: fio must complete them
#: within two seconds after SIGTERM, also at the speed after the end of the cache.
CONFIG = GATE + "\n[probe.profile.slc]\ndepth = 2\n"

#: Bytes that are free again after a rest of this many seconds. The idle time of `slc` is longer,
#: because the filesystem can write once more in that time.
BACK_BYTES, REST_SECONDS = 160_000_000, 1.5


def slc(disk: SlowDisk, place: Path, *arguments: str) -> Ended:
    """Runs the command in the cgroup of the disk, whose filesystem is mounted at `place`/mnt."""
    (place / "root/run/lock").mkdir(parents=True)
    (place / "state").mkdir()
    (place / "config.toml").write_text(CONFIG)
    ended = run_program(
        [
            *(*disk.cgroup.prefix, sys.executable, "-m", "exporter", "slc"),
            *(str(place / "mnt/probe"), "--yes", "--anyway", "--json"),
            f"--config.file={place / 'config.toml'}",
            f"--state.directory={place / 'state'}",
            f"--path.rootfs={place / 'root'}",
            *arguments,
        ],
        env=environment(),
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_slc_finds_the_end_of_the_cache_and_its_recovery(
    large_disk: SlowDisk, tmp_path: Path
) -> None:
    with (
        mounted(large_disk, tmp_path / "mnt") as mount,
        write_cache(
            large_disk,
            fast=FAST,
            slow=SLOW,
            cache_bytes=CACHE_BYTES,
            back_bytes=BACK_BYTES,
            rest_seconds=REST_SECONDS,
        ) as cache,
        # On a busy disk, saving the result takes so long that the cache recovers again.
        tempfile.TemporaryDirectory(dir="/dev/shm") as state,
    ):
        memory = f"--state.directory={state}"
        ended = slc(large_disk, tmp_path, "--bytes=448MiB", "--idle=5", memory)
        (kept,) = (json.loads(file.read_text()) for file in Path(state).glob("slc-*.json"))
        left = [each.name for each in mount.iterdir()]
    assert 1 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    assert "cliff" == data["result"]
    assert pytest.approx(CACHE_BYTES, rel=0.1) == data["cache_bytes"]
    ratio = cache.falloff_ratio()
    assert pytest.approx(ratio, rel=0.1) == data["falloff_ratio"], f"{data} {cache}"
    assert data["written_bytes"] < 0.9 * (448 << 20), (
        "the run did not stop soon after the end of the cache"
    )
    (rung,) = data["recovery"]
    assert pytest.approx(BACK_BYTES, rel=0.15) == rung["recovered_bytes"]
    assert rung["others_bytes"] is None
    assert 2 == cache.ended
    # A machine that stalls after the last write gives the disk a second rest.
    assert cache.recovered in {1, 2}
    assert ["lost+found"] == left
    assert {"5": rung["recovered_bytes"]} == kept["recovered_bytes"]


def test_slc_finds_no_cache_on_a_disk_of_constant_speed(
    large_disk: SlowDisk, tmp_path: Path
) -> None:
    """On a disk of 576 MiB, a cache has at most a third of its size."""
    with (
        mounted(large_disk, tmp_path / "mnt"),
        write_cache(large_disk, fast=FAST, slow=FAST, cache_bytes=1 << 40) as disk,
    ):
        ended = slc(large_disk, tmp_path, "--bytes=220MiB")
    assert 0 == ended.status, ended.said
    data = json.loads(ended.out)["data"]
    assert "flat" == data["result"]
    speed = disk.median_speed()
    assert pytest.approx(speed, rel=0.1) == data["burst_bytes_per_second"], f"{data} {disk}"
    assert data["cache_bytes"] is None
    assert 1 == data["falloff_ratio"]
