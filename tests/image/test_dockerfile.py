"""The Dockerfile and what it takes from the tree; the build itself is in tests/lab."""

import json
import re
import shlex
import sys

import pytest

from exporter import __version__
from exporter.cli import main, parser
from exporter.config import Settings
from exporter.config_validation import parse_record
from tests.image.files import CONTAINER, TOP, instructions, last

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: What https://specs.opencontainers.org/image-spec/annotations/ has, and this image says.
SAID = ["title", "description", "licenses", "version", "revision", "created", "base.name"]


def test_it_says_what_it_is_in_the_labels_of_the_oci() -> None:
    labels = dict(each.split("=", 1) for each in shlex.split(last("LABEL")))
    assert [f"org.opencontainers.image.{name}" for name in SAID] == list(labels)


def test_it_copies_all_that_is_staged_and_docker_is_let_see_it() -> None:
    staged = set(re.findall(r'"\$top"?/(\w[\w.]*)', (TOP / "packaging" / "stage.sh").read_text()))
    assert staged >= {"docs", "systemd", "README.md"}, "or this tests nothing"
    copied = {
        name.rstrip("/")
        for verb, text in instructions()
        if verb == "COPY"
        for name in shlex.split(text)[:-1]
    }
    assert set() == staged - copied
    shown = (TOP / ".dockerignore").read_text().splitlines()
    assert set() == {f"!{name}" for name in staged} - set(shown)


def test_its_version_is_that_of_the_program() -> None:
    assert ("ARG", f"VERSION={__version__}") in instructions()


def test_it_runs_as_a_number_that_is_not_root() -> None:
    """By a name Kubernetes cannot tell that it is not."""
    user, group = last("USER").split(":")
    assert int(user) == int(group) == 10177
    assert f"useradd --uid {user} --gid {group}" in "".join(text for _, text in instructions())


def test_the_program_is_process_1_and_sigterm_ends_it() -> None:
    """No shell in between, which would keep the signal to itself."""
    assert ["ssd-exporter"] == json.loads(last("ENTRYPOINT"))
    assert "SIGTERM" == last("STOPSIGNAL")


def test_it_begins_with_the_settings_that_it_holds() -> None:
    given = parser().parse_args(json.loads(last("CMD")))
    assert "/etc/ssd-exporter/config.toml" == given.config_file


def test_its_settings_name_the_places_of_a_container_and_nothing_else() -> None:
    values = tomllib.loads((CONTAINER / "config.toml").read_text())
    settings: Settings = parse_record(Settings, values, "")
    assert (":10177",) == settings.web.listen_address
    assert "10177" == last("EXPOSE")
    path = settings.path
    assert ["/host/proc", "/host/sys", "/host"] == [
        str(each) for each in (path.procfs, path.sysfs, path.rootfs)
    ]
    assert {"web": {"listen_address"}, "path": {"procfs", "sysfs", "rootfs"}} == {
        name: set(each) for name, each in values.items()
    }


def test_without_the_host_it_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    """And does not begin with the container's own /proc."""
    assert 2 == main(["--config.file", str(CONTAINER / "config.toml"), "--config.check"])
    said = capsys.readouterr().err
    assert "ssd-exporter: path.procfs is /host/proc, which is not a directory\n" == said


def test_it_is_asked_how_it_fares() -> None:
    interval, _, command = last("HEALTHCHECK").partition(" ")
    assert interval.startswith("--interval=")
    assert command.endswith('CMD ["ssd-exporter-health"]')
    assert "/out/usr/bin/ssd-exporter-health" in "".join(text for _, text in instructions())


def _copied() -> set[str]:
    return {
        source
        for name, text in instructions()
        if name == "COPY" and not text.startswith("--from")
        for source in text.split()[:-1]
    }


def test_all_that_it_copies_is_in_the_tree_and_nothing_else_is_sent() -> None:
    for source in _copied():
        assert (TOP / source).exists(), source
    lines = (TOP / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert _copied() == {line[1:] for line in lines if line.startswith("!")}
