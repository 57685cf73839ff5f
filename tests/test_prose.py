"""Rules of CONTRIBUTING.md for names and prose that a program can check."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "exporter"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Packages whose public functions state what they return, in which unit, and the source.
DOCUMENTED = ("drives", "io", "probe", "smart", "wear")

#: A folder with more modules cannot be read at a glance.
MAX_MODULES = 26

#: Words and turns that made sentences of this project hard to read.
UNCLEAR = re.compile(
    r"\b(anew|nobody|whoever|convicts?|fares?|of then|is no [a-z]+ (of|for|to)|tells? of|mended)\b",
    re.IGNORECASE,
)
TEXTS = sorted(
    path
    for pattern in (
        *("exporter/**/*.py", "dashboards/*.py", "alerts/*.yml", "alerts/**/*.md", "docs/**/*.md"),
        *(
            "systemd/*.md",
            "packaging/*.md",
            "container/**/*.md",
            "rigs/**/*.md",
            "tests/**/*.md",
            "*.md",
        ),
    )
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_text_has_no_unclear_turns(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [] == [f"{n}: {line.strip()}" for n, line in enumerate(lines, 1) if UNCLEAR.search(line)]


def protocol_methods(folder: Path) -> set[str]:
    """The methods of the protocols of a package, which are described there and not again."""
    return {
        method.name
        for path in folder.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    }


def undocumented(path: Path) -> Iterator[str]:
    """Public functions, classes and methods of a module that have no docstring."""
    described = protocol_methods(path.parent)
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield node.name
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            if (
                isinstance(method, ast.FunctionDef)
                and not method.name.startswith("_")
                and method.name not in described
                and ast.get_docstring(method) is None
            ):
                yield f"{node.name}.{method.name}"


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if path.relative_to(PACKAGE).parts[0] in DOCUMENTED],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_a_public_name_has_a_docstring(path: Path) -> None:
    assert [] == list(undocumented(path))


def test_every_module_has_a_docstring() -> None:
    assert [] == [path for path in MODULES if not ast.get_docstring(ast.parse(path.read_text()))]


def test_no_class_name_is_used_twice() -> None:
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    )
    assert [] == [name for name, count in names.items() if count > 1]


def test_no_module_name_is_used_twice() -> None:
    names = Counter(path.stem for path in MODULES if not path.stem.startswith("__"))
    names.update(folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists())
    assert [] == [name for name, count in names.items() if count > 1]


def test_a_folder_can_be_read_at_a_glance() -> None:
    counts = Counter(path.parent.name for path in MODULES)
    assert {} == {name: count for name, count in counts.items() if count > MAX_MODULES}
