"""The Debian package: installation, upgrade, downgrade, removal and purge."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter import __version__
from tests.packaging import debian
from tests.packaging.root import Root, layered

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("as_root")]

MOST_BYTES = 15_000_000
NAME = "ssd-exporter"
CONFIG = "/etc/ssd-exporter/config.toml"
#: A change of the administrator, and a line that the next version appends.
MINE = "[log]\nformat = 'json'\n"
NEXT = "# A key of the next version.\n"
KEEP_SETTINGS = ("--force-confdef", "--force-confold")
UNITS = ("ssd-exporter.service", "ssd-smart-agent.service")

STATUS = "/var/lib/dpkg/status"
#: Dependencies of the package and of its maintainer scripts.
TAKES_PART = (
    *("systemd", "python3", "python3-minimal", "libc6", "libgcc-s1"),
    *("init-system-helpers", "passwd", "libc-bin"),
)

#: Files of dpkg, and files that it updates for all packages.
OF_DPKG = (
    "/var/lib/dpkg/",
    "/var/log/",
    "/var/cache/man/",
    "/var/cache/debconf/",
    "/var/lib/systemd/",
    "/etc/passwd",
    "/etc/group",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/subuid",
    "/etc/subgid",
    "/etc/.pwd.lock",
)


@pytest.fixture(scope="module")
def installed(package: Path) -> Iterator[Root]:
    """A root with the package, for tests that change nothing."""
    with layered() as made:
        made.write(STATUS, of_few_packages(Path(STATUS).read_text()))
        made.install(package)
        yield made


def of_few_packages(status: str) -> str:
    """Reduces dpkg's list to involved packages, because dpkg reads all file lists at every run."""
    stanzas = {text.split("\n", 1)[0]: text for text in status.split("\n\n") if text.strip()}
    return "".join(f"{stanzas[line]}\n\n" for line in map("Package: {}".format, TAKES_PART))


@pytest.fixture
def root(installed: Root) -> Iterator[Root]:
    """A root with the package, which tests may change."""
    with layered(installed) as made:
        yield made


@pytest.fixture
def upgraded(root: Root, later: Path) -> Root:
    """An upgrade to the next version with modified settings."""
    root.write(CONFIG, MINE)
    root.write("/etc/default/ssd-exporter", "ARGS='--log.level=debug'\n")
    root.write("/var/lib/ssd-exporter/state.json", "{}")
    root.install(later, *KEEP_SETTINGS)
    return root


@pytest.fixture(scope="session")
def later(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A later version with other default settings and one more module."""

    def change(tree: Path) -> None:
        config = tree / CONFIG.lstrip("/")
        config.write_text(config.read_text() + NEXT)
        (tree / "usr/lib/ssd-exporter/exporter/of_the_next_version.py").write_text("")

    return debian.later(package, "99.1", tmp_path_factory.mktemp("later"), change)


def status(root: Root) -> str:
    return root.run("dpkg-query", "-W", "-f=${db:Status-Status} ${Version}", NAME).stdout


def verified(root: Root) -> list[str]:
    """One line for each file that differs from the package."""
    return root.run("dpkg", "--verify", NAME).stdout.splitlines()


def test_the_package_is_small(package: Path) -> None:
    assert package.stat().st_size <= MOST_BYTES


def test_it_installs_offline_and_runs(installed: Root) -> None:
    assert f"installed {__version__}" == status(installed)
    assert f"{NAME} {__version__}\n" == installed.do(NAME, "--version")
    checked = installed.do(NAME, "--config.check", f"--config.file={CONFIG}")
    assert "the configuration is valid\n" == checked
    assert "ssd_exporter_build_info{" in installed.do(NAME, "--once")


def test_it_uses_only_its_bundled_libraries(root: Root) -> None:
    """Other versions on the host and PYTHONPATH of the caller have no effect."""
    names = "bcrypt, chardet, humanfriendly, prometheus_client, psutil, pySMART, rich, tomli, yaml"
    code = f"import {names}; print(*sorted(m.__file__ for m in ({names})), sep='\\n')"
    launcher = root.text("/usr/bin/ssd-exporter")
    assert launcher.startswith("#!/usr/bin/python3 -IS\n")
    script = launcher.replace("from exporter.cli import main", code).replace("sys.exit(main())", "")
    assert script != launcher
    root.write("/var/tmp/libraries", script)
    found = root.do("env", "PYTHONPATH=/nowhere", "python3", "-IS", "/var/tmp/libraries")
    assert 9 == len(found.splitlines())
    assert all(line.startswith("/usr/lib/ssd-exporter/") for line in found.splitlines())


def test_reports_have_colours_with_the_part_of_rich_that_is_bundled(root: Root) -> None:
    """rich's dependencies are not bundled."""
    code = (
        "import io; from exporter.report import rich_output as r;"
        " from exporter.report.content import Report, Table;"
        " out = io.StringIO();"
        " r.write(Report('T', 'V', (), (Table('t', ('a',), (('b',),)),), ('n',), {}), out);"
        " bar = r.ColouredBar(out); bar.show('x', 0.5); bar.close(); print(out.getvalue())"
    )
    launcher = root.text("/usr/bin/ssd-exporter")
    script = launcher.replace("from exporter.cli import main", code).replace("sys.exit(main())", "")
    root.write("/var/tmp/report", script)
    assert ["T", "", "V", "", "t"] == root.do("python3", "-IS", "/var/tmp/report").split("\n")[:5]


def test_the_last_lines_of_the_installation_say_what_to_do_next(package: Path) -> None:
    with layered() as made:
        made.write(STATUS, of_few_packages(Path(STATUS).read_text()))
        first = made.install(package).splitlines()
        again = made.install(package)
    assert "http://127.0.0.1:10177/" in first[-2]
    assert "ssd-exporter check" in first[-2]
    assert "sudo ssd-exporter enable-probes" in first[-1]
    assert "enable-probes" not in again


@pytest.mark.parametrize("document", ["README.md", "docs/gallery.md", "docs/probes.md"])
def test_links_of_installed_documents_lead_somewhere(installed: Root, document: str) -> None:
    place = installed.layer / "usr/share/doc/ssd-exporter" / document
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", place.read_text())
    assert targets
    assert [] == [target for target in targets if not (place.parent / target).exists()]


def test_all_modules_are_compiled_and_files_match_the_package(installed: Root) -> None:
    assert installed.has("/usr/lib/ssd-exporter/exporter/__pycache__")
    assert [] == verified(installed)


def test_the_user_and_the_units_exist(installed: Root) -> None:
    user = installed.do("getent", "passwd", NAME).strip().split(":")
    group = installed.do("getent", "group", NAME).strip().split(":")
    assert "/var/lib/ssd-exporter" == user[5]
    assert user[6].endswith("nologin")
    assert group[2] == user[3]
    for unit in UNITS:
        assert "enabled" == installed.do("systemctl", "--root=/", "is-enabled", unit).strip()


def test_files_are_at_conventional_paths(installed: Root) -> None:
    for path in (
        "/usr/share/man/man1/ssd-exporter.1.gz",
        "/usr/share/man/man1/ssd-exporter-check.1.gz",
        "/usr/share/fish/vendor_completions.d/ssd-exporter.fish",
        "/usr/share/zsh/vendor-completions/_ssd-exporter",
        "/usr/share/bash-completion/completions/ssd-exporter",
        "/usr/share/doc/ssd-exporter/README.md",
        "/usr/share/doc/ssd-exporter/docs/settings.md",
        "/usr/share/doc/ssd-exporter/examples/latency.conf",
        "/usr/share/doc/ssd-exporter/examples/probe.conf",
        "/usr/share/ssd-exporter/alerts/smart.yml",
        "/usr/share/ssd-exporter/alerts/runbooks/SSDDriveFailing.md",
        "/usr/share/ssd-exporter/dashboards/drive.json",
        "/usr/share/ssd-exporter/dashboards/kustomization.yaml",
        "/usr/share/doc/ssd-exporter/docs/grafana-import/drive.json",
        "/etc/default/ssd-exporter",
        CONFIG,
    ):
        assert installed.has(path), path


def test_upgrade_and_downgrade_keep_modified_settings(upgraded: Root, package: Path) -> None:
    assert "installed 99.1" == status(upgraded)
    assert f"{NAME} 99.1\n" == upgraded.do(NAME, "--version")
    assert upgraded.text(f"{CONFIG}.dpkg-dist").endswith(NEXT)
    assert has_my_settings(upgraded)

    upgraded.install(package, *KEEP_SETTINGS)

    assert f"{NAME} {__version__}\n" == upgraded.do(NAME, "--version")
    assert has_my_settings(upgraded)
    assert [] == [path for path in upgraded.written() if "of_the_next_version" in path]
    changed = {line.split()[-1] for line in verified(upgraded)}
    assert {CONFIG, "/etc/default/ssd-exporter"} == changed


def has_my_settings(root: Root) -> bool:
    """True if the modified settings of `upgraded` and the state exist."""
    return (
        root.text(CONFIG) == MINE
        and "debug" in root.text("/etc/default/ssd-exporter")
        and root.has("/var/lib/ssd-exporter/state.json")
    )


def test_an_upgrade_replaces_unmodified_settings_and_keeps_a_unit_disabled(
    root: Root, later: Path
) -> None:
    root.do("systemctl", "--root=/", "disable", "ssd-smart-agent.service")
    root.install(later)
    assert root.text(CONFIG).endswith(NEXT)
    states = [root.run("systemctl", "--root=/", "is-enabled", u).stdout.strip() for u in UNITS]
    assert ["enabled", "disabled"] == states


def test_removal_keeps_settings_and_state(root: Root) -> None:
    root.write("/var/lib/ssd-exporter/state.json", "{}")
    root.do("dpkg", "--remove", NAME)

    assert status(root).startswith("config-files")
    left = {path for path in root.written() if not path.startswith(OF_DPKG)}
    assert {
        CONFIG,
        "/etc/default/ssd-exporter",
        "/var/lib/ssd-exporter/state.json",
    } == {path for path in left if "systemd" not in path}


def test_purge_removes_everything(upgraded: Root) -> None:
    root = upgraded
    root.write("/etc/ssd-exporter/web.yml", "basic_auth_users: {}\n")
    root.do(NAME, "--once")
    root.do("dpkg", "--purge", NAME)

    assert set() == {path for path in root.written() if not path.startswith(OF_DPKG)}
    named = [path for path in root.written() if NAME in path or "ssd-smart-agent" in path]
    assert [] == named
    for accounts in ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"):
        assert Path(accounts).read_text() == root.text(accounts)
    for directory in ("/etc/ssd-exporter", "/var/lib/ssd-exporter", "/usr/lib/ssd-exporter"):
        assert not root.has(directory)


def test_purge_keeps_foreign_files_and_it_can_be_reinstalled(root: Root, package: Path) -> None:
    root.write("/etc/ssd-exporter/key.pem", "secret")
    done = root.run("dpkg", "--purge", NAME)

    assert 0 == done.returncode
    assert "secret" == root.text("/etc/ssd-exporter/key.pem")
    assert "/etc/ssd-exporter" in done.stdout + done.stderr

    root.install(package)
    assert f"installed {__version__}" == status(root)
