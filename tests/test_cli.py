"""The command line: flags, the configuration file, and one-line errors."""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter import __version__, command_help
from exporter.cli import command_parser, main, parser, settings
from exporter.commands.registry import COMMANDS
from exporter.config.settings import COLLECTORS, Settings
from exporter.runtime.errors import ConfigError
from tests.duration import PATIENCE_SECONDS
from tests.processes import run_program
from tests.stand_ins.smartctl import StandIn


def chosen(*argv: str) -> Settings:
    return settings(parser().parse_args(argv))


def config(tmp_path: Path, text: str) -> str:
    path = tmp_path / "ssd-exporter.toml"
    path.write_text(text)
    return str(path)


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    return run_program([sys.executable, "-m", "exporter", *argv])


FLAGS: dict[str, tuple[str, str, object]] = {
    "--web.listen-address": ("127.0.0.1:9", "web.listen_address", ("127.0.0.1:9",)),
    "--web.config.file": ("/web.yml", "web.config_file", Path("/web.yml")),
    "--path.procfs": ("/sys", "path.procfs", Path("/sys")),
    "--path.sysfs": ("/proc", "path.sysfs", Path("/proc")),
    "--path.rootfs": ("/tmp", "path.rootfs", Path("/tmp")),
    "--smartctl.path": ("/opt/smartctl", "path.smartctl", "/opt/smartctl"),
    "--fio.path": ("/opt/fio", "path.fio", "/opt/fio"),
    "--state.directory": ("/var/x", "state.directory", Path("/var/x")),
    "--probe.directory": ("/srv/probe", "probe.directory", (Path("/srv/probe"),)),
    "--collector.disk.device-include": ("^nvme", "disk.device_include", "^nvme"),
    "--collector.disk.device-exclude": ("^loop", "disk.device_exclude", "^loop"),
    "--log.level": ("debug", "log.level", "debug"),
    "--log.format": ("json", "log.format", "json"),
}


def setting(settings: Settings, dotted: str) -> object:
    value: object = settings
    for name in dotted.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("flag", FLAGS)
def test_each_flag_sets_its_key_and_no_other(flag: str) -> None:
    given, key, expected = FLAGS[flag]
    found = chosen(flag, given)
    assert expected == setting(found, key)
    unchanged = {name for _, name, _ in FLAGS.values()} - {key}
    assert all(setting(Settings(), name) == setting(found, name) for name in unchanged)


def test_every_flag_with_a_value_is_tested_here() -> None:
    takes_value = {
        action.option_strings[0]
        for action in parser()._actions
        if action.option_strings and action.nargs != 0
    }
    assert {*FLAGS, "--config.file", "--output"} == takes_value


def test_the_address_may_be_given_several_times() -> None:
    found = chosen("--web.listen-address", ":1", "--web.listen-address=[::1]:2")
    assert (":1", "[::1]:2") == found.web.listen_address


@pytest.mark.parametrize("name", ["node", "smartctl"])
def test_compat_is_a_switch(name: str) -> None:
    chosen_ones = chosen(), chosen(f"--compat.{name}-exporter")
    found = [getattr(each.compat, f"{name}_exporter") for each in chosen_ones]
    assert [False, True] == found


@pytest.mark.parametrize("name", COLLECTORS)
def test_each_collector_is_switched_on_and_off(name: str) -> None:
    assert dict(COLLECTORS) | {name: True} == chosen(f"--collector.{name}").collector
    assert dict(COLLECTORS) | {name: False} == chosen(f"--no-collector.{name}").collector


def test_flags_override_only_their_keys_of_the_file(tmp_path: Path) -> None:
    file = config(
        tmp_path,
        """
        [log]
        level = "error"
        format = "json"
        [collector]
        disk = false
        cpu = false
        [web]
        listen_address = ["127.0.0.1:1", "127.0.0.1:2"]
        [compat]
        node_exporter = true
        """,
    )
    flags = "--log.level=debug", "--collector.disk", "--web.listen-address=:3"
    found = chosen(f"--config.file={file}", *flags)
    assert ("debug", "json") == (found.log.level, found.log.format)
    assert dict(COLLECTORS) | {"cpu": False} == found.collector
    assert (":3",) == found.web.listen_address
    assert found.compat.node_exporter


MISTAKES = {
    "unknown flag": (["--nonsense"], "--nonsense; see ssd-exporter --help"),
    "abbreviated flag": (["--log.lev=debug"], "--log.lev=debug; did you mean --log.level?"),
    "no value": (["--log.level"], "expected one argument"),
    "a flag with a mistake": (
        ["--web.listen-adress=:1"],
        "did you mean --web.listen-address? see ssd-exporter --help",
    ),
    "a command's flag with a mistake": (
        ["check", "--jsn"],
        "did you mean --json? see ssd-exporter check --help",
    ),
    "a command with a mistake": (["chekc"], "unknown command 'chekc'; did you mean check?"),
    "a command after flags": (["--once", "check"], "name the command first: ssd-exporter check"),
    "an argument": (["serve"], "unknown command 'serve'; use one of check, "),
    "wrong level": (["--log.level=loud"], "log.level is 'loud'; it must be one of debug, info"),
    "both filters": (
        ["--collector.disk.device-include=a", "--collector.disk.device-exclude=b"],
        "are both set; set one of them",
    ),
    "no expression": (["--collector.disk.device-include=("], "not a regular expression"),
    "no address": (["--web.listen-address=nowhere"], "HOST:PORT"),
    "no directory": (["--path.sysfs=/nonexistent"], "sysfs is /nonexistent, which is not a direct"),
    "an empty path": (["--path.sysfs="], "path.sysfs is ''; it must be a path"),
    "no file": (["--config.file=/nonexistent.toml"], "cannot be read: No such file or directory"),
    "a directory": (["--config.file=/"], "cannot be read: Is a directory"),
    "two lines": (["--two\nlines"], "--two\\nlines"),
    "no web config": (["--config.check", "--web.config.file=/nonexistent"], "/nonexistent"),
    "no state": (["--config.check", "--state.directory=/proc/x"], "/proc/x cannot be written"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str], mistake: str) -> None:
    argv, expected = MISTAKES[mistake]
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("ssd-exporter: ")
    assert expected in err
    assert [err] == err.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"[samplr]\n", "unknown key samplr; did you mean sampler?"),
        (b"[sampler\n", "is not valid TOML: "),
        (b"x = 'cut off", "is not valid TOML: "),
        (b"\xff\xfe", "is not valid TOML: "),
        (b"[sampler]\ninterval_seconds = 'x'\n", "interval_seconds is 'x'; it must be a number"),
        (b"'a\\nb' = 1\n\"c\\nd\" = 2", "unknown key "),
        (b"[history]\ndays = 3000\n", "history.days is 3000; it must be between 1 and 31"),
        (b"[collector]\nsmrt = true\n", "unknown key collector.smrt; collectors are "),
        (b"[path]\nsysfs = '/nonexistent'\n", "path.sysfs is /nonexistent, which is not a dir"),
        (b"[web]\nlisten_address = []\n", "web.listen_address is empty; set at least one"),
        (b"[web]\nlisten_address = 'nowhere'\n", "HOST:PORT"),
        (b"[links]\ngrafana = 'g'\n", "links.grafana is 'g'; it must begin with http://"),
        (b"[smart]\ninclude = '('\n", "smart.include is '(', which is not a regular expression"),
        (b"[disk]\ndevice_include = '('\n", "not a regular expression"),
        (b"[probe]\ndirectory = 'x'\n", "probe.directory is x; use an absolute path"),
        (b"[probe]\nprofiles = ['x']\n", "probe.profiles contains the unknown profile 'x'"),
        (b"[device.sda]\nsmart_timeout_seconds = 0\n", "device.sda.smart_timeout_seconds is 0"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, expected: str
) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    assert main([f"--config.file={tmp_path / 'bad.toml'}"]) == 2
    err = capsys.readouterr().err
    assert expected in err
    assert str(tmp_path / "bad.toml") in err
    assert [err] == err.splitlines(keepends=True)


def test_a_mistake_of_a_flag_beside_a_valid_file_does_not_name_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "good.toml"
    path.write_text("[history]\ndays = 3\n")
    assert main([f"--config.file={path}", "--log.level=loud"]) == 2
    assert capsys.readouterr().err.startswith("ssd-exporter: log.level is 'loud'; ")


def test_a_flag_that_contradicts_the_file_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "good.toml"
    path.write_text("[disk]\ndevice_include = '^sd'\n")
    assert main([f"--config.file={path}", "--collector.disk.device-exclude=^nvme"]) == 2
    assert capsys.readouterr().err.startswith(f"ssd-exporter: {path}: disk.device_include and ")


def test_a_mistake_is_one_line_in_a_process_of_its_own() -> None:
    done = run("--log.level=loud")
    assert (2, "") == (done.returncode, done.stdout)
    expected = "ssd-exporter: log.level is 'loud'; it must be one of debug, info, warning, error\n"
    assert expected == done.stderr


def test_config_check_reports_a_valid_configuration_and_starts_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, '[log]\nlevel = "debug"\n')
    arguments = "--config.check", f"--config.file={file}", f"--state.directory={tmp_path}"
    assert main(arguments) == 0
    assert ("the configuration is valid\n", "") == capsys.readouterr()


def test_config_check_does_not_create_the_state_directory(tmp_path: Path) -> None:
    directory = tmp_path / "new" / "state"
    assert main(["--config.check", f"--state.directory={directory}"]) == 0
    assert [] == list(tmp_path.iterdir())


def test_once_includes_smart_data(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin")
    scan = '{"devices":[{"name":"/dev/bus/0","type":"megaraid,3","protocol":"ATA"}]}'
    stand_in.says("--scan-open", scan)
    stand_in.says(
        "0",
        '{"smartctl":{"version":[7,3],"exit_status":0},"device":{"protocol":"ATA"},'
        '"serial_number":"S1","smart_status":{"passed":true},"temperature":{"current":31}}',
    )
    file = config(tmp_path, '[sampler]\ninterval_seconds = 0.2\n[smart]\nsource = "exec"\n')
    flags = f"--config.file={file}", f"--state.directory={tmp_path}"
    done = run("--once", *flags, f"--smartctl.path={stand_in.program}")
    assert 'ssd_smart_temperature_celsius{device="bus/0:megaraid,3",serial="S1"' in done.stdout
    assert 'ssd_collector_success{collector="smart"} 1' in done.stdout


def test_once_replaces_the_output_file_in_one_step(tmp_path: Path) -> None:
    output = tmp_path / "ssd.prom"
    output.write_text("old")
    with output.open() as reading:
        flags = f"--state.directory={tmp_path}", f"--output={output}", "--no-collector.smart"
        done = run("--once", *flags)
        assert (0, "") == (done.returncode, done.stdout)
        assert "old" == reading.read(), "a reader of the old file is not disturbed"
    assert "ssd_exporter_build_info" in output.read_text()
    assert 0o644 == output.stat().st_mode & 0o777
    assert [output.name] == [path.name for path in tmp_path.iterdir()]


def test_an_output_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    output = tmp_path / "missing" / "ssd.prom"
    done = run("--once", f"--state.directory={tmp_path}", f"--output={output}")
    assert 2 == done.returncode
    assert done.stderr.splitlines()[-1].startswith(f"ssd-exporter: cannot write {output}: No such")


def test_once_does_not_replace_a_device_and_queries_no_drive_for_it(tmp_path: Path) -> None:
    """Before, --output=/dev/null replaced the device by a regular file."""
    stand_in = StandIn(tmp_path / "bin")
    os.mkfifo(tmp_path / "pipe")
    for path, word in ((tmp_path / "pipe", "pipe"), (Path("/dev/null"), "device")):
        flags = f"--state.directory={tmp_path}", f"--smartctl.path={stand_in.program}"
        done = run("--once", *flags, f"--output={path}")
        assert 2 == done.returncode
        assert f"cannot write {path}: it is a {word}, not a regular file; use" in done.stderr
    assert [] == stand_in.calls()


def test_output_requires_once() -> None:
    done = run("--output=/nowhere/ssd.prom")
    assert (2, "ssd-exporter: --output requires --once\n") == (done.returncode, done.stderr)


def test_once_without_a_way_to_read_the_drives_says_so(tmp_path: Path) -> None:
    file = config(tmp_path, '[smart]\nsource = "directory"\ndirectory = "/nonexistent"\n')
    done = run("--once", f"--config.file={file}", f"--state.directory={tmp_path}")
    assert 'ssd_collector_success{collector="smart"} 0' in done.stdout
    assert "is ssd-smart-agent running?" in done.stderr


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for flag, expected in (("--version", f"ssd-exporter {__version__}"), ("--help", "--once")):
        with pytest.raises(SystemExit) as raised:
            main([flag])
        assert raised.value.code == 0
        assert expected in capsys.readouterr().out


def test_help_shows_the_commands_by_subject_before_the_flags() -> None:
    text = parser().format_help()
    assert text.startswith("usage: ssd-exporter [FLAG ...]")
    assert "ssd-exporter COMMAND [FLAG ...]" in text
    order = ["\n    check ", "\n    slc ", "examples:", "--once", "--web.listen-address", "--path."]
    assert order == sorted(order, key=text.index)
    assert all(f"\n    {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples_that_it_accepts(name: str) -> None:
    lines = [line.strip() for line in command_help.examples(name)]
    assert f"examples:\n  {lines[1]}" in command_parser(name).format_help()
    for line in lines:
        _, found, arguments = line.partition(f"ssd-exporter {name}")
        if found:
            command_parser(name).parse_args(shlex.split(arguments.partition("|")[0]))


def test_help_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    texts = [parser().format_help(), *(command_parser(name).format_help() for name in COMMANDS)]
    assert [] == [line for text in texts for line in text.split("\n") if len(line) > 80]


def test_help_names_every_flag() -> None:
    text = parser().format_help()
    for action in parser()._actions:
        if action.help != argparse.SUPPRESS:
            assert all(option in text for option in action.option_strings)


def test_once_prints_a_page_of_this_machine(tmp_path: Path) -> None:
    """Two samples, so that there is a second to speak of."""
    stand_in = StandIn(tmp_path / "bin")
    stand_in.says("--scan-open", '{"devices":[]}')
    settings = '[sampler]\ninterval_seconds = 0.2\n[disk]\ndevice_include = "."\n'
    file = config(tmp_path, f'{settings}[smart]\nsource = "exec"\nexclude = "."\n')
    flags = f"--config.file={file}", f"--state.directory={tmp_path}"
    done = run("--once", *flags, f"--smartctl.path={stand_in.program}")
    assert done.returncode == 0
    assert done.stderr.count("Traceback") == 0
    families = {family.name: family for family in text_string_to_metric_families(done.stdout)}
    (samples,) = families["ssd_sampler_samples"].samples
    assert samples.value == 2
    assert {"ssd_disk_reads_completed", "ssd_io_bottleneck", "ssd_cpu_seconds"} <= families.keys()
    failed = {
        sample.labels["collector"]
        for sample in families["ssd_collector_success"].samples
        if sample.value != 1
    }
    assert failed == set()


def test_logs_in_json_are_one_object_a_line(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("broken")
    done = run("--once", "--log.format=json", f"--state.directory={tmp_path}")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert any("state.json cannot be read" in line["msg"] for line in lines)


@pytest.mark.parametrize(
    "arguments",
    [["--no-collector.smart"], [f"--no-collector.{name}" for name in COLLECTORS]],
)
def test_a_closed_pipe_is_not_a_failure(tmp_path: Path, arguments: list[str]) -> None:
    """`ssd-exporter --once | head -1`, with a large page and a small one.

    Without SMART, because a user without rights is warned that no drive is polled.
    """
    reading, writing = os.pipe()
    os.close(reading)
    argv = [sys.executable, "-m", "exporter", "--once", f"--state.directory={tmp_path}"]
    try:
        done = subprocess.run(
            [*argv, *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
            env={name: value for name, value in os.environ.items() if name[:6] != "PYTHON"},
        )
    finally:
        os.close(writing)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"a = {'1' * 5000}", id="digits"),
        pytest.param(f"a = {'[' * 20_000}", id="brackets"),
        pytest.param("# " + "x" * (1 << 20), id="large"),
    ],
)
def test_a_hostile_file_is_one_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    """On SIGHUP anything but a ConfigError would end the daemon."""
    (tmp_path / "settings.toml").write_text(content)
    assert 2 == main([f"--config.file={tmp_path}/settings.toml", "--config.check"])
    assert 1 == capsys.readouterr().err.count("\n")


def test_a_path_longer_than_a_file_name_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 2 == main([f"--path.procfs=/{'x' * 300}", "--config.check"])
    assert 1 == capsys.readouterr().err.count("\n")


def test_commands_read_the_packages_settings_by_default(tmp_path: Path) -> None:
    usual, other = tmp_path / "config.toml", tmp_path / "other.toml"
    usual.write_text("[probe]\nbudget_bytes_per_day = 1\n")
    other.write_text("[probe]\nbudget_bytes_per_day = 2\n")

    def budget(*flags: str) -> int:
        found = settings(command_parser("bench").parse_args(flags), usual)
        return found.probe.budget_bytes_per_day

    assert 1 == budget()
    assert 2 == budget(f"--config.file={other}")
    usual.unlink()
    assert Settings().probe.budget_bytes_per_day == budget()
    usual.symlink_to("nowhere")
    with pytest.raises(ConfigError, match=r"config\.toml cannot be read"):
        budget()


def test_the_help_names_the_default_settings_of_commands() -> None:
    # It breaks lines at hyphens.
    said = "".join(command_parser("slc").format_help().split())
    assert "default:/etc/ssd-exporter/config.tomlifitexists" in said
    assert "docs/settings.md lists all settings and defaults" in parser().format_help()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_closed_standard_stream_does_not_change_the_status(tmp_path: Path, stream: str) -> None:
    """Before, a daemon whose standard error was closed ended at its first log line."""
    script = f'exec "$@" {stream}>&-'
    daemon = ["sh", "-c", script, "sh", sys.executable, "-m", "exporter"]
    daemon.append(f"--state.directory={tmp_path}")
    for flag, status in (("--config.check", 0), ("--no-such-flag", 2)):
        done = subprocess.run(
            [*daemon, flag], capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
        assert status == done.returncode, done
