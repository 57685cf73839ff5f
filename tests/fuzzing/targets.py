"""The functions that `make fuzz` calls: every function that parses foreign input.

A target takes any bytes. It may raise the exceptions that the function documents, and no others.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from exporter.config import Settings
from exporter.config_validation import parse_record, validated
from exporter.drives.smart_report import parse_report
from exporter.errors import ExporterError
from exporter.io.baseline import BaselineRules, Baselines
from exporter.linux import (
    block,
    capabilities,
    cgroup,
    diskstats,
    links,
    locks,
    mountinfo,
    mysql_directories,
    mysqld_processes,
    pcie,
    pressure,
    proc_stat,
    scsi_sysfs,
    softirqs,
    softnet_stat,
)
from exporter.printable import printable
from exporter.probe import budget_ledger, fio, fio_report, slc_results
from exporter.programs import command
from exporter.smart import poll_document, pysmart, second_opinion, smartctl
from exporter.smart.inventory import Inventory
from exporter.state import StateFile
from exporter.web import http_message, listen, web_config

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
    Inventory(values.get("inventory"))
    Baselines(BaselineRules(), values.get("baselines"))


def _stored(data: bytes) -> None:
    """The parts of the state file, without the requirement that the file is valid."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        return
    Inventory(values)
    Baselines(BaselineRules(), values)


TARGETS: Mapping[str, Target] = {
    "cgroup-io-stat": text(cgroup.parse_io_stat),
    "config": text(_config),
    "diskstats": text(lambda words: diskstats.parse(words, {})),
    "effective-capabilities": text(capabilities.parse_effective),
    "fio-engines": text(fio.parse_engines),
    "fio-report": lambda data: fio_report.parse(data, 0),
    "fio-version": text(fio.parse_version),
    "heartbeat": poll_document.parse_heartbeat,
    "http-request": http_message.parse_request,
    "lane-rate": text(links.parse_lane_rate),
    "listen-address": text(listen.parse_address),
    "locks": text(lambda words: locks.parse_flock_holder(words, 2049, 17)),
    "mountinfo": text(mountinfo.parse),
    "mysql-arguments": text(_arguments),
    "mysql-option-file": text(_option_file),
    "pcie-aer": text(pcie.parse_aer_total),
    "poll-document": _poll_document,
    "pressure": text(pressure.parse),
    "printable": text(printable),
    "probe-budget": text(budget_ledger.parse),
    "proc-cgroup": text(mysqld_processes.parse_cgroup),
    "proc-stat": text(proc_stat.parse),
    "program-version": text(command.parse_version),
    "pysmart-errors": text(lambda words: list(pysmart.parse_errors(words.splitlines()))),
    "sata-rate": text(links.parse_sata_rate),
    "scheduler": text(block.parse_scheduler),
    "scsi-ata-page": scsi_sysfs.parse_ata_page,
    "scsi-serial-page": scsi_sysfs.parse_serial_page,
    "slc-results": text(slc_results.parse),
    "smartctl": _smartctl,
    "smartctl-scan": smartctl.parse_scan,
    "softirqs": text(softirqs.parse),
    "softnet-stat": text(softnet_stat.parse),
    "state-file": _state,
    "state-values": _stored,
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
    "proc-stat": ("proc/stat",),
    "smartctl": (".json",),
    "smartctl-scan": ("scan.json",),
    "softirqs": ("proc/softirqs",),
    "softnet-stat": ("softnet_stat",),
}

#: The first inputs of targets for which the tests contain no file.
EXAMPLES: Mapping[str, tuple[bytes, ...]] = {
    "http-request": (
        b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: text/plain;version=0.0.4\r\n\r\n",
    ),
    "mysql-option-file": (b"[mysqld]\ndatadir=/d\ntmpdir=/a:/b\n!include /x\nskip-log-bin\n",),
    "web-config": (b"basic_auth_users:\n  a: $2b$04$x\ntls_server_config:\n  cert_file: a\n",),
    "poll-document": (b'{"version":1,"path":"/dev/sda","type":"sat","report":{"device":{}}}',),
    "heartbeat": (b'{"version":1,"at":1.0,"drives":[["/dev/sda","sat"]],"stuck":[]}',),
    "state-file": (b'{"version":1,"inventory":[],"baselines":{"a":{"read":[[1,2]],"write":[]}}}',),
    "state-values": (b'{"a":{"read":[[1,2.5]],"write":[]}}',),
    "probe-budget": (b'{"version":1,"spent":{"a":{"day":1,"life":2}},"run":null}',),
    "fio-report": (b'{"fio version":"fio-3.36","jobs":[{"read":{"clat_ns":{"bins":{"1":2}}}}]}',),
    "slc-results": (b'{"version":1,"drives":["a"],"device":"sda","at":1,"cliff":{}}',),
    "listen-address": (b"[::1]:10177", b"127.0.0.1:9"),
}
