"""The commands of the README, compose.yml and the DaemonSet match the program.

The schema of the DaemonSet takes 120 MB; rigs/lab validates against it.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter import __version__
from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from tests.end_to_end.programs import need
from tests.image.files import CONTAINER, TOP, containers, daemonset, documented_runs, services
from tests.processes import run_program

#: Capabilities of the agent for SATA, NVMe and RAID; the exporter has none.
RIGHTS = ["SYS_RAWIO", "SYS_ADMIN"]


def parsed(arguments: list[str]) -> None:
    """Raises SystemExit or ConfigError for unknown arguments."""
    if arguments and arguments[0] in COMMANDS:
        command_parser(arguments[0]).parse_args(arguments[1:])
    else:
        parser().parse_args(arguments)


def test_documented_command_lines_are_valid() -> None:
    runs = list(documented_runs())
    assert 4 == len(runs)
    for _, arguments in runs:
        parsed(arguments)
    for name in ("ssd-exporter", "ssd-smart-agent"):
        parsed(services()[name]["command"])
    for container in containers().values():
        parsed(container["args"])


def test_the_exporter_is_unprivileged_and_the_agent_has_no_network() -> None:
    exporter, agent = services()["ssd-exporter"], services()["ssd-smart-agent"]
    for half in (exporter, agent):
        assert ["ALL"] == half["cap_drop"]
        assert half["read_only"]
        assert ["no-new-privileges:true"] == half["security_opt"]
    assert "cap_add" not in exporter
    assert "user" not in exporter
    assert "devices" not in exporter
    assert (RIGHTS, "0:10177", "none") == (agent["cap_add"], agent["user"], agent["network_mode"])


def test_documented_commands_drop_privileges() -> None:
    for flags, arguments in documented_runs():
        if "..." in flags:
            continue
        assert {"--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only"} <= set(flags)
        added = [flag.partition("=")[2] for flag in flags if flag.startswith("--cap-add=")]
        assert added in ([], RIGHTS)
        assert bool(added) == ("--user=0:10177" in flags)
        assert (arguments[:1] == ["smart-agent"]) == ("--network=none" in flags)


@pytest.mark.parametrize("source", ["README", "compose", "Kubernetes"])
def test_the_agent_accepts_the_settings_of_the_image(source: str) -> None:
    (arguments,) = {
        "README": [rest for _, rest in documented_runs() if rest[:1] == ["smart-agent"]],
        "compose": [services()["ssd-smart-agent"]["command"]],
        "Kubernetes": [containers()["smart-agent"]["args"]],
    }[source]
    settings = f"--config.file={CONTAINER / 'config.toml'}"
    command = [sys.executable, "-m", "exporter", *arguments, "--config.check", settings]
    done = run_program(command)
    assert (0, "") == (done.returncode, done.stderr)


def test_nothing_is_published_beyond_loopback() -> None:
    for name, service in services().items():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), name
    for flags, _ in documented_runs():
        for flag in flags:
            if flag.startswith("--publish="):
                assert flag.startswith("--publish=127.0.0.1:")


def mounted(service: str) -> dict[str, Path]:
    """Files of the repository that a service mounts, by mount point."""
    found = {}
    for volume in services()[service]["volumes"]:
        source, _, rest = volume.partition(":")
        if source.startswith("."):
            found[rest.partition(":")[0]] = (CONTAINER / source).resolve()
    return found


def laid_out(service: str, place: Path) -> Path:
    """Copies the mounted files of a service below a directory."""
    for target, source in mounted(service).items():
        assert source.exists(), source
        where = place / target.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, where)
        else:
            shutil.copyfile(source, where)
    return place


def test_prometheus_accepts_its_configuration_and_all_rules(tmp_path: Path) -> None:
    need("promtool")
    config = laid_out("prometheus", tmp_path) / "etc" / "prometheus" / "prometheus.yml"
    done = run_program(["promtool", "check", "config", config])
    assert done.returncode == 0, done.stdout + done.stderr
    (pattern,) = _yaml(config)["rule_files"]
    loaded = {path.name for path in config.parent.glob(pattern)}
    assert loaded == {path.name for path in (TOP / "alerts").glob("*.yml")}


def test_alertmanager_accepts_its_configuration(tmp_path: Path) -> None:
    need("amtool")
    config = laid_out("alertmanager", tmp_path) / "etc" / "alertmanager" / "alertmanager.yml"
    done = run_program(["amtool", "check-config", config])
    assert done.returncode == 0, done.stdout + done.stderr


def test_services_use_each_others_names() -> None:
    config = _yaml(CONTAINER / "prometheus.yml")
    (exporter,) = config["scrape_configs"]
    assert "ssd" == exporter["job_name"]
    targets = [
        *exporter["static_configs"][0]["targets"],
        *config["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"],
        _yaml(CONTAINER / "grafana" / "datasource.yml")["datasources"][0]["url"][7:],
    ]
    assert ["ssd-exporter:10177", "alertmanager:9093", "prometheus:9090"] == targets
    for target in targets:
        name, _, port = target.partition(":")
        assert services()[name]["ports"][0].endswith(f":{port}")


def test_dashboards_are_mounted_at_the_path_of_the_provider(tmp_path: Path) -> None:
    root = laid_out("grafana", tmp_path)
    provisioning = root / "etc" / "grafana" / "provisioning"
    (provider,) = _yaml(provisioning / "dashboards" / "ssd.yml")["providers"]
    found = (root / provider["options"]["path"].lstrip("/")).glob("*.json")
    assert {path.name for path in (TOP / "dashboards").glob("*.json")} == {
        path.name for path in found
    }
    (source,) = _yaml(provisioning / "datasources" / "ssd.yml")["datasources"]
    assert ("prometheus", True) == (source["type"], source["isDefault"])


def test_the_pod_starts_the_image_of_this_version() -> None:
    """`make kubernetes` writes the manifest again."""
    used = [each["image"] for each in (*daemonset()["initContainers"], *containers().values())]
    assert [f"ssd-exporter:{__version__}"] * 3 == used


@pytest.mark.parametrize("name", ["exporter", "smart-agent"])
def test_the_pod_has_both_containers_with_read_only_roots(name: str) -> None:
    security = containers()[name]["securityContext"]
    assert security["readOnlyRootFilesystem"]
    assert 10177 == security["runAsGroup"]
    if name == "exporter":
        assert security["runAsNonRoot"]
        assert {"drop": ["ALL"]} == security["capabilities"]
        assert not security["allowPrivilegeEscalation"]


def test_the_pod_mounts_the_host_and_shares_documents() -> None:
    places = {
        name: {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        for name, container in containers().items()
    }
    assert {
        "exporter": {
            "host": "/host",
            "state": "/var/lib/ssd-exporter",
            "documents": "/run/ssd-smart-agent",
        },
        "smart-agent": {"devices": "/dev", "documents": "/run/ssd-smart-agent"},
    } == places
    # An emptyDir is writable for all users, and the agent refuses such a directory.
    assert all("hostPath" in volume for volume in daemonset()["volumes"])


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())
