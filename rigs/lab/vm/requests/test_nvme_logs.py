"""Log pages of a data-centre drive: write amplification, refusals, bad and slow answers, a hang."""

from rigs.lab.vm import drives
from rigs.lab.vm.host import LOG_SECONDS, SOON, Host, device, up
from tests.drives.nvme_logs import pages
from tests.end_to_end.page import Page

SERIAL = drives.SOFT_LOGS
_MICRON = 0x1344
_OCP_SMART, _OCP_LATENCY = 0xC0, 0xC3

#: The drive writes this many bytes to its flash for each byte that the host writes.
_RATIO = 2.5
_WRITTEN_BYTES = 8 << 20

#: Longer than the time limit of the program that reads the pages and the time to end it, and
#: shorter than the timeout of the kernel.
_HANG_SECONDS = 50.0


#: Longer than any usual answer, and shorter than the time limit.
_SLOW_SECONDS = 6.0
#: The part of a page of 512 bytes that is transferred. The GUID at its end is missing.
_TRUNCATED_BYTES = 300

#: Page C3h: 5 reads of 30 ms and longer. This drive also stores its serial number in it.
_LATENCY_PAGE = pages.ocp_latency(
    (44, 4, 5), (440, len(SERIAL), int.from_bytes(SERIAL.encode(), "little"))
)

#: Page C0h: a capacitor at 120 %, 7 bad blocks, 3 PCIe errors.
_OCP_PAGE = pages.ocp((0, 16, 1 << 30), (32, 6, 7), (38, 2, 99), (104, 8, 3), (128, 2, 120))


def has_logs(page: Page) -> bool:
    return list(page.find("ssd_smart_capacitor_health_ratio", serial=SERIAL)) != []


def missing(page: Page) -> list[tuple[str, str]]:
    """Number and reason of each page without values."""
    found = page.find("ssd_smart_log_missing", serial=SERIAL)
    return [(labels["log"], labels["reason"]) for labels, _ in found]


def test_write_amplification_is_that_of_the_drive_and_a_refused_page_is_asked_for_once(
    host: Host,
) -> None:
    entries = "ssd_smart_error_log_entries_total"
    errors = host.await_page(lambda page: up(page).get(SERIAL) == 1).value(entries, serial=SERIAL)
    host.set(
        SERIAL,
        vendor_id=_MICRON,
        log_pages={str(_OCP_SMART): _OCP_PAGE.hex()},
        listed_log_pages=[_OCP_LATENCY],
        nand_write_ratio=_RATIO,
    )
    host.restart_agent()
    before = host.await_page(lambda page: has_logs(page) and missing(page) != [])
    assert 1.2 == before.value("ssd_smart_capacitor_health_ratio", serial=SERIAL)
    assert 7 == before.value("ssd_smart_reallocated_sectors_total", serial=SERIAL)
    assert 1 == before.value("ssd_smart_plp_healthy", serial=SERIAL)
    assert [("0xc3", "refused")] == missing(before)
    path = f"/dev/{device(before, SERIAL)}"
    host.machine.output(
        *("dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={_WRITTEN_BYTES >> 20}"),
        "oflag=direct",
    )

    def nand(page: Page) -> float:
        return page.value("ssd_smart_nand_written_bytes_total", serial=SERIAL)

    after = host.await_page(
        lambda page: nand(page) - nand(before) == _RATIO * _WRITTEN_BYTES,
        seconds=LOG_SECONDS + SOON,
    )
    host_bytes = "ssd_smart_host_written_bytes_total"
    written = after.value(host_bytes, serial=SERIAL) - before.value(host_bytes, serial=SERIAL)
    # The drive counts in units of 512,000 bytes.
    assert abs(written - _WRITTEN_BYTES) <= 512_000
    # The pages were read twice, and the drive counts each refused command.
    assert errors + 1 == after.value(entries, serial=SERIAL)
    assert [] == host.check().texts(SERIAL)


def test_a_truncated_page_is_missing_a_slow_one_is_read_and_a_capture_has_no_serial_number(
    host: Host,
) -> None:
    # A drive with other firmware is asked again, without a restart of the agent.
    host.set(
        SERIAL,
        vendor_id=_MICRON,
        firmware="LAB2.0",
        log_pages={str(_OCP_SMART): _OCP_PAGE.hex(), str(_OCP_LATENCY): _LATENCY_PAGE.hex()},
        listed_log_pages=[],
        log_lengths_bytes={str(_OCP_SMART): _TRUNCATED_BYTES},
        log_delays_seconds={str(_OCP_LATENCY): _SLOW_SECONDS},
    )
    slow = {"serial": SERIAL, "op": "read", "min_seconds": "0.03"}
    page = host.await_page(
        lambda page: list(page.find("ssd_smart_slow_requests_total", **slow)) != [],
        seconds=_SLOW_SECONDS + SOON,
    )
    assert 5 == page.value("ssd_smart_slow_requests_total", **slow)
    assert [("0xc0", "invalid")] == missing(page)
    assert not has_logs(page)
    assert {1.0} == set(up(page).values())
    assert 38 == page.value("ssd_smart_temperature_celsius", serial=SERIAL, sensor="drive")
    assert 100 * 3600 == page.value("ssd_smart_power_on_seconds_total", serial=SERIAL)

    text = host.machine.guest.get(f"http://127.0.0.1:10177/drive/{device(page, SERIAL)}").output
    assert "5 requests took 30 ms or longer inside the drive" in text
    host.machine.output("ssd-exporter", "capture", "/tmp/captured", seconds=120)
    captured = host.machine.output("grep", "-rh", "", "/tmp/captured/smartctl")
    assert _LATENCY_PAGE[:440].hex() in captured
    assert SERIAL not in captured
    assert SERIAL.encode().hex() not in captured
    host.set(SERIAL, log_lengths_bytes={}, log_delays_seconds={})


def test_a_page_that_hangs_costs_only_itself(host: Host) -> None:
    host.set(SERIAL, listed_log_pages=[], log_delays_seconds={str(_OCP_SMART): _HANG_SECONDS})
    host.restart_agent()
    page = host.await_page(lambda page: ("0xc0", "timeout") in missing(page))
    assert {1.0} == set(up(page).values())
    assert 38 == page.value("ssd_smart_temperature_celsius", serial=SERIAL, sensor="drive")
    # Page 02h, which is read before it, has its values.
    events = "ssd_smart_thermal_throttling_events_total"
    assert 0 == page.value(events, serial=SERIAL, level="heavy")
    assert not has_logs(page)
    host.set(SERIAL, log_delays_seconds={}, log_pages={}, nand_write_ratio=0.0)
