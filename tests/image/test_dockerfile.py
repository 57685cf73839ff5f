"""The Dockerfile and its build context; rigs/lab builds the image."""

import json
import re
import shlex
import sys

import pytest

from exporter import __version__
from exporter.cli import main, parser
from exporter.config.settings import Settings
from exporter.config_validation import parse_record
from tests.image.files import CONTAINER, TOP, instructions, last
from tests.unit_file import UnitFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Labels of https://specs.opencontainers.org/image-spec/annotations/ that the image has.
SAID = [
    *("title", "description", "licenses", "url", "source", "documentation"),
    *("version", "revision", "created", "base.name"),
]


def test_the_image_has_oci_labels() -> None:
    labels = dict(each.split("=", 1) for each in shlex.split(last("LABEL")))
    assert [f"org.opencontainers.image.{name}" for name in SAID] == list(labels)


def test_the_build_context_contains_all_staged_files() -> None:
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


def test_the_image_version_equals_the_program_version() -> None:
    assert ("ARG", f"VERSION={__version__}") in instructions()


def test_the_image_runs_as_numeric_non_root_user() -> None:
    """Kubernetes cannot verify runAsNonRoot with a user name."""
    user, group = last("USER").split(":")
    assert int(user) == int(group) == 10177
    assert f"useradd --uid {user} --gid {group}" in "".join(text for _, text in instructions())


def test_the_memory_allocator_has_the_settings_of_the_unit() -> None:
    unit = UnitFile.read("ssd-exporter").environment()
    image = dict(each.split("=", 1) for each in shlex.split(last("ENV")))
    assert image == {name: unit[name] for name in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")}


def test_the_program_is_process_1_and_stops_on_sigterm() -> None:
    """A shell in between would not forward the signal."""
    assert ["ssd-exporter"] == json.loads(last("ENTRYPOINT"))
    assert "SIGTERM" == last("STOPSIGNAL")


def test_the_default_command_uses_the_settings_of_the_image() -> None:
    given = parser().parse_args(json.loads(last("CMD")))
    assert "/etc/ssd-exporter/config.toml" == given.config_file


def test_image_settings_contain_only_container_paths() -> None:
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


def test_without_the_host_mount_an_error_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """The program must not use the /proc of the container instead."""
    assert 2 == main(["--config.file", str(CONTAINER / "config.toml"), "--config.check"])
    said = capsys.readouterr().err
    file = CONTAINER / "config.toml"
    assert f"ssd-exporter: {file}: path.procfs is /host/proc, which is not a directory\n" == said


def test_the_image_has_a_health_check() -> None:
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


def test_copied_files_exist_and_other_files_are_ignored() -> None:
    for source in _copied():
        assert (TOP / source).exists(), source
    lines = (TOP / ".dockerignore").read_text().splitlines()
    assert "*" in lines
    assert _copied() == {line[1:] for line in lines if line.startswith("!")}
