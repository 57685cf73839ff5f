"""The real command reads documents from a pipe and from files, as an unprivileged user would."""

import json
import subprocess
import sys
from pathlib import Path

from tests.drives import reports
from tests.drives.smartctl_printing import printed

COMMAND = (sys.executable, "-m", "exporter", "read")
UNREADABLE = "this is not the output of smartctl\n"


def test_documents_are_piped_through_the_command() -> None:
    documents = json.dumps(reports.nvme()) + "\n" + UNREADABLE + json.dumps(reports.ata()) + "\n"
    done = subprocess.run(
        [*COMMAND, "--json"],
        input=documents.encode(),
        capture_output=True,
        check=False,
    )
    assert (1, b"") == (done.returncode, done.stderr)
    nvme, unreadable, ata = map(json.loads, done.stdout.splitlines())
    assert 0.42 == nvme["endurance_used_ratio"]["value"]
    assert "error" in unreadable
    assert reports.ata()["model_name"] == ata["device"]["model"]


def test_a_text_file_is_shown_as_a_table_with_sources(tmp_path: Path) -> None:
    file = tmp_path / "sas.txt"
    file.write_text(printed(reports.scsi()))
    done = subprocess.run([*COMMAND, str(file)], capture_output=True, check=False, text=True)
    assert (0, "") == (done.returncode, done.stderr)
    assert "EXAMPLE SASSSD800" in done.stdout
    # A source that is too long for 80 columns goes on in the next line.
    assert "scsi_log: percentage used endurance indicator" in " ".join(done.stdout.split())


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text((json.dumps(reports.nvme()) + "\n") * 2000)
    with subprocess.Popen(
        [*COMMAND, "--json", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"{")
        process.stdout.close()
        assert b"" == process.stderr.read()
        assert 0 == process.wait(60)


def test_without_standard_input_files_are_read_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "nvme.json"
    file.write_text(json.dumps(reports.nvme()))
    closed = ("sh", "-c", 'exec "$@" <&-', "sh", *COMMAND)
    assert 0 == subprocess.run([*closed, str(file)], capture_output=True, check=False).returncode
    done = subprocess.run(closed, capture_output=True, check=False, text=True)
    assert (2, "") == (done.returncode, done.stdout)
    assert "standard input is closed; name a FILE" in done.stderr
