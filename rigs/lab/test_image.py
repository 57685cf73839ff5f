"""Builds the Dockerfile and runs the image with the flags of the README.

The base image is built from Debian packages, because there is no registry. Networks between
containers and memory limits are not tested.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter import __version__
from exporter.config.profiles import Engine as Profiled
from rigs.lab.containers import Engine, engine
from tests.duration import PATIENCE_SECONDS, at_most, wait_until
from tests.end_to_end.page import Page
from tests.end_to_end.programs import need
from tests.image.files import CONTAINER, documented_runs
from tests.required import lacking

#: Two builds take at least a minute each on shared cores.
pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

WITHOUT, WITH = "localhost/ssd-exporter:without-fio", "localhost/ssd-exporter:with-fio"
MEGABYTE = 1_000_000

#: Address inside the container, which has its own loopback.
ASK = (
    "import sys, urllib.request as r;"
    "sys.stdout.buffer.write(r.urlopen('http://127.0.0.1:10177/metrics').read())"
)

#: Flags that this machine does not support: bridge network, cgroup limits, drives of the README,
#: restart.
LEFT_OUT = ("--publish", "--memory", "--device", "--restart", "--name", "--detach", "...")

VALIDATOR = "kubernetes-validate==1.37.0"


@pytest.fixture(scope="module")
def built() -> Iterator[Engine]:
    need("podman", "buildah", "runc", "mmdebstrap")
    if os.geteuid() != 0:
        lacking("only root builds an image here")
    with engine() as found:
        # First without fio: its build stage is reused.
        found.build(WITHOUT, "--build-arg=FIO=no")
        found.build(WITH)
        yield found


@pytest.fixture
def containers(built: Engine) -> Iterator[Engine]:
    yield built
    built.remove_all()


#: Commands of the README in order.
EXPORTER, AGENT, BOTH = range(3)


def documented(which: int) -> list[str]:
    """Flags of a command of the README that this machine supports."""
    flags, _ = list(documented_runs())[which]
    kept = [flag for flag in flags if not flag.startswith(LEFT_OUT)]
    return kept if "--network=none" in kept else [*kept, "--network=none"]


def page(at: Engine, name: str) -> Page:
    done = at.execute(name, "python3", "-c", ASK)
    assert done.returncode == 0, done.stderr + at.log(name)
    return Page.parse(done.stdout)


def await_page(at: Engine, name: str, seconds: float = PATIENCE_SECONDS) -> Page:
    end = time.monotonic() + seconds
    while at.execute(name, "ssd-exporter-health").returncode != 0:
        assert time.monotonic() < end, at.log(name)
        time.sleep(0.2)
    return page(at, name)


def ends_soon(at: Engine, name: str) -> None:
    """Asserts that the process ends within a second after SIGTERM."""
    pid = at.pid(name)
    with at_most(1, "the end"):
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the end")


def rights(at: Engine, name: str) -> int:
    """Bounding set of process 1."""
    status = Path(f"/proc/{at.pid(name)}/status").read_text()
    return int(status.partition("CapBnd:")[2].split()[0], 16)


def drives() -> set[str]:
    found = {each.name for each in Path("/sys/block").iterdir()}
    return {each for each in found if not each.startswith(("loop", "ram", "zram", "sr", "fd"))}


def test_the_image_size_is_within_limits(built: Engine) -> None:
    sizes = {tag: built.size(tag) for tag in (WITHOUT, WITH)}
    print({tag: f"{size / MEGABYTE:.0f} MB" for tag, size in sizes.items()})
    assert sizes[WITHOUT] <= 150 * MEGABYTE
    assert sizes[WITH] <= 156 * MEGABYTE


def test_fio_has_the_engines_of_all_profiles(containers: Engine) -> None:
    """It is built without the client libraries of Ceph, Gluster and RDMA."""
    containers.start("fio", "--network=none", "--entrypoint=sleep", WITH, "1000")
    done = containers.execute("fio", "fio", "--enghelp")
    assert {each.value for each in Profiled} <= set(done.stdout.split())
    for each in (Profiled.PSYNC, Profiled.LIBAIO):
        job = ["--name=x", "--direct=1", "--rw=randrw", "--size=1M", f"--ioengine={each.value}"]
        done = containers.execute("fio", "fio", *job, "--filename=/var/lib/ssd-exporter/file")
        assert 0 == done.returncode, done.stderr


def test_the_image_has_labels_and_no_unneeded_files(
    containers: Engine,
) -> None:
    version = containers.labels(WITH)["org.opencontainers.image.version"]
    assert __version__ == version
    containers.start("here", *documented(EXPORTER), WITH)
    done = containers.execute("here", "find", "/src", "/usr/lib/ssd-exporter", "-name", "tests")
    assert "" == done.stdout
    done = containers.execute("here", "ls", "/usr/share/ssd-exporter")
    assert ["alerts", "dashboards"] == done.stdout.split()


@pytest.mark.parametrize(("tag", "has_fio"), [(WITHOUT, False), (WITH, True)])
def test_an_unprivileged_container_exports_disks_and_stops_immediately(
    containers: Engine, tag: str, has_fio: bool
) -> None:
    containers.start("exporter", *documented(EXPORTER), tag)
    found = await_page(containers, "exporter")
    for drive in drives():
        counted = found.value("ssd_disk_reads_completed_total", device=drive)
        line = next(
            line.split()
            for line in Path("/proc/diskstats").read_text().splitlines()
            if line.split()[2] == drive
        )
        assert 0 < counted <= int(line[3]) or counted == int(line[3]) == 0
    ((build, _),) = found.find("ssd_exporter_build_info")
    assert has_fio == bool(build["fio"])
    assert __version__ == build["version"]
    assert 0 == rights(containers, "exporter")
    containers.podman("healthcheck", "run", "exporter")
    ends_soon(containers, "exporter")
    assert "0" == containers.podman("inspect", "--format={{.State.ExitCode}}", "exporter").strip()


def test_a_stopped_process_is_unhealthy(containers: Engine) -> None:
    containers.start("exporter", *documented(EXPORTER), WITH)
    await_page(containers, "exporter")
    pid = containers.pid("exporter")
    os.kill(pid, signal.SIGSTOP)
    try:
        done = containers.execute("exporter", "ssd-exporter-health")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert (1, "127.0.0.1:10177: timed out") == (done.returncode, done.stderr.strip())


def test_two_containers_for_exporter_and_agent(containers: Engine) -> None:
    _, arguments = list(documented_runs())[AGENT]
    containers.start("agent", *documented(AGENT), WITH, *arguments)
    documents = "--volume=ssd-documents:/run/ssd-smart-agent:ro"
    containers.start("exporter", *documented(EXPORTER), documents, WITH)
    found = await_page(containers, "exporter")
    # The page is available before the first poll document.
    end = time.monotonic() + PATIENCE_SECONDS
    while found.value("ssd_collector_success", collector="smart") == 0:
        assert time.monotonic() < end, containers.log("exporter") + containers.log("agent")
        time.sleep(0.5)
        found = page(containers, "exporter")
    assert found.value("ssd_smart_agent_heartbeat_timestamp_seconds") > time.time() - 60
    assert "SMART data comes from the agent" in containers.log("exporter")

    # CAP_SYS_RAWIO and CAP_SYS_ADMIN: linux/capability.h.
    assert (0, 1 << 17 | 1 << 21) == (
        rights(containers, "exporter"),
        rights(containers, "agent"),
    )
    containers.podman("healthcheck", "run", "agent")
    ends_soon(containers, "agent")


def test_one_privileged_container_polls_drives(containers: Engine) -> None:
    _, arguments = list(documented_runs())[BOTH]
    containers.start("exporter", *documented(BOTH), WITH, *arguments)
    found = await_page(containers, "exporter")
    assert 1 == found.value("ssd_collector_success", collector="smart")
    done = containers.execute("exporter", "ssd-exporter", "check", *arguments)
    for drive in drives():
        assert drive in done.stdout


def test_the_init_container_changes_the_owner_of_a_host_directory(
    containers: Engine, tmp_path: Path
) -> None:
    """Runs the init container of the DaemonSet twice, because a pod may start more than once."""
    for name in ("first", "again"):
        containers.start(
            name,
            "--user=0",
            "--network=none",
            "--read-only",
            "--cap-drop=ALL",
            "--cap-add=CHOWN",
            "--cap-add=FOWNER",
            f"--volume={tmp_path}:/var/lib/ssd-exporter",
            "--entrypoint=install",
            WITH,
            *("--directory", "--owner=10177", "--group=10177", "--mode=770"),
            "/var/lib/ssd-exporter",
        )
        assert "0" == containers.podman("wait", name).strip()
        found = tmp_path.stat()
        assert (10177, 10177, 0o770) == (found.st_uid, found.st_gid, found.st_mode & 0o777)


def test_the_daemonset_matches_the_kubernetes_schema(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The schemas of all versions take 100 MB and are not part of `make dev`."""
    place = tmp_path_factory.mktemp("validator")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--target",
        str(place),
    ]
    subprocess.run([*pip, VALIDATOR], check=True, stderr=subprocess.DEVNULL)
    # The oldest maintained version, and the newest available one.
    for version in ("1.28", "1.37"):
        argv = ["-m", "kubernetes_validate", "--strict", "--kubernetes-version", version]
        done = subprocess.run(
            [sys.executable, *argv, CONTAINER / "kubernetes" / "daemonset.yml"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(place)},
        )
        said = done.stdout + done.stderr
        assert 0 == done.returncode, said
        assert 3 == said.count(" passed for resource "), said
