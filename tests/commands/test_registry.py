"""The list of commands, and that only the module of the running command is imported."""

import sys

import pytest

from exporter.commands.registry import COMMANDS
from tests.processes import run_program


@pytest.mark.parametrize("name", COMMANDS)
def test_each_listed_command_has_a_description_and_a_summary(name: str) -> None:
    description = COMMANDS[name].load().description
    assert description.endswith(".")
    assert COMMANDS[name].summary[:1].islower()


def test_the_command_line_imports_no_module_of_a_command() -> None:
    program = (
        "import sys, exporter.cli; exporter.cli.parser();"
        "print(sorted(m for m in sys.modules if m.startswith('exporter.commands.')))"
    )
    done = run_program([sys.executable, "-c", program], check=True)
    assert "['exporter.commands.registry']" == done.stdout.strip()
