"""The Ansible roles install, configure, upgrade and remove on two booted machines, over ssh."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rigs.fresh_systems.releases import NEW, OLD, Releases
from rigs.fresh_systems.systems import MANAGED
from rigs.lab.vm.cache import PROJECT
from tests.systemd.machine import Machine, booted_from

_ROLES = PROJECT / "packaging" / "ansible" / "roles"
_REPOSITORY = "/mnt/repository"
_BIN = Path(sys.executable).parent
_PROBES = "/srv/probe"

_SETTINGS = f"""\
[web]
listen_address = ":10177"
config_file = "/etc/ssd-exporter/web.yml"
[probe]
directory = "{_PROBES}"
"""


class Controller:
    """Runs playbooks against the two machines, over ssh."""

    def __init__(self, work: Path, machines: dict[str, Machine]) -> None:
        self._work = work
        self.machines = machines
        lines = []
        for name, machine in machines.items():
            # The machines have no network. ssh runs as usual, through a pipe to their port 22.
            proxy = f"nsenter --target={machine.leader} --net nc 127.0.0.1 22"
            options = f'-o ProxyCommand="{proxy}" -o StrictHostKeyChecking=no -i {work}/id'
            common = f"{options} -o UserKnownHostsFile={work}/known"
            lines.append(f"{name} ansible_ssh_common_args={shlex.quote(common)} ansible_user=root")
        (work / "hosts").write_text("\n".join(("[databases]", *lines, "")))

    def play(
        self, role: str, *options: str, on: str = "databases", **variables: Any
    ) -> "subprocess.CompletedProcess[str]":
        """Applies a role with variables."""
        play = [{"hosts": on, "roles": [{"role": role, "vars": variables}]}]
        (self._work / "play.yml").write_text(json.dumps(play))
        return subprocess.run(
            [_BIN / "ansible-playbook", "--inventory=hosts", *options, "play.yml"],
            cwd=self._work,
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": str(self._work),
                "ANSIBLE_ROLES_PATH": str(_ROLES),
                "ANSIBLE_NOCOLOR": "1",
                "LC_ALL": "C.UTF-8",
            },
            check=False,
            capture_output=True,
            text=True,
        )

    def changes(self, role: str, *options: str, **arguments: Any) -> set[int]:
        """Number of changed tasks of the hosts; AssertionError if a task fails."""
        done = self.play(role, *options, **arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        recap = done.stdout.partition("PLAY RECAP")[2]
        return {int(word.partition("=")[2]) for word in recap.split() if "changed=" in word}


@pytest.fixture(scope="module")
def controller(
    releases: Releases, key: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    repository = releases.repository("apt", key, OLD, NEW)
    work = tmp_path_factory.mktemp("ansible")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", work / "id"], check=True)

    def prepare(layer: Path, _work: Path) -> None:
        (layer / _REPOSITORY.lstrip("/")).mkdir(parents=True)
        trusted = layer / "root" / ".ssh" / "authorized_keys"
        trusted.parent.mkdir(parents=True, mode=0o700)
        trusted.write_text((work / "id.pub").read_text())
        # Without a network, apt cannot ask the mirrors.
        (layer / "etc/apt").mkdir(parents=True)
        (layer / "etc/apt/sources.list").write_text("")

    options = shlex.join(["--private-network", f"--bind-ro={repository}:{_REPOSITORY}"])
    with ExitStack() as stack:
        machines = {
            name: stack.enter_context(booted_from(MANAGED.root(), prepare, options))
            for name in ("db1", "db2")
        }
        yield Controller(work, machines)


@pytest.fixture(scope="module")
def variables(releases: Releases) -> dict[str, Any]:
    """Variables of a complete installation."""
    return {
        "ssd_exporter_repository": f"file:{_REPOSITORY}",
        "ssd_exporter_repository_key": (releases.files[OLD] / "ssd-exporter-key.asc").read_text(),
        "ssd_exporter_settings": _SETTINGS,
        "ssd_exporter_web": "basic_auth_users: {}\n",
        "ssd_exporter_probe_directories": [_PROBES],
        "ssd_exporter_version": OLD,
    }


def versions(controller: Controller) -> set[str]:
    """Versions on the pages of the machines."""
    found = set()
    for machine in controller.machines.values():
        machine.await_("a page", lambda machine=machine: machine.page())  # type: ignore[misc]
        (build,) = machine.metrics().find("ssd_exporter_build_info")
        found.add(build[0]["version"])
    return found


def test_a_host_is_installed_upgraded_and_cleared(
    controller: Controller, variables: dict[str, Any]
) -> None:
    assert {0} != controller.changes("ssd_exporter", "--check", **variables)
    assert all(
        m.run("ls", "/usr/bin/ssd-exporter").returncode for m in controller.machines.values()
    )
    assert {0} != controller.changes("ssd_exporter", **variables)
    assert {OLD} == versions(controller)
    assert {0} == controller.changes("ssd_exporter", **variables), "nothing changes again"
    assert {0} == controller.changes("ssd_exporter", "--check", **variables)

    newer = {**variables, "ssd_exporter_version": NEW}
    assert {0} != controller.changes("ssd_exporter", "--check", **newer)
    assert {OLD} == versions(controller), "the check mode changes nothing"
    assert {0} != controller.changes("ssd_exporter", **newer)
    assert {NEW} == versions(controller)
    assert {0} == controller.changes("ssd_exporter", **newer)

    for machine in controller.machines.values():
        unit = machine.show("ssd-exporter", "ReadWritePaths")
        assert _PROBES in unit, "probes may write there"
        assert _SETTINGS == machine.run("cat", "/etc/ssd-exporter/config.toml").stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"ssd_exporter_settings": "[web]\nlisten = 1\n"}, "did you mean listen_address"),
        ({"ssd_exporter_state": "gone"}, "value of ssd_exporter_state must be one of"),
        ({"ssd_exporter_version": "1.2.3"}, "1.2.3"),
    ],
    ids=["settings", "state", "version"],
)
def test_a_wrong_variable_is_reported_and_the_service_runs_on(
    controller: Controller, variables: dict[str, Any], wrong: dict[str, str], said: str
) -> None:
    done = controller.play("ssd_exporter", **{**variables, "ssd_exporter_version": NEW, **wrong})
    assert done.returncode != 0
    assert said in done.stdout, done.stdout
    assert {NEW} == versions(controller)


def test_rules_and_dashboards_are_deployed_once(controller: Controller, releases: Releases) -> None:
    archive = next(releases.files[NEW].glob("ssd-exporter-monitoring-*.tar.gz"))
    deploy = {"on": "db2", "ssd_monitoring_archive": str(archive)}
    assert {0} != controller.changes("ssd_monitoring", **deploy)
    assert {0} == controller.changes("ssd_monitoring", **deploy)
    machine = controller.machines["db2"]
    rules = machine.run("ls", "/etc/prometheus/rules/ssd").stdout.split()
    assert {"io.yml", "smart.yml", "thresholds.yml"} <= set(rules)
    assert machine.run("ls", "/var/lib/grafana/dashboards/ssd").stdout


def test_it_is_removed_with_settings_and_state(controller: Controller) -> None:
    """After all other tests."""
    assert {0} != controller.changes("ssd_exporter", ssd_exporter_state="absent")
    assert {0} == controller.changes("ssd_exporter", ssd_exporter_state="absent")
    for machine in controller.machines.values():
        left = ("/etc/ssd-exporter", "/var/lib/ssd-exporter", "/usr/bin/ssd-exporter")
        assert machine.run("ls", "-d", *left).stdout == ""


def test_ansible_lint_finds_nothing() -> None:
    argv = [str(_BIN / "ansible-lint"), "--profile=production", "--offline", "--nocolor", "."]
    path = f"{_BIN}:/usr/bin:/bin"
    done = subprocess.run(
        argv,
        cwd=PROJECT / "packaging" / "ansible",
        env={"PATH": path, "HOME": "/root"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
