"""The completions of bash, zsh and fish, as each shell answers with its own completion system."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.end_to_end.programs import need
from tests.packaging import written
from tests.processes import run_program

#: Like bash: words are also split at =, and only the last one is completed.
_BASH = """
source "$1"
while IFS= read -r line; do
  line=${line%'|'}
  printf '> %s\\n' "$line"
  COMP_LINE=$line COMP_POINT=${#line} COMP_WORDS=() COMP_CWORD=0
  _ssd_exporter 2>/dev/null
  printf '%s\\n' "${COMPREPLY[@]}"
done
"""

#: Completes each line in the line editor, and also writes what is offered to a file. compadd is
#: called for each match; with -O, -A or -D it only fills an array.
_ZSHRC = """
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -D -u
ask() {
  compadd() {
    local -a options found
    options=("${@[1,(i)--]}")
    if [[ ${options[(I)-[OAD]]} == 0 ]]; then
      builtin compadd -O found "$@"
      print -rl -- "${found[@]}" >> $ZDOTDIR/answers
    fi
    builtin compadd "$@"
  }
  _main_complete
  unfunction compadd
}
zle -C ask list-choices ask
zle-line-init() {
  local line
  while IFS= read -r line; do
    print -r -- "> ${line%'|'}" >> $ZDOTDIR/answers
    BUFFER=${line%'|'}
    CURSOR=$#BUFFER
    zle ask
  done < $ZDOTDIR/lines
  exit 0
}
zle -N zle-line-init
"""

_FISH = """
source $argv[1]
while read -l line
    set line (string replace -r '\\|$' '' -- $line)
    echo "> $line"
    complete -C $line
end
"""


def completed(
    shell: str, lines: Sequence[str], work: Path, cwd: Path | None = None
) -> Mapping[str, set[str]]:
    """What a shell offers for each line, without a description and without the = of a flag.

    For the value of a flag, fish offers the flag and the value, the others only the value: this
    returns the value.

    work: an empty directory.
    """
    answers = _ASK[shell](lines, work, cwd or work)
    found: dict[str, set[str]] = {}
    for answer in answers.splitlines():
        if answer.startswith("> "):
            current = found.setdefault(answer.removeprefix("> "), set())
        elif answer:
            current.add(re.sub(r"^--[^=]*=(?=.)", "", answer.split("\t")[0]).rstrip("=/"))
    assert set(lines) == found.keys(), answers
    return found


def _bash(lines: Sequence[str], work: Path, cwd: Path) -> str:
    script = work / "ssd-exporter"
    script.write_text(written.by("completion.py", "bash"))
    return _answers(["bash", "--norc", "-c", _BASH, "bash", str(script)], lines, cwd)


def _zsh(lines: Sequence[str], work: Path, cwd: Path) -> str:
    need("zsh", "script")
    (work / "_ssd-exporter").write_text(written.by("completion.py", "zsh"))
    (work / ".zshrc").write_text(_ZSHRC)
    (work / "lines").write_text("".join(f"{line}|\n" for line in lines))
    # script(1) provides the terminal without which zsh has no line editor.
    run_program(
        ["script", "--quiet", "--return", "--command", "zsh -i", "/dev/null"],
        check=True,
        cwd=cwd,
        env={**os.environ, "ZDOTDIR": str(work), "TERM": "xterm"},
    )
    return (work / "answers").read_text()


def _fish(lines: Sequence[str], work: Path, cwd: Path) -> str:
    need("fish")
    script = work / "ssd-exporter.fish"
    script.write_text(written.by("completion.py", "fish"))
    argv = ["fish", "--no-config", "--command", _FISH, shlex.quote(str(script))]
    return _answers(argv, lines, cwd)


def _answers(argv: Sequence[str], lines: Sequence[str], cwd: Path) -> str:
    text = "".join(f"{line}|\n" for line in lines)
    return run_program(argv, check=True, cwd=cwd, input=text).stdout


_ASK = {"bash": _bash, "zsh": _zsh, "fish": _fish}
