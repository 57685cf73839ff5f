"""Identifiers in the output of smartctl."""

import json

from hypothesis import given
from hypothesis import strategies as st

from exporter.capture import smartctl_capture
from exporter.capture.redactor import Redactor
from exporter.drives.nvme_logs.controller import Controller
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs

SERIAL, WWN = "S5E9ZZQ00031", "5002538f0badcafe"

#: A part of the output of smartctl 7.3 for a SATA drive.
REPORT = {
    "json_format_version": [1, 0],
    "smartctl": {"argv": ["smartctl", f"/dev/disk/by-id/ata-Flashworks_S500_{SERIAL}"]},
    "device": {"name": "/dev/sda", "info_name": "/dev/sda [SAT]", "protocol": "ATA"},
    "model_name": f"Flashworks S500 {SERIAL}",
    "serial_number": SERIAL,
    "wwn": {"naa": 5, "oui": 9528, "id": 64620448510},
    "logical_unit_id": f"0x{WWN}",
    "nvme_namespaces": [{"id": 1, "eui64": {"oui": 9528, "ext_id": 1010110009}}],
    "data_units_written": 12345678901234567890,
    "data_units_written_s": "12345678901234567890",
}


def test_redacted_report_keeps_everything_but_identifiers() -> None:
    redactor = Redactor((SERIAL,), (WWN,))
    found = json.loads(smartctl_capture.redact_output(json.dumps(REPORT).encode(), redactor))
    expected = {
        **REPORT,
        "smartctl": {"argv": ["smartctl", "/dev/disk/by-id/ata-Flashworks_S500_SN00000001"]},
        "model_name": "Flashworks S500 SN00000001",
        "serial_number": "SN00000001",
        "wwn": {"naa": 5, "oui": 9528, "id": int("f00000001"[1:], 16)},
        "logical_unit_id": "0x5002538000000001",
        "nvme_namespaces": [{"id": 1, "eui64": {"oui": 9528, "ext_id": 2}}],
    }
    assert expected == found


def test_log_pages_are_kept_without_serial_numbers() -> None:
    page = bytes(range(256)) + b"\xff" * 256
    drive = Controller(0x1344, model="Micron_7450")
    logs = encode_logs(drive, {0xC0: (1.5, page), 0xCA: (1.5, SERIAL.encode())}, {0xC3: "refused"})
    redactor = Redactor((SERIAL,), (WWN,))
    output = json.dumps({**REPORT, LOGS_KEY: logs}).encode()
    redacted = smartctl_capture.redact_output(output, redactor)
    assert SERIAL.encode().hex().encode() not in redacted
    found = json.loads(redacted)[LOGS_KEY]
    assert page.hex() == found["pages"]["192"]["hex"]
    assert {"195": "refused"} == found["missing"]
    assert logs["controller"] == found["controller"]


def test_wwns_are_found_in_json_beside_other_text() -> None:
    """smartctl 7.0 to 7.2 print the start of the log of pending defects before the JSON."""
    report = json.dumps(REPORT).encode()
    for output in (b"  Pending defect count:" + report, report + b"\nother text\n"):
        assert WWN in set(smartctl_capture.wwns(output))


outputs = st.one_of(
    st.binary(max_size=400),
    st.sampled_from(
        [b"", b"[" * 5000, b'{"wwn": {"naa": 1e400, "oui": -1, "id": true}}', b'{"a": NaN}'],
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["naa", "oui", "id", "ext_id", "serial_number", "x_s"]), inner
            )
        ),
        max_leaves=9,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(outputs)
def test_any_output_is_redacted(output: bytes) -> None:
    found = tuple(filter(None, smartctl_capture.serials(output)))
    redactor = Redactor(found, tuple(smartctl_capture.wwns(output)))
    again = smartctl_capture.redact_output(output, redactor)
    assert isinstance(again, bytes)
