"""The functions that `make fuzz` calls: every function that parses foreign input.

A target takes any bytes. It may raise the exceptions that the function documents, and no others.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from exporter.commands import megaraid_rights, read_command
from exporter.commands.probe_setup import exporter_service
from exporter.config.disk_rules import BaselineRules
from exporter.config.settings import Settings
from exporter.config_validation import parse_record, validated
from exporter.drives.nvme_logs.allowed_pages import allowed_pages, supported_pages
from exporter.drives.nvme_logs.decode import decode
from exporter.drives.nvme_logs.identify import parse_identify
from exporter.drives.nvme_logs.log_document import parse_logs
from exporter.drives.nvme_logs.log_encoding import LOGS_KEY, encode_logs
from exporter.drives.smart_report import parse_report
from exporter.history import history_block
from exporter.history.history_events import decoded_events
from exporter.io import accumulators, last_roles
from exporter.io.baseline import Baselines
from exporter.io.drive_events import DriveEvents
from exporter.latency import trace_histogram
from exporter.linux import (
    block,
    capabilities,
    cgroup,
    diskstats,
    files,
    filesystems,
    links,
    locks,
    mmc_sysfs,
    mountinfo,
    pcie,
    pressure,
    proc_stat,
    scsi_sysfs,
    softirqs,
    softnet_stat,
)
from exporter.linux.mysql import mysql_directories, mysqld_processes
from exporter.pages import os_release
from exporter.pages.past import time_range
from exporter.probe import budget_ledger, fio, fio_report, host_lock, slc_results
from exporter.probe.results import RoundHistory
from exporter.programs import command
from exporter.reading import raw_log
from exporter.runtime.errors import ExporterError
from exporter.runtime.lock_file import parse_flock_holder
from exporter.runtime.printable import printable
from exporter.runtime.state import StateFile
from exporter.smart import pysmart, second_opinion, smartctl
from exporter.smart.inventory import Inventory
from exporter.smart.polling import poll_document
from exporter.smart.polling.log_answers import parse_log_answers
from exporter.tails import latency_document
from exporter.top import daemon_page
from exporter.web import http_message, listen, web_config
from tests.drives import reports
from tests.drives.nvme_logs import pages
from tests.drives.nvme_logs.pages import REAL_PAGES
from tests.drives.smartctl_printing import printed
from tests.latency import tracefs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Target = Callable[[bytes], object]

#: A file that the target of the state file writes again for each input.
_STATE = Path(tempfile.gettempdir()) / "ssd-exporter-fuzz"


def text(parse: Callable[[str], object]) -> Target:
    """Returns a target for a function that takes text, decoded as `linux.files` decodes it."""
    return lambda data: parse(data.decode("utf-8", "backslashreplace"))


def _smartctl(data: bytes) -> None:
    report = smartctl.report(data)
    parse_report(report)
    with contextlib.suppress(ExporterError):
        second_opinion.second_opinion(report)


def _poll_document(data: bytes) -> None:
    parse_report(poll_document.parse_poll_document(data).report)


def _option_file(words: str) -> None:
    items = mysql_directories.parse_option_file(words).value
    settings = (item for item in items if isinstance(item, mysql_directories.OptionSetting))
    mysql_directories.role_directories({item.name: item.value for item in settings})


def _arguments(words: str) -> None:
    argv = words.split("\0")
    mysql_directories.parse_option_file_arguments(argv)
    mysql_directories.role_directories(mysql_directories.parse_arguments(argv))


def _config(words: str) -> None:
    try:
        values = tomllib.loads(words)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    validated(parse_record(Settings, values, ""))


def _state(data: bytes) -> None:
    directory = _STATE / str(id(_state))
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    (directory / "state.json").write_bytes(data)
    values = StateFile(directory).load_read_only()
    _restore(values)


def _restore(values: Mapping[str, object]) -> None:
    """Restores every entry of the state file, like `exporter.monitor`."""
    Inventory(values.get("inventory"))
    Baselines(BaselineRules(), values.get("baselines"))
    DriveEvents(values.get("events"))
    accumulators.restored_counter(values.get("idle"), "boot")
    last_roles.from_state(values.get("roles"))
    RoundHistory(values.get("rounds"))


def _stored(data: bytes) -> None:
    """The entries of the state file, without the requirement that the file is valid."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(values, dict):
        _restore(values)


def _pid_file(data: bytes) -> None:
    directory = _STATE / "pid-file"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    (directory / "probe-process.json").write_bytes(data)
    # No process has an entry in this directory, so none is killed.
    host_lock.ProbePidFile(directory, proc=directory).kill_leftover()


def _read_command(data: bytes) -> None:
    for as_json in (False, True):
        out, stream = io.StringIO(), io.BufferedReader(io.BytesIO(data))
        read_command.run((), as_json=as_json, out=out, standard_input=stream)
        assert out.getvalue() == printable(out.getvalue(), keep="\n")


def _supported_pages(data: bytes) -> None:
    for controller in (pages.INTEL, pages.KIOXIA, pages.MICRON_7450, pages.SCALEFLUX):
        allowed_pages(
            controller, supported_pages(data), endurance_groups=True, thermal_management=True
        )


def _nvme_logs(data: bytes) -> None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict):
        parse_logs(document)


#: A drive for each log page with a layout. The target of a page decodes it as of this drive.
_LOG_PAGES = {
    f"nvme-log-{name}-{page:02x}": (page, controller)
    for name, page, controller in (
        ("thermal", 0x02, pages.KIOXIA),
        ("endurance-group", 0x09, pages.KIOXIA),
        ("ocp", 0xC0, pages.KIOXIA),
        ("ocp", 0xC3, pages.KIOXIA),
        ("wdc", 0xC0, pages.WDC_SN840),
        ("intel", 0xCA, pages.INTEL),
        ("memblaze", 0xCA, pages.MEMBLAZE),
        ("memblaze-old", 0xCA, pages.MEMBLAZE_OLD),
        ("dapustor", 0xCA, pages.DAPUSTOR),
        ("dapustor", 0xCB, pages.DAPUSTOR),
        ("scaleflux", 0xCA, pages.SCALEFLUX),
        ("scaleflux", 0xC2, pages.SCALEFLUX),
        ("toshiba", 0xCA, pages.TOSHIBA),
        ("seagate", 0xC4, pages.SEAGATE),
        ("micron", 0xD0, pages.MICRON_7300),
        ("micron", 0xE1, pages.MICRON_7450),
    )
}


def _log_page(name: str) -> Target:
    page, controller = _LOG_PAGES[name]
    return lambda data: decode(page, data, controller)


def _pysmart_text(words: str) -> None:
    pysmart.parse_protocol(words.splitlines())
    list(pysmart.parse_errors(words.splitlines()))


def _scsi_path(words: str) -> None:
    scsi_sysfs.parse_attachment(Path("/sys"), PurePath(words))
    scsi_sysfs.parse_channel(PurePath(words))


def _page_query(words: str) -> None:
    for now in (1.8e9, 0.0):
        if (shown := time_range.parsed_range(words, now)) is not None:
            list(time_range.ticks(shown))
        time_range.parsed_before(words, now)


TARGETS: Mapping[str, Target] = {
    "btrfs-errors": text(filesystems.parse_error_stats),
    "cgroup-io-stat": text(cgroup.parse_io_stat),
    "config": text(_config),
    "diskstats": text(lambda words: diskstats.parse(words, {})),
    "effective-capabilities": text(capabilities.parse_effective),
    "daemon-page": text(lambda words: daemon_page.parse(words.splitlines())),
    "emmc-life-time": text(mmc_sysfs.parse_life_time),
    "emmc-reserve": text(mmc_sysfs.parse_reserve),
    "fio-engines": text(fio.parse_engines),
    "fio-report": lambda data: fio_report.parse(data, 0),
    "fio-version": text(fio.parse_version),
    "heartbeat": poll_document.parse_heartbeat,
    "history-events": lambda data: decoded_events([data]),
    "history-periods": lambda data: history_block.decoded(data, None),
    "http-request": http_message.parse_request,
    "lane-rate": text(links.parse_lane_rate),
    "latency-document": latency_document.parse_latency_document,
    "listen-address": text(listen.parse_address),
    "file-locks": text(locks.parse),
    "locks": text(lambda words: parse_flock_holder(words, 2049, 17)),
    "megaraid-rights": text(lambda words: megaraid_rights.parse_missing(words, has_node=False)),
    "mountinfo": text(mountinfo.parse),
    "mysql-arguments": text(_arguments),
    "mysql-option-file": text(_option_file),
    **{name: _log_page(name) for name in _LOG_PAGES},
    "nvme-identify": parse_identify,
    "nvme-log-answers": parse_log_answers,
    "nvme-logs": _nvme_logs,
    "nvme-raw-log": raw_log.page_bytes,
    "page-query": text(_page_query),
    "nvme-supported-pages": _supported_pages,
    "os-release": text(os_release.parse),
    "pcie-aer": text(pcie.parse_aer_total),
    "poll-document": _poll_document,
    "pressure": text(pressure.parse),
    "printable": text(printable),
    "probe-pid-file": _pid_file,
    "probe-budget": text(budget_ledger.parse),
    "proc-cgroup": text(mysqld_processes.parse_cgroup),
    "proc-stat": text(proc_stat.parse),
    "process-status": text(mysqld_processes.parse_credentials),
    "program-version": text(command.parse_version),
    "pysmart-text": text(_pysmart_text),
    "read-command": _read_command,
    "sas-rate": text(links.parse_sas_rate),
    "sata-rate": text(links.parse_sata_rate),
    "scheduler": text(block.parse_scheduler),
    "scsi-ata-page": scsi_sysfs.parse_ata_page,
    "scsi-path": text(_scsi_path),
    "scsi-serial-page": scsi_sysfs.parse_serial_page,
    "slc-results": text(slc_results.parse),
    "smartctl": _smartctl,
    "smartctl-scan": smartctl.parse_scan,
    "softirqs": text(softirqs.parse),
    "softirqs-block": lambda data: softirqs.parse_block(files.RawFile("softirqs", data)),
    "softnet-stat": text(softnet_stat.parse),
    "state-file": _state,
    "state-values": _stored,
    "trace-histogram": text(trace_histogram.parse),
    "unit-properties": text(exporter_service.parse_properties),
    "usb-rate": text(links.parse_usb_rate),
    "web-config": text(lambda words: web_config.parse(words, Path("/etc/web.yml"))),
}

#: Which files of the tests are the first inputs of a target: a part of the path.
SEEDS: Mapping[str, tuple[str, ...]] = {
    "cgroup-io-stat": ("io.stat",),
    "config": ("systemd/config.toml", "case.toml"),
    "diskstats": ("proc/diskstats",),
    "mountinfo": ("/mountinfo",),
    "mysql-arguments": ("/cmdline",),
    "poll-document": ("drive-",),
    "pressure": ("proc/pressure/",),
    "proc-cgroup": ("/cgroup",),
    "daemon-page": ("expected.prom",),
    "proc-stat": ("proc/stat",),
    "read-command": (".json",),
    "smartctl": (".json",),
    "smartctl-scan": ("scan.json",),
    "softirqs": ("proc/softirqs",),
    "softirqs-block": ("proc/softirqs",),
    "softnet-stat": ("softnet_stat",),
}

_SAVED = json.dumps(
    {
        "version": 1,
        "inventory": [
            {
                **dict.fromkeys(("model", "serial", "firmware", "wwn"), "A"),
                "label": "sda",
                "path": "/dev/sda",
                "type": "sat",
                "missing": True,
                "first_seen_unix_time": 1.0,
                "last_seen_unix_time": 2.0,
            }
        ],
        "baselines": {"A": {"read": [[10, 50.0]], "write": [[20, 90.0]]}},
        "events": {"A": [[20000, "missing", 1]]},
        "idle": {"boot_id": "boot", "seconds": 90.0, "ahead_seconds": 5.0, "at_end": True},
        "roles": [
            {
                "name": "mysql-data",
                "directory": "/d/mysql",
                "mountpoint": "/d",
                "cgroup": None,
                "seen_at": 1.0,
            }
        ],
        "rounds": {
            "A": {
                "rounds": [[1.0, 2.0, False]] * 6,
                "baseline": {
                    "mean": 1.0,
                    "least": 0.9,
                    "most": 1.1,
                    "deviation": 0.1,
                    "excursion": 0.0,
                },
            }
        },
    }
).encode()

#: The first inputs of targets for which the tests contain no file.
EXAMPLES: Mapping[str, tuple[bytes, ...]] = {
    **{
        name: tuple(real.data for real in REAL_PAGES if real.page == page)
        or (bytes(range(256)) * 2,)
        for name, (page, _) in _LOG_PAGES.items()
    },
    "nvme-logs": tuple(
        json.dumps(
            {LOGS_KEY: encode_logs(real.controller, {real.page: (1.5, real.data)}, {})}
        ).encode()
        for real in REAL_PAGES
    ),
    "nvme-identify": (b"\x86\x80" * 256,),
    "nvme-log-answers": (
        b"device /dev/nvme0\nidentify 8680\nask 192\nstatus 192 265\nask 2\npage 2 00ff\n",
        b"device /dev/nvme0\nask 9\nerror 9 no memory\ndevice /dev/nvme1\nunusable no device\n",
    ),
    "nvme-raw-log": (b"0000: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n 10   00 01\n",),
    "nvme-supported-pages": (b"\1\0\0\0" * 256,),
    "emmc-life-time": (b"0x01 0x02\n",),
    "emmc-reserve": (b"0x01\n", b"03\n"),
    "http-request": (
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: text/plain;version=0.0.4\r\n\r\n",
    ),
    "history-events": (b'[[1700000000,null,"sda","S","device",12.5,0.1]]',),
    "page-query": (b"range=day&end=1700000000", b"before=1700000000"),
    "mysql-option-file": (b"[mysqld]\ndatadir=/d\ntmpdir=/a:/b\n!include /x\nskip-log-bin\n",),
    "web-config": (b"basic_auth_users:\n  a: $2b$04$x\ntls_server_config:\n  cert_file: a\n",),
    "poll-document": (b'{"version":1,"path":"/dev/sda","type":"sat","report":{"device":{}}}',),
    "heartbeat": (b'{"version":1,"at":1.0,"drives":[["/dev/sda","sat"]],"stuck":[]}',),
    "latency-document": (
        latency_document.encoded(
            latency_document.LatencyDocument(
                *("boot:1", 1.0, 1.0, "boot", 60.0),
                devices={"sda": latency_document.DeviceRequests({"read": {1: 2}})},
            )
        ),
    ),
    "state-file": (_SAVED,),
    "state-values": (_SAVED,),
    "probe-budget": (
        b'{"version":1,"run":{"directories":["/p"],"device":"a","day":1,"life":2},"spent":{}}',
        b'{"version":1,"spent":{"a":{"day":1,"life":2}},"run":null}',
    ),
    "probe-pid-file": (b'{"child":[300,4000],"owner":[200,3000]}',),
    "read-command": (
        *(printed(report()).encode() for report in (reports.ata, reports.nvme, reports.scsi)),
        b'{"vid":1,"sn":"S","mn":"M","fr":"F","tnvmcap":"1","wctemp":343}\n',
        b'{"critical_warning":0,"temperature":310,"avail_spare":100,"percent_used":1}\n',
        b'{"physical_media_units_written":{"hi":0,"lo":5},"physical_media_units_read":{"lo":5}}\n',
        b'{"Intel Smart log":"","Device stats":{"nand_bytes_written":{"raw":5}}}\n',
        (
            b"SMART Cloud Attributes :-\n  Physical media units written -\t\t0 65\n"
            b"  Physical media units read    -\t\t0 65\n"
        ),
        b"Additional Smart Log for NVME device:nvme0\nnand_bytes_written : 100% sectors: 22\n",
    ),
    "smartctl": tuple(
        json.dumps(
            report() | {"smartctl": {"exit_status": 0, "output": printed(report()).split("\n")}}
        ).encode()
        for report in (reports.ata, reports.nvme, reports.scsi)
    ),
    "daemon-page": (b'ssd_device_temperature_celsius{device="sda",sensor="composite"} 41\n',),
    "os-release": (b'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',),
    "megaraid-rights": (b"Name:\tsmartctl\nCapEff:\t0000000000220000\n",),
    "process-status": (b"Uid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\nGroups:\t3 4 \n",),
    "effective-capabilities": (b"Name:\tsmartctl\nCapEff:\t0000000000220000\n",),
    "btrfs-errors": (b"write_errs 0\nread_errs 1\nflush_errs 0\n",),
    "trace-histogram": (
        tracefs.table([tracefs.row(266338304, "RS", 4096, 8191, 3)]).encode(),
        tracefs.table([tracefs.issued_row(266338304, 3)], tracefs.ISSUED_KEYS).encode(),
    ),
    "unit-properties": (b"ActiveState=active\nActiveEnterTimestampMonotonic=12345\n",),
    "scsi-path": (b"devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",),
    "scsi-serial-page": (b"\0\x80\0\x08  S1 2  ",),
    "scsi-ata-page": (b"\0\x89\x02\x38" + bytes(56) + bytes(range(256)) * 2,),
    "cgroup-io-stat": (b"8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n",),
    "sas-rate": (b"12.0 Gbit",),
    "sata-rate": (b"6.0 Gbps",),
    "usb-rate": (b"5000",),
    "lane-rate": (b"8.0 GT/s PCIe",),
    "pcie-aer": (b"RxErr 0\nBadTLP 1\nTOTAL_ERR_COR 1\n",),
    "file-locks": (b"1: POSIX  ADVISORY  WRITE 1234 08:01:131 0 EOF\n",),
    "locks": (b"1: FLOCK  ADVISORY  WRITE 708 08:01:17 0 EOF\n",),
    "scheduler": (b"none [mq-deadline] kyber\n",),
    "fio-version": (b"fio-3.33\n",),
    "fio-engines": (b"Available IO engines:\n\tlibaio\n\tio_uring\n",),
    "program-version": (b"smartctl 7.3 2022-02-28 r5338\n",),
    "pysmart-text": (b"Smartctl open device: /dev/sda failed: No such device\n",),
    "printable": ("\x1b[31m\u202e\ud800".encode("utf-8", "surrogatepass"),),
    "fio-report": (b'{"fio version":"fio-3.36","jobs":[{"read":{"clat_ns":{"bins":{"1":2}}}}]}',),
    "slc-results": (b'{"version":1,"drives":["a"],"device":"sda","at":1,"cliff":{}}',),
    "listen-address": (b"[::1]:10177", b"127.0.0.1:9"),
}
