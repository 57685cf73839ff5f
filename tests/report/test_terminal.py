"""The report in a terminal, with and without rich."""

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

from exporter.report import terminal, text_chart
from exporter.report.content import Chart, Mark, Report
from tests.duration import PATIENCE_SECONDS
from tests.report import examples, reports
from tests.report.screens import Screen, without_colours

ROOT = Path(__file__).parents[2]

#: Prints the example of the first argument. A second argument prevents the import of rich.
PRINTS = """
import sys
if sys.argv[2:] == ["without"]:
    sys.modules["rich"] = None
from exporter.report import terminal
from tests.report import examples
terminal.write(getattr(examples, sys.argv[1])(), sys.stdout)
"""


def in_terminal(*arguments: str, **environment: str) -> str:
    """Returns the output of a child process on its own terminal of 80 columns."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "COLUMNS": "80", "TERM": "xterm-256color", **environment}
    argv = [sys.executable, "-c", PRINTS, *arguments]
    child = subprocess.Popen(argv, cwd=ROOT, env=variables, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 65536):
            said += chunk
    except OSError:  # Linux returns EIO if the other end is closed
        pass
    os.close(ours)
    assert 0 == child.wait(timeout=PATIENCE_SECONDS), said.decode()
    return said.decode().replace("\r\n", "\n")


def plainly(report: Report) -> str:
    out = io.StringIO()
    terminal.write(report, out)
    return out.getvalue()


def test_a_pipe_gets_plain_text_with_the_verdict_on_top() -> None:
    lines = plainly(examples.write_cache()).splitlines()
    assert "Write cache of nvme0n1" == lines[0]
    assert lines[3].startswith("The write cache ends after 38 GB")
    assert "phase            from       to  throughput" in lines
    assert "in the cache     0 GB  38.0 GB   2.08 GB/s" in lines
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("rich", [(), ("without",)], ids=["with rich", "without rich"])
@pytest.mark.parametrize("name", ["write_cache", "steady_state", "matrix"])
def test_a_terminal_of_80_columns_shows_all_of_it(name: str, rich: tuple[str, ...]) -> None:
    said = in_terminal(name, *rich)
    assert bool(rich) == ("\x1b[" not in said)
    lines = without_colours(said).splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    report: Report = getattr(examples, name)()
    for words in (report.title, report.verdict, report.facts[1][1], report.notes[0]):
        assert words in text


def test_no_color_disables_colours() -> None:
    said = in_terminal("write_cache", NO_COLOR="1")
    assert "\x1b[3" not in said


def test_a_terminal_of_another_encoding_gets_plain_text_in_it() -> None:
    said = in_terminal("steady_state", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "47.8 us" in said
    assert said.isascii()


def test_a_model_name_cannot_control_the_terminal() -> None:
    for rich in ((), ("without",)):
        assert r"<script>alert(1)</script>\x1b[31m & co" in without_colours(
            in_terminal("matrix", *rich)
        )


def test_a_model_name_is_not_parsed_as_markup() -> None:
    screen = Screen()
    name = "[bold]x[/bold] :smile: [link=a]"
    terminal.write(Report(name, name, ((name, name),), (), (name,), {}), screen)
    assert 5 == without_colours(screen.getvalue()).count(name)


def test_the_plot_shows_the_cliff_at_its_place() -> None:
    part = examples.write_cache().parts[0]
    assert isinstance(part, Chart)
    lines = text_chart.text(part, 80).splitlines()
    fast = next(line for line in lines if line.startswith("2.0 GB/s"))
    slow = next(line for line in lines if line.startswith("0.5 GB/s"))
    assert fast.count("*") > 25
    assert fast.rindex("*") < slow.index("*")
    assert "  |  end of the write cache, 38 GB" in lines


def test_the_legend_has_the_position_of_a_mark_without_it_in_its_name() -> None:
    part = examples.write_cache().parts[0]
    assert isinstance(part, Chart)
    chart = Chart("t", "x", "y", part.lines, (Mark(12e9, "folding"),), x_unit="B")
    assert "  |  folding (at 12 GB)" in text_chart.text(chart, 80).splitlines()


@given(reports.reports)
def test_any_report_is_written_plainly(report: Report) -> None:
    for line in plainly(report).split("\n"):
        assert line == "" or line.isprintable()


@given(reports.reports)
def test_any_report_is_written_to_a_terminal(report: Report) -> None:
    for encoding in ("utf-8", "ascii"):
        screen = Screen(encoding)
        terminal.write(report, screen)
        shown = without_colours(screen.getvalue())
        assert all(line == "" or line.isprintable() for line in shown.split("\n"))


@given(reports.charts)
def test_any_plot_keeps_within_its_width(chart: Chart) -> None:
    drawn = text_chart.text(chart, 80).split("\n")
    for line in drawn[1:14]:
        assert len(line) <= 80
