"""The captured mountinfo."""

from hypothesis import given
from hypothesis import strategies as st

from exporter.capture.proc_capture import redact_mounts
from exporter.capture.redactor import Redactor
from exporter.linux import mountinfo


def test_redacted_mounts_keep_what_the_exporter_reads() -> None:
    text = (
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n"
        "23 22 0:40 /@acme /srv/acme\\040db rw - btrfs /dev/mapper/acme-db rw,subvol=/@acme\n"
        "24 22 0:41 / /mnt/share rw - nfs4 files.acme.example:/x rw,addr=192.0.2.7,vers=4.2\n"
        "25 22 0:42 / /acme rw - fuse.sshfs me@acme: rw,user_id=1000\n"
        "no line\n"
    )
    expected = (
        "22 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n"
        "23 22 0:40 /name1 /srv/name2 rw - btrfs /dev/mapper/name3 rw,subvol=/name1\n"
        "24 22 0:41 / /mnt/share rw - nfs4 nfs4 rw\n"
        "25 22 0:42 / /name4 rw - fuse.sshfs fuse.sshfs rw\n"
        "broken\n"
    )
    assert expected == redact_mounts(text, Redactor((), ()))


@given(st.text())
def test_redaction_keeps_the_number_of_faults(text: str) -> None:
    before = mountinfo.parse(text)
    after = mountinfo.parse(redact_mounts(text, Redactor((), ())))
    assert len(before.value) == len(after.value)
    assert len(before.faults) == len(after.faults)
    assert [m.filesystem_readonly for m in before.value] == [
        m.filesystem_readonly for m in after.value
    ]
