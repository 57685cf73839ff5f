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
from tests.pages.test_pages import history

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

#: The largest height of a picture in pixels. A longer page is cut.
_MAX_HEIGHT = 2000

HOSTS = {
    "1": examples.one,
    "1-trouble": examples.one_in_trouble,
    "6-trouble": examples.six,
    "24": lambda shift: examples.many(24, shift, in_trouble=False),
    "24-trouble": lambda shift: examples.many(24, shift),
    "200": lambda shift: examples.many(200, shift, in_trouble=False),
    "200-trouble": lambda shift: examples.many(200, shift),
}

#: Host, path, width and scheme of each picture.
PICTURES = (
    ("1", "/", 1600, "light"),
    ("1-trouble", "/", 1600, "dark"),
    ("1-trouble", "/", 360, "light"),
    ("6-trouble", "/", 1600, "light"),
    ("6-trouble", "/", 360, "dark"),
    ("24", "/", 1600, "dark"),
    ("24-trouble", "/", 1600, "light"),
    ("24-trouble", "/", 360, "dark"),
    ("200", "/", 1600, "light"),
    ("200-trouble", "/", 1600, "dark"),
    ("200-trouble", "/", 360, "light"),
    ("6-trouble", "/drive/sdb", 1600, "light"),
    ("6-trouble", "/drive/sdb", 1600, "dark"),
    ("6-trouble", "/drive/sdb", 360, "light"),
    ("6-trouble", "/drive/sdb", 360, "dark"),
)


def main() -> int:
    """Returns 0 when all pictures are written."""
    server = PageServer(HOSTS, history())
    with tempfile.TemporaryDirectory() as place, browser(Path(place)) as window:
        for name, path, width, scheme in PICTURES:
            server.moves = False
            server.show(name)
            window.open(server.address + path, width, scheme)
            wait_until(lambda: bool(window.script("return performance.now() > 2500")))
            height = min(window.script("return document.body.scrollHeight"), _MAX_HEIGHT)
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            shot = window.command("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
            page = "drive" if path != "/" else f"host-{name}"
            file = FOLDER / f"page-{page}-{width}-{scheme}.png"
            file.write_bytes(base64.b64decode(shot["data"]))
            quantize = ("pngquant", "--force", "--speed=1", "--strip", "--output", file, "96", file)
            subprocess.run(quantize, check=True)
            print(file.name, file.stat().st_size)
    server.server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
