"""Identifiers in sysfs attributes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.capture import identity_redaction
from exporter.capture.redactor import Redactor


@pytest.mark.parametrize(
    ("wwid", "expected"),
    [
        ("naa.5002538f0badcafe", "naa.5002538000000001"),
        ("naa.600508b1001c0badcafe0badcafe0bad", "naa.600508b0000000000000000000000001"),
        ("eui.0025384b0badcafe", "eui.0025384000000001"),
        ("eui.36344630573011320025380badcafe00", "eui.00000000000000000000000000000001"),
        ("uuid.8c1f7e0a-1111-4222-8333-444455556666", "uuid.00000000-0000-4000-8000-000000000001"),
        ("t10.ATA     Flashworks S500   S5E9ZZQ00031", "t10.ATA     Flashworks S500   SN00000001"),
        ("t10.ATA     Flashworks S500   Z1", "t10.ATA     Flashworks S500   SN00000001"),
        (
            "nvme.1344-53354539-466c617368-00000001",
            "nvme.1344-534e3030303030303031-466c617368-00000001",
        ),
        ("something else", "SN00000001"),
    ],
)
def test_redacted_wwid_keeps_its_format(wwid: str, expected: str) -> None:
    content = f"{wwid}\n".encode()
    redactor = Redactor(
        tuple(identity_redaction.serials("wwid", content)),
        tuple(identity_redaction.wwns("wwid", content)),
    )
    assert f"{expected}\n".encode() == identity_redaction.redact_attribute(
        "wwid", content, redactor
    )


@given(st.sampled_from(["wwid", "serial", "model", "vpd_pg80", "vpd_pg89"]), st.binary())
def test_any_attribute_is_redacted(name: str, content: bytes) -> None:
    serials = tuple(filter(None, identity_redaction.serials(name, content)))
    redactor = Redactor(serials, tuple(identity_redaction.wwns(name, content)))
    again = identity_redaction.redact_attribute(name, content, redactor)
    assert not any(len(each) > 9 and each.encode("utf-8", "replace") in again for each in serials)
