"""The bytes that an hour of probes writes to an unused device, by the kernel's count."""

from pathlib import Path

import pytest

from exporter.config.profiles import MIB, ON_BY_DEFAULT, ProfileSettings
from rigs.devices.cgroup import RigUnavailable
from rigs.devices.probed_disk import probed_disk
from tests.duration import ahead_of_other_work
from tests.end_to_end.programs import need
from tests.required import lacking

pytestmark = pytest.mark.real

SLOT, HOUR = 300.0, 3600.0

#: The default number of operations at a higher rate. The file is small, because otherwise most of
#: the written bytes would fill it.
FASTER = dict.fromkeys(ON_BY_DEFAULT, ProfileSettings(rate_iops=1000, size_bytes=8 * MIB))


def test_the_device_writes_between_half_of_the_charge_and_the_charge(tmp_path: Path) -> None:
    need("fio")
    try:
        # The runs have a time limit, and a run that reaches it writes less.
        with ahead_of_other_work(), probed_disk(tmp_path, 64 * MIB, FASTER) as disk:
            before = disk.written_bytes()
            disk.run()
            for _ in range(int(HOUR / SLOT) - 1):
                disk.run(SLOT)
            runs = disk.values("ssd_probe_runs_total")
            charged, written = disk.charged_bytes(), disk.written_bytes() - before
            device = disk.device
    except RigUnavailable as e:
        lacking(f"no device of its own on this machine: {e}")
    print(f"charged {charged}, written {written}: {charged / written:.2f}")
    succeeded = {name: runs[device, name, "success"] for name in ON_BY_DEFAULT}
    assert {"fsync": 12, "page_read": 12, "page_write": 4} == succeeded
    assert written <= charged <= 2.2 * written
    # Only the probes wrote. Their own bytes are half of the charge.
    assert written >= 8 * MIB + 12 * 200 * 4096 + 4 * 100 * 16_384
