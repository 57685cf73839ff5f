"""pyproject.toml sets the address of the project and its maintainer; all other files agree."""

import shutil
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.end_to_end.programs import need
from tests.processes import run_program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = Path(__file__).parents[1]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
ADDRESS = PROJECT["urls"]["Homepage"]
EMAIL = PROJECT["maintainers"][0]["email"]
INSTALLED = "file:///usr/share/ssd-exporter/alerts/runbooks"
NEW = "https://code.shop.test/storage/ssd-exporter"


@pytest.fixture(scope="module")
def names() -> set[str]:
    """The script and what it reads: the alerts, and all files that name the address."""
    need("git")
    named = ["-e", ADDRESS, "-e", EMAIL, "-e", INSTALLED, "-e", "/alerts/runbooks{{ end }}"]
    search = ["git", "grep", "--files-with-matches", "--fixed-strings", "--untracked", *named]
    files = run_program(search, cwd=TOP, check=True).stdout.splitlines()
    alerts = (str(path.relative_to(TOP)) for path in (TOP / "alerts").glob("*.yml"))
    return {*files, *alerts, "packaging/address.py"}


@pytest.fixture
def copy(names: set[str], tmp_path: Path) -> Path:
    """A copy of these files, which a test may change."""
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(TOP / name, tmp_path / name)
    return tmp_path


def address(root: Path, *arguments: str) -> CompletedProcess[str]:
    return run_program([sys.executable, root / "packaging" / "address.py", *arguments])


def naming(root: Path, *words: str) -> list[str]:
    """Places below a directory that have one of the words."""
    return [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "test_address.py"
        for line in path.read_text().splitlines()
        if any(word in line for word in words)
    ]


def test_all_files_have_the_address_and_the_maintainer_of_pyproject(copy: Path) -> None:
    done = address(copy)
    assert (0, "", "") == (done.returncode, done.stderr, done.stdout), "run `make address`"


def test_one_command_changes_the_address_everywhere(copy: Path) -> None:
    before = len(naming(copy, ADDRESS))
    done = address(copy, NEW)
    assert 0 == done.returncode, done.stderr
    left = [
        place for place in naming(copy, ADDRESS) if not place.startswith("packaging/address.py")
    ]
    assert [] == left, "add this place to PLACES of packaging/address.py"
    assert before <= len(naming(copy, NEW))
    assert [] == [place for place in naming(copy, INSTALLED) if "{{" in place]


def test_an_edit_of_the_maintainer_changes_it_everywhere(copy: Path) -> None:
    setting = copy / "pyproject.toml"
    setting.write_text(setting.read_text().replace(EMAIL, "ssd@shop.test"))
    assert 0 == address(copy).returncode
    assert [] == naming(copy, EMAIL), "add this place to PLACES of packaging/address.py"


def test_a_file_that_lost_its_place_is_reported(copy: Path) -> None:
    (copy / "README.md").write_text("# ssd-exporter\n")
    done = address(copy)
    assert 1 == done.returncode
    assert "no place found for\nREADME.md: " in done.stderr


@pytest.mark.parametrize("wrong", ["shop.test/ssd", "https://shop.test", 'https://a.test/x"y'])
def test_a_wrong_address_changes_nothing(copy: Path, wrong: str) -> None:
    done = address(copy, wrong)
    assert 1 == done.returncode
    assert "is not an address such as" in done.stderr
    assert 0 == address(copy).returncode


@pytest.mark.real
def test_with_an_address_the_runbook_links_of_the_alerts_lead_to_its_pages(copy: Path) -> None:
    """The stories state the link of each alert, and promtool compares them."""
    need("promtool")
    assert 0 == address(copy, NEW).returncode
    story = copy / "tests" / "alerts" / "stories" / "self-thresholds.yml"
    page = f"{NEW}/blob/HEAD/alerts/runbooks/SSDThresholdsMissing.md"
    assert page in story.read_text()
    done = run_program(["promtool", "test", "rules", story])
    assert 0 == done.returncode, done.stdout + done.stderr
