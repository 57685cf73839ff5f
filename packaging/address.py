"""Writes the address of the project and its maintainer to every file that names them.

Both are set in pyproject.toml: Homepage of [project.urls], and maintainers. With an argument, the
script first sets Homepage to it. `make address` runs this script, and tests/test_address.py tests
that no other file of the repository names them.
"""
# ruff: noqa: INP001  a build script outside of any package

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TOP = Path(__file__).parents[1]
SETTING = Path("pyproject.toml")

#: The runbooks that the packages install. Alerts link to them as long as the address is the
#: placeholder, to which a link would lead nowhere.
INSTALLED_RUNBOOKS = "file:///usr/share/ssd-exporter/alerts/runbooks"
PLACEHOLDER = "https://example.org/"

#: For each file, or all files of a pattern: regular expressions, and the value that replaces their
#: group.
PLACES: dict[str, dict[str, str]] = {
    "pyproject.toml": {
        r'^Issues = "(\S+)/issues"$': "address",
        r'^Changelog = "(\S+)/blob/HEAD/CHANGELOG.md"$': "address",
    },
    "exporter/__init__.py": {r'^ADDRESS = "(\S+)"$': "address"},
    "README.md": {r"^\$ git clone (\S+)": "address"},
    "CONTRIBUTING.md": {r"^\$ git clone (\S+)": "address"},
    "SECURITY.md": {r"<(\S+)/security/advisories/new>": "address", r"<(\S+@\S+)>": "email"},
    "Dockerfile": {
        r'image\.(?:url|source)="(\S+?)"': "address",
        r'image\.documentation="(\S+?)/blob/': "address",
    },
    "container/helm/ssd-exporter/Chart.yaml": {
        r"^home: (\S+)$": "address",
        r"\{name: (.+?), email:": "person",
        r"email: (\S+)\}$": "email",
    },
    "packaging/debian/control": {
        r"^Homepage: (\S+)$": "address",
        r"^Maintainer: (.+)$": "maintainer",
    },
    "packaging/debian/copyright": {r"^Source: (\S+)$": "address"},
    ".github/CODEOWNERS": {r"^\* (\S+)$": "email"},
    ".github/ISSUE_TEMPLATE/config.yml": {r"\burl: (\S+?)/(?:blob|security)/": "address"},
    "alerts/*.yml": {
        r"\{\{ else \}\}(\S+/runbooks)\{\{ end \}\}/SSD\w+\.md$": "runbooks",
    },
    "tests/alerts/stories/*.yml": {
        r"runbook_url: >-\n +(\S+/runbooks)/SSD\w+\.md$": "runbooks",
    },
    "alerts/README.md": {r"^`(\S+/runbooks)/NAME\.md`": "runbooks"},
}


def values() -> dict[str, str]:
    """Returns what each kind of place must contain."""
    project = tomllib.loads((TOP / SETTING).read_text("utf-8"))["project"]
    address = project["urls"]["Homepage"]
    (person,) = project["maintainers"]
    is_chosen = not address.startswith(PLACEHOLDER)
    return {
        "address": address,
        "email": person["email"],
        "person": person["name"],
        "maintainer": f"{person['name']} <{person['email']}>",
        "runbooks": f"{address}/blob/HEAD/alerts/runbooks" if is_chosen else INSTALLED_RUNBOOKS,
    }


def choose(address: str) -> None:
    """Sets Homepage in pyproject.toml."""
    if not re.fullmatch(r"https://[\w.-]+(?::\d+)?(?:/[\w.~-]+)+", address):
        sys.exit(f"address.py: {address!r} is not an address such as https://github.com/OWNER/NAME")
    path = TOP / SETTING
    text = path.read_text("utf-8")
    path.write_text(re.sub(r'(?m)^Homepage = ".*"$', f'Homepage = "{address}"', text), "utf-8")


def rewritten(text: str, expression: str, value: str) -> tuple[str, int]:
    """Returns a text with the value in place of each group, and the number of places."""
    return re.subn(
        f"(?m){expression}",
        lambda match: match[0].replace(match[1], value, 1),
        text,
    )


def write() -> list[str]:
    """Rewrites the files, and returns the places that a file lacks."""
    wanted = values()
    missing = []
    for pattern, expressions in PLACES.items():
        found = dict.fromkeys(expressions, 0)
        for path in sorted(TOP.glob(pattern)):
            before = text = path.read_text("utf-8")
            for expression, kind in expressions.items():
                text, count = rewritten(text, expression, wanted[kind])
                found[expression] += count
            if text != before:
                path.write_text(text, "utf-8")
                sys.stdout.write(f"{path.relative_to(TOP)}\n")
        missing += [f"{pattern}: {expression}" for expression, count in found.items() if not count]
    return missing


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1]:
        choose(sys.argv[1])
    lacking = write()
    if lacking:
        sys.exit("\n".join(["address.py: no place found for", *lacking]))
