"""Takes pictures of the states of the pages and puts them on one sheet (`make gallery`).

`DIRECTORY/index.html` is the sheet, with a link to each picture. `DIRECTORY/sheet-STATE.png` has
the pictures of one state side by side. To compare two versions, run it in both checkouts with
different directories. The values are those of `tests/pages/examples.py`. Needs chromium and
chromium-driver.
"""

import argparse
import base64
import html
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.pages.views import HostView
from tests.duration import wait_until
from tests.pages import examples
from tests.pages.browser import PAPER_WIDTH, SCHEMES, Browser, PageServer, browser
from tests.pages.past_examples import with_events
from tests.pages.test_pages import history

ROOT = Path(__file__).parents[2]

#: The widths of a phone, a tablet, a common laptop, and a large display, in pixels.
WIDTHS = (360, 768, 1366, 2560)

#: A longer page is cut at this height, in pixels.
_MOST_HEIGHT = 2600

#: The size of a picture on the sheet, relative to the page, for each width.
_SCALES = {360: 0.5, PAPER_WIDTH: 0.4, 768: 0.4, 1366: 0.4, 2560: 0.27}

#: True if the page is complete and its script has updated it.
_IS_SHOWN = (
    "return !!document.getElementById('foot') && (!document.scripts.length ||"
    " document.querySelector('.dot').textContent == 'live' && performance.now() > 1200)"
)


@dataclass(frozen=True)
class Picture:
    """A picture. width: pixels. scheme: light or dark, or "print"."""

    state: str
    width: int
    scheme: str

    @property
    def file(self) -> str:
        """The name of the file."""
        return f"{self.state.replace(' ', '-')}-{self.width}-{self.scheme}.png"


#: Each state: its host after a number of seconds, and the path of its page.
STATES: dict[str, tuple[Callable[[int], HostView], str]] = {
    "1 healthy": (examples.one, "/"),
    "1 ill": (with_events(examples.one_in_trouble), "/"),
    "6 ill": (with_events(examples.six), "/"),
    "24 healthy": (lambda shift: examples.many(24, shift, in_trouble=False), "/"),
    "24 ill": (with_events(lambda shift: examples.many(24, shift)), "/"),
    "200 ill": (with_events(lambda shift: examples.many(200, shift)), "/"),
    "virtual": (examples.bare, "/"),
    "long names": (examples.long_names, "/"),
    "drive healthy": (examples.one, "/drive/nvme0n1"),
    "drive ill": (examples.six, "/drive/nvme1n1"),
    "hour": (examples.six, "/drive/nvme1n1?range=hour"),
    "day": (examples.six, "/drive/nvme1n1?range=day"),
    "month": (examples.six, "/drive/nvme1n1?range=month"),
    "events": (examples.six, "/events"),
}


def pictures(states: Sequence[str]) -> Iterator[Picture]:
    """Yields the pictures of the sheet: all widths and schemes, and one as printed."""
    for state in states:
        for width in WIDTHS:
            for scheme in SCHEMES:
                yield Picture(state, width, scheme)
        yield Picture(state, PAPER_WIDTH, "print")


def take(window: Browser, address: str, picture: Picture) -> bytes:
    """Returns the picture of a page as PNG."""
    is_print = picture.scheme == "print"
    scheme, medium = ("light", "print") if is_print else (picture.scheme, "screen")
    window.open(address, picture.width, scheme, medium)
    wait_until(lambda: bool(window.script(_IS_SHOWN)))
    height = min(window.script("return document.body.scrollHeight"), _MOST_HEIGHT)
    clip = {"x": 0, "y": 0, "width": picture.width, "height": height, "scale": 1}
    shot = window.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
    return base64.b64decode(shot["data"])


def sheet(states: Sequence[str]) -> str:
    """Returns the HTML of the sheet: a row for each state."""
    rows = []
    for state in states:
        cells = "".join(
            f'<figure><a href="{each.file}"><img src="{each.file}"'
            f' width="{each.width * _SCALES[each.width]:.0f}"></a>'
            f"<figcaption>{each.width} {each.scheme}</figcaption></figure>"
            for each in pictures([state])
        )
        rows.append(f"<h2>{html.escape(state)}</h2><div>{cells}</div>")
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Pages</title><style>'
        "body{font:14px sans-serif;background:#777;margin:12px;color:#fff}"
        "div{display:flex;gap:12px;align-items:start}figure{margin:0}img{display:block}"
        "h2{font-size:16px;margin:12px 0 4px}</style>"
        f"{''.join(rows)}</html>\n"
    )


def main() -> int:
    """Returns 0 when all pictures and the sheet are written."""
    parser = argparse.ArgumentParser(prog="make gallery", description=__doc__)
    parser.add_argument("--directory", type=Path, default=ROOT / "var" / "gallery")
    parser.add_argument("--state", action="append", choices=STATES, help="only this state")
    arguments = parser.parse_args()
    states: list[str] = arguments.state or list(STATES)
    directory: Path = arguments.directory.resolve()
    if not arguments.state:
        shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True, exist_ok=True)
    server = PageServer({name: host for name, (host, _) in STATES.items()}, history())
    server.moves = False
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as window:
        for picture in pictures(states):
            server.show(picture.state)
            _, path = STATES[picture.state]
            (directory / picture.file).write_bytes(take(window, server.address + path, picture))
        (directory / "index.html").write_text(sheet(states))
        for state in states:
            (directory / "row.html").write_text(sheet([state]))
            width = sum(round(each.width * _SCALES[each.width]) + 12 for each in pictures([state]))
            window.open((directory / "row.html").as_uri(), width + 12)
            height = window.script("return document.body.scrollHeight") + 24
            clip = {"x": 0, "y": 0, "width": width + 12, "height": height, "scale": 1}
            shot = window.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
            name = f"sheet-{state.replace(' ', '-')}.png"
            (directory / name).write_bytes(base64.b64decode(shot["data"]))
            print(directory / name)
        (directory / "row.html").unlink()
    server.server.stop()
    print(directory / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
