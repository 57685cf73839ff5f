"""The workflows and forms of .github call what exists, with the least rights."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from exporter.cli import command_parser
from exporter.commands.registry import COMMANDS
from tests.end_to_end.programs import need
from tests.processes import run_program

ROOT = Path(__file__).parents[1]
HOST = ROOT / ".github"
FORMS = sorted(path for path in (HOST / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in HOST.glob("workflows/*.yml")}
SOURCES = {path.stem: path.read_text() for path in HOST.glob("workflows/*.yml")}
MAKEFILE = (ROOT / "Makefile").read_text()

#: A commit of an action, with the tag that it has.
PINNED = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, workflow in WORKFLOWS.items():
        for job, content in workflow["jobs"].items():
            yield f"{name}/{job}", content


def calls(job: dict[str, Any]) -> Iterator[list[str]]:
    """The arguments of each call of make, with the values of the matrix in place."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for step in job["steps"]:
        for line in re.findall(r"\.github/debian\.sh (.*)", step.get("run", "")):
            arguments = line.partition(" 2>&1")[0]
            if arguments.startswith('"$'):
                (words,) = matrix.values()
                yield from (word.split() for word in words)
            else:
                yield arguments.split()


CALLS = [(name, call) for name, job in jobs() for call in calls(job)]


@pytest.mark.parametrize(("job", "call"), CALLS, ids=str)
def test_a_workflow_calls_a_target_of_the_makefile(job: str, call: list[str]) -> None:
    target, *variables = call
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"{job}: make {target}"
    for variable in variables:
        name = variable.partition("=")[0]
        assert f"$({name})" in MAKEFILE, f"{job}: {variable} has no effect"


def test_the_jobs_of_a_change_are_the_steps_of_the_script_for_developers() -> None:
    steps = re.findall(r"(?m)^make (.*)$", (ROOT / ".ci" / "run").read_text())
    assert steps == [" ".join(call) for job, call in CALLS if job == "ci/make"]


def test_the_run_that_the_rigs_want_every_night_is_in_the_nightly_workflow() -> None:
    page = (ROOT / "rigs" / "README.md").read_text()
    nightly = re.findall(r"`make ([a-z-]+)[^|]*, every night", page)
    assert nightly
    assert {*nightly} <= {target for job, (target, *_) in CALLS if job == "nightly/night"}


@pytest.mark.parametrize("name", SOURCES)
def test_actions_are_pinned_to_a_commit_and_keep_no_credentials(name: str) -> None:
    used = re.findall(r"(?m)uses: (.*)$", SOURCES[name])
    assert used
    assert [] == [action for action in used if not PINNED.fullmatch(action)]
    checkouts = [
        step
        for job in WORKFLOWS[name]["jobs"].values()
        for step in job["steps"]
        if "actions/checkout@" in step.get("uses", "")
    ]
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_one_action_has_one_commit() -> None:
    used = {
        tuple(action.split("@"))
        for source in SOURCES.values()
        for action in re.findall(r"(?m)uses: (.*)$", source)
    }
    assert len(used) == len({name for name, _ in used})


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_no_rights_but_those_of_its_jobs(name: str) -> None:
    assert {} == WORKFLOWS[name]["permissions"]


def test_only_the_step_that_publishes_has_a_secret_and_may_write() -> None:
    writing = {name for name, job in jobs() if job["permissions"] != {"contents": "read"}}
    secret = [
        (name, step["name"])
        for name, job in jobs()
        for step in job["steps"]
        if "secrets." in str(step) or "github.token" in str(step)
    ]
    assert {"release/publish"} == writing
    assert [("release/publish", "Sign the checksums and publish")] == secret


@pytest.mark.real
def test_the_step_that_publishes_signs_the_checksums_with_the_key_it_gets(tmp_path: Path) -> None:
    """With a key of this test, and a program in place of gh that prints its arguments."""
    need("gpg", "gpgv", "gpg-agent")
    (step,) = (
        step["run"]
        for step in WORKFLOWS["release"]["jobs"]["publish"]["steps"]
        if "SIGNING_KEY" in step.get("env", {})
    )
    release = tmp_path / "release"
    release.mkdir()
    (release / "a.deb").write_text("a package")
    (release / "SHA256SUMS").write_text(f"{sha256(b'a package').hexdigest()}  a.deb\n")
    (tmp_path / "gh").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "gh").chmod(0o755)
    with gpg_home() as signer, gpg_home() as runner:
        made = ["--quick-generate-key", "tests <tests@shop.test>", "ed25519", "sign", "never"]
        gpg(signer, "--passphrase=", *made)
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "GNUPGHOME": str(runner),
            "SIGNING_KEY": gpg(signer, "--armor", "--export-secret-keys"),
            "GITHUB_REF_NAME": "v1.2.3",
            "GITHUB_REPOSITORY": "storage/ssd-exporter",
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step]
        done = run_program(shell, cwd=tmp_path, env=environment)
        assert 0 == done.returncode, done.stderr
        gpg(signer, "--export", f"--output={tmp_path / 'keyring'}")
    assert "release\ncreate\nv1.2.3\n--repo\nstorage/ssd-exporter\n" in done.stdout
    assert "./SHA256SUMS.asc\n" in done.stdout
    signed = [release / "SHA256SUMS.asc", release / "SHA256SUMS"]
    run_program(["gpgv", f"--keyring={tmp_path / 'keyring'}", *signed], check=True)


@contextmanager
def gpg_home() -> Iterator[Path]:
    """A directory for keys; its path is short, because that of a socket has at most 108 bytes."""
    with TemporaryDirectory(prefix="gpg-") as name:
        try:
            yield Path(name)
        finally:
            run_program(["gpgconf", "--kill", "all"], env={**os.environ, "GNUPGHOME": name})


def gpg(home: Path, *arguments: str) -> str:
    argv = ["gpg", "--batch", "--quiet", *arguments]
    return run_program(argv, check=True, env={**os.environ, "GNUPGHOME": str(home)}).stdout


def test_the_container_script_passes_its_arguments_to_make(tmp_path: Path) -> None:
    """A program that prints its arguments replaces Docker."""
    builder = tmp_path / "builder"
    builder.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    builder.chmod(0o755)
    environment = {**os.environ, "BUILDER": str(builder), "IMAGE": "an-image"}
    script = HOST / "debian.sh"
    assert 2 == run_program([script], env=environment).returncode
    said = run_program([script, "soak", "HOURS=5"], env=environment, check=True).stdout
    assert said.startswith("run\n")
    assert "\nan-image\nsh\n" in said
    assert said.endswith("\nsh\nsoak\nHOURS=5\n")


def test_without_the_recorded_files_of_others_only_their_tests_are_left_out() -> None:
    ignored = re.findall(r"--ignore=(\S+)", (HOST / "debian.sh").read_text())
    needing = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "rigs").rglob("test_*.py"))
        if re.search(r"lacking\(.*(CORPUS|CAPTURES)", path.read_text())
    ]
    assert needing == sorted(ignored)


def test_python_packages_actions_images_and_go_modules_are_updated() -> None:
    updates = yaml.safe_load((HOST / "dependabot.yml").read_text())["updates"]
    assert {"github-actions", "pip", "docker", "gomod"} == {
        update["package-ecosystem"] for update in updates
    }
    (modules,) = (each for each in updates if each["package-ecosystem"] == "gomod")
    found = {f"/{path.parent.relative_to(ROOT)}" for path in ROOT.glob("rigs/**/go.mod")}
    assert found == {*modules["directories"]}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_the_forge_requires(path: Path) -> None:
    form = yaml.safe_load(path.read_text())
    assert (
        {"name", "description", "body"}
        <= form.keys()
        <= {"name", "description", "title", "labels", "body"}
    )
    questions = [item for item in form["body"] if item["type"] != "markdown"]
    assert all(item["attributes"]["label"] for item in questions)
    assert len(questions) == len({item["id"] for item in questions})
    types = {"markdown", "input", "textarea", "dropdown", "checkboxes"}
    assert {item["type"] for item in form["body"]} <= types
    assert "ssd-exporter version" in path.read_text()


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_names_commands_that_exist(path: Path) -> None:
    for name, rest in re.findall(r"ssd-exporter ([a-z][a-z-]*)([^`\n]*)`", path.read_text()):
        assert name in COMMANDS
        command_parser(name).parse_args(rest.split())


def test_a_drive_that_is_read_wrong_is_reported_with_read_and_capture() -> None:
    text = (HOST / "ISSUE_TEMPLATE" / "drive.yml").read_text()
    assert "ssd-exporter read" in text
    assert "ssd-exporter capture" in text


def test_a_false_alert_is_reported_with_its_story() -> None:
    form = yaml.safe_load((HOST / "ISSUE_TEMPLATE" / "alert.yml").read_text())
    (story,) = (item for item in form["body"] if item.get("id") == "story")
    assert story["validations"]["required"]
