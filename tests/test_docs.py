"""The documents name every flag, key, command and collector; what is missing is said."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.cli import command_parser, parser
from exporter.commands.registry import COMMANDS
from exporter.config.settings import COLLECTORS, Settings
from tests.test_layers import MAY_IMPORT

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])

FLAGS = [
    option
    for action in parser()._actions
    for option in action.option_strings
    if option.startswith("--") and not re.match(r"--(no-)?collector\.[a-z]+$", option)
]


def keys(record: Any, where: str = "") -> list[str]:
    """Every key of the file, dotted, but those under a name of the user's own."""
    found = []
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            found += keys(value, f"{where}{field.name}.")
        elif where:
            found.append(f"{where}{field.name}")
    return found


@pytest.mark.parametrize("flag", FLAGS)
def test_the_settings_have_every_flag(flag: str) -> None:
    assert f"`{flag}`" in SETTINGS, f"docs/settings.md does not name {flag}"


@pytest.mark.parametrize("key", keys(Settings()))
def test_the_settings_have_every_key_of_the_file(key: str) -> None:
    """In full, or by its last word in the row of its section."""
    section, _, last = key.rpartition(".")
    rows = [
        line for line in SETTINGS.splitlines() if line.startswith("|") and f"{section}." in line
    ]
    named = any(f"`{key}`" in row or f"`{last}`" in row for row in rows)
    assert named, f"docs/settings.md does not name {key}"


@pytest.mark.parametrize("section", ["collector", "device", "role"])
def test_the_settings_have_the_sections_that_take_names(section: str) -> None:
    assert f"`{section}.NAME" in SETTINGS, f"docs/settings.md does not name {section}.NAME"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_has_every_command(name: str) -> None:
    assert f"ssd-exporter {name}" in README, f"README.md does not name the command {name}"


@pytest.mark.parametrize("name", COLLECTORS)
def test_the_readme_has_every_collector(name: str) -> None:
    _, _, after = README.partition("\n## Collectors and metrics\n")
    table, _, _ = after.partition("\n## ")
    rows = [line for line in table.splitlines() if line.startswith(f"| `{name}` |")]
    assert len(rows) == 1, f"README.md has no row for the collector {name}"


#: Pages that speak of other programs' flags than theirs are tested with the programs: tests/stack.
OF_OURS = [path for path in DOCUMENTS if path.stem not in {"scale", "beside-node-exporter"}]


@pytest.mark.parametrize("document", OF_OURS, ids=lambda path: path.name)
def test_no_document_names_a_flag_that_is_none(document: Path) -> None:
    parsers = [parser(), *map(command_parser, COMMANDS)]
    known = {option for p in parsers for action in p._actions for option in action.option_strings}
    named = {
        flag.rstrip(".") for flag in re.findall(r"(?<![\w-])--[a-z][a-z.-]+", document.read_text())
    }
    invented = {flag for flag in named if flag not in known and flag not in OF_OTHER_PROGRAMS}
    assert set() == invented - {"--collector", "--no-collector"}


#: Flags in the documents that are git's, docker's, setpriv's, ...
OF_OTHER_PROGRAMS = {
    *("--service-name", "--group", "--scheme", "--listen-port", "--metrics-path", "--cluster"),
    *("--environment", "--username", "--password", "--metrics-mode", "--step"),
    *("--hosts", "--seconds", "--scrape", "--engine"),
    *("--allow-downgrades", "--configure", "--pending", "--now"),
    *("--inventory", "--check", "--diff", "--limit", "--extra-vars"),
    "--web.enable-otlp-receiver",
    *("--pid", "--net", "--network", "--read-only", "--rm", "--volume", "--user", "--pdeathsig"),
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_files_of_the_repository_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text())
    assert [] == [target for target in targets if not (document.parent / target).exists()]


DESIGN = (ROOT / "DESIGN.md").read_text()
PACKAGES = sorted(path.parent.name for path in (ROOT / "exporter").glob("*/__init__.py"))
TOP_MODULES = sorted(path.stem for path in (ROOT / "exporter").glob("[a-z]*.py"))


def test_the_design_lists_the_packages_in_the_order_of_their_imports() -> None:
    table = DESIGN[DESIGN.index("## Packages") : DESIGN.index("## Two processes")]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([a-z]+)/`", row)]
    assert PACKAGES == sorted(listed)
    for name in TOP_MODULES:
        assert f"`{name}`" in table, f"DESIGN.md does not name {name}"
    order = [name for name in MAY_IMPORT if name in PACKAGES]
    assert order == listed, "tests/test_layers.py has another order"


def test_the_modules_of_the_data_paths_exist() -> None:
    paths = DESIGN[DESIGN.index("## Six data paths") : DESIGN.index("## Rules")]
    named = re.findall(rf"\b(?:{'|'.join(PACKAGES)})/[a-z_/]+", paths)
    assert len(named) > 40
    assert [] == [name for name in named if not (ROOT / "exporter" / f"{name}.py").is_file()]


def test_every_make_target_of_the_documents_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {*re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
    documents = [*DOCUMENTS, ROOT / "rigs" / "README.md"]
    named = {
        (path.name, target)
        for path in documents
        for target in re.findall(r"`make ([a-z-]+)", path.read_text())
    }
    assert set() == {(name, target) for name, target in named if target not in targets}


def test_the_page_of_the_rigs_names_each_of_them() -> None:
    page = (ROOT / "rigs" / "README.md").read_text()
    folders = {path.parent.name for path in (ROOT / "rigs").glob("*/__init__.py")}
    assert set() == {name for name in folders if f"`{name}/`" not in page}
