"""Writes the pictures of the pages in docs/pictures: ``python -m tests.pages.pictures``.

The values are those of `examples`. Needs chromium, chromium-driver and pngquant.
"""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.duration import wait_until
from tests.pages import examples
from tests.pages.browser import PageServer, browser
from tests.pages.past_examples import with_events
from tests.pages.test_pages import history

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

#: The largest height of a picture in pixels, and the number of its colours. A longer page is cut.
#: Those of the matrix are in a folder that the packages leave out.
_MAX_HEIGHT, _COLOURS = 1800, 64
_MATRIX_HEIGHT, _MATRIX_COLOURS = 1400, 64

HOSTS = {
    "1": examples.one,
    "1-trouble": with_events(examples.one_in_trouble),
    "6-trouble": with_events(examples.six),
    "24": lambda shift: examples.many(24, shift, in_trouble=False),
    "24-trouble": with_events(lambda shift: examples.many(24, shift)),
    "200": lambda shift: examples.many(200, shift, in_trouble=False),
    "200-trouble": with_events(lambda shift: examples.many(200, shift)),
}

#: Host, path, width and scheme of each picture that the documents show.
PICTURES = (
    ("6-trouble", "/", 1600, "light"),
    ("6-trouble", "/", 360, "dark"),
    ("24-trouble", "/", 1600, "light"),
    ("200-trouble", "/", 1600, "dark"),
    ("6-trouble", "/drive/sdb", 1600, "light"),
)

#: True if the page is complete and its script has updated it twice.
_SHOWN = "return !!document.getElementById('foot') && performance.now() > 2500"

#: A drive of each host, for its page.
DRIVES = {
    "1": "nvme0n1",
    "1-trouble": "nvme0n1",
    "24": "nvme3n1",
    "24-trouble": "nvme4n1",
    "200": "nvme3n1",
    "200-trouble": "nvme4n1",
}

#: Every combination of host, page, width and scheme, healthy and in trouble.
MATRIX = tuple(
    (name, path, width, scheme)
    for name, drive in DRIVES.items()
    for path in ("/", f"/drive/{drive}")
    for width in (360, 1600)
    for scheme in ("light", "dark")
)


def main() -> int:
    """Returns 0 when all pictures are written."""
    server = PageServer(HOSTS, history())
    server.moves = False
    wanted = [(FOLDER, _MAX_HEIGHT, _COLOURS, each) for each in PICTURES]
    wanted += [(FOLDER / "matrix", _MATRIX_HEIGHT, _MATRIX_COLOURS, each) for each in MATRIX]
    with tempfile.TemporaryDirectory() as place, browser(Path(place)) as window:
        for folder, limit, colours, (name, path, width, scheme) in wanted:
            server.show(name)
            window.open(server.address + path, width, scheme)
            wait_until(lambda: bool(window.script(_SHOWN)))
            height = min(window.script("return document.body.scrollHeight"), limit)
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            shot = window.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
            page = (
                f"host-{name}" if path == "/" else "drive" if folder == FOLDER else f"drive-{name}"
            )
            folder.mkdir(exist_ok=True)
            file = folder / f"page-{page}-{width}-{scheme}.png"
            file.write_bytes(base64.b64decode(shot["data"]))
            quantize = (
                "pngquant",
                "--force",
                "--speed=1",
                "--strip",
                "--output",
                file,
                str(colours),
                file,
            )
            subprocess.run(quantize, check=True)
            print(file.name, file.stat().st_size)
    server.server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
