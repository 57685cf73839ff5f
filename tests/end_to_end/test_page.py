"""HTTP responses of a daemon that monitors the host of the test."""

import gzip
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.duration import wait_until
from tests.end_to_end.daemon import Daemon
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need

#: The Accept header of Prometheus 2.42.
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
OPENMETRICS = "application/openmetrics-text"
TEXT = "text/plain"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon that exports all metrics of every block device of this host."""
    config = "[cpu]\nper_cpu = true\n[disk]\nrequest_sizes = true\ndevice_include = '.'\n"
    place = tmp_path_factory.mktemp("daemon")
    with Daemon(place, "--compat.node-exporter", config=config) as daemon:
        daemon.next_page(2)
        yield daemon


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (PROMETHEUS, OPENMETRICS),
        ("", TEXT),
        ("\xff;q=;;,,", TEXT),
    ],
)
def test_the_accept_header_selects_the_format(daemon: Daemon, accept: str, kind: str) -> None:
    answer = daemon.get("/metrics", Accept=accept)
    assert 200 == answer.status
    assert kind == answer.headers["content-type"].partition(";")[0]
    assert "charset=utf-8" in answer.headers["content-type"]
    assert (kind == OPENMETRICS) == answer.body.endswith(b"# EOF\n")
    page = Page.parse(answer.body.decode(), openmetrics=kind == OPENMETRICS)
    assert page.value("ssd_sampler_interval_seconds") == 1
    assert {"Accept", "Accept-Encoding"} <= set(answer.headers["vary"].split(", "))


def test_both_formats_have_the_same_series(daemon: Daemon) -> None:
    # Other work on the host's disks may add or end series between two pages.
    text = Page.parse(daemon.get("/metrics").body.decode())

    def equal() -> bool:
        nonlocal text
        both = daemon.get("/metrics", Accept=OPENMETRICS).body.decode()
        text, before = Page.parse(daemon.get("/metrics").body.decode()), text
        series = set(Page.parse(both, openmetrics=True).samples)
        return set(before.samples) == series == set(text.samples)

    wait_until(equal, "equality of three successive pages")
    assert len(text.samples) > 200


@pytest.mark.parametrize(("accept_encoding", "packed"), [("gzip", True), ("identity", False)])
def test_the_page_is_compressed_if_the_client_accepts_it(
    daemon: Daemon, accept_encoding: str, packed: bool
) -> None:
    answer = daemon.get("/metrics", Accept_Encoding=accept_encoding)
    assert packed == (answer.headers.get("content-encoding") == "gzip")
    assert str(len(answer.body)) == answer.headers["content-length"]
    body = gzip.decompress(answer.body) if packed else answer.body
    assert Page.parse(body.decode()).value("ssd_sampler_interval_seconds") == 1


def test_a_page_is_rendered_once_per_sample(tmp_path: Path) -> None:
    bodies: dict[bytes, list[bytes]] = {}
    # On a busy machine, four pages may take longer than the default interval.
    with Daemon(tmp_path, config="sampler.interval_seconds = 10") as daemon:

        def is_repeated() -> bool:
            body = daemon.get("/metrics").body
            (sample,) = re.findall(rb"^ssd_sampler_samples_total (.*)$", body, re.MULTILINE)
            bodies.setdefault(sample, []).append(body)
            return len(bodies[sample]) >= 4

        wait_until(is_repeated, "four pages of one sample")
    # The first page shows this sample, and is that of the one before, if the sample was taken while
    # it was rendered.
    assert {1} == {len(set(pages[1:])) for pages in bodies.values() if len(pages) > 1}


@pytest.mark.real
@pytest.mark.parametrize("flags", [(), ("--compat.node-exporter",)])
def test_promtool_accepts_the_page(tmp_path: Path, flags: tuple[str, ...]) -> None:
    need("promtool")
    with Daemon(tmp_path, "--collector.disk.device-include=.", *flags) as daemon:
        daemon.next_page()
        page = daemon.get("/metrics").body
    said = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, check=False
    )
    # promtool objects to some names of node_exporter, which are kept for compatibility.
    about = [line for line in said.stderr.decode().splitlines() if not line.startswith("node_")]
    assert [] == about
    assert b"" == said.stdout
    assert flags or 0 == said.returncode


@pytest.mark.parametrize(
    ("path", "said"), [("/-/healthy", b"Healthy.\n"), ("/-/ready", b"Ready.\n")]
)
def test_the_health_checks_report_success(daemon: Daemon, path: str, said: bytes) -> None:
    answer = daemon.get(path)
    assert (200, said) == (answer.status, answer.body)


def test_the_index_shows_the_devices_and_links_to_the_metrics(daemon: Daemon) -> None:
    answer = daemon.get("/")
    assert 200 == answer.status
    assert "text/html; charset=utf-8" == answer.headers["content-type"]
    assert 'href="/metrics"' in answer.body.decode()
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")

    def has_a_page_of_each() -> bool:
        drives = daemon.page().labels("ssd_io_bottleneck", "device")
        html = daemon.get("/").body.decode()
        return bool(drives) and all(
            f'href="/drive/{name}"' in html and daemon.get(f"/drive/{name}").status == 200
            for name in drives
        )

    # Other tests attach and detach loop devices.
    wait_until(has_a_page_of_each)
    data = json.loads(daemon.get("/live.json?since=0").body)
    assert data["n"] >= 1
    assert {"n", "at", "st", "t", "s", "h"} <= data.keys()


def test_an_unknown_page_is_404_and_other_methods_are_rejected(
    daemon: Daemon,
) -> None:
    assert 404 == daemon.get("/nowhere").status
    for method in ("POST", "PUT", "DELETE"):
        assert 405 == daemon.get("/metrics", method).status
        assert 405 == daemon.get("/-/reload", method).status


def test_head_has_the_headers_of_get_and_no_body(daemon: Daemon) -> None:
    answer = daemon.get("/metrics", "HEAD")
    assert (200, b"") == (answer.status, answer.body)
    assert int(answer.headers["content-length"]) > 10_000
