"""A real browser (Debian's chromium and its WebDriver), and a server of pages for it."""

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from exporter.pages.drive_history import DriveHistory
from exporter.pages.live_site import LiveSite
from exporter.pages.views import DriveView, HostView
from exporter.web.connection import ClientLimits
from exporter.web.server import HttpServer
from exporter.web.site import Site
from tests.duration import PATIENCE_SECONDS
from tests.pages import past_examples
from tests.required import lacking

WIDTHS = (360, 768, 1280, 2560)
SCHEMES = ("light", "dark")

#: The width of A4 in pixels, without margins of 1 cm.
PAPER_WIDTH = 718

_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
)


class Browser:
    """One window of a browser. `driver` is the WebDriver."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(
        self,
        address: str,
        width: int = 1280,
        scheme: str = "light",
        medium: str = "screen",
        features: Mapping[str, str] = {},
    ) -> None:
        """Opens a page in a window of this width. Earlier messages of the console are dropped.

        medium: screen or print. features: further features of the medium, keyed by name.
        """
        wanted = {"prefers-color-scheme": scheme, **features}
        self.command(
            "Emulation.setEmulatedMedia",
            media=medium,
            features=[{"name": name, "value": value} for name, value in wanted.items()],
        )
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        # The previous page would go on to request data from its server, which may have ended.
        self.driver.get("about:blank")
        self.console()
        self.driver.get(address)

    def command(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def console(self) -> list[str]:
        """Returns the messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def browser(folder: Path, *, with_scripts: bool = True) -> Iterator[Browser]:
    """Runs a browser with a profile of its own. with_scripts: pages may run scripts."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    for name, path in programs.items():
        if path is None:
            lacking(name)
    options = webdriver.ChromeOptions()
    options.binary_location = str(programs["chromium"])
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    if not with_scripts:
        setting = "profile.managed_default_content_settings.javascript"
        options.add_experimental_option("prefs", {setting: 2})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(programs["chromedriver"])))
    driver.set_script_timeout(PATIENCE_SECONDS)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class PageServer:
    """Serves the pages of hosts whose values move by one sample at each request.

    hosts: returns a host after a number of seconds, keyed by the name that `show` selects.
    web_config: the web configuration file; None means neither a password nor a rate limit.
    """

    def __init__(
        self,
        hosts: dict[str, Callable[[int], HostView]],
        history: DriveHistory,
        web_config: Path | None = None,
    ) -> None:
        self._hosts = hosts
        self._history = history
        self._lock = threading.Lock()
        self._shown = next(iter(hosts))
        self.seconds = self.requests = 0
        self.moves = True
        live = LiveSite(self._view, self._kept, past_examples.pages)
        site = Site(None, lambda: "", lambda: True, live.respond)  # type: ignore[arg-type]
        # On a busy machine, a page of many drives takes longer than the server's default limit.
        limits = ClientLimits(request_seconds=PATIENCE_SECONDS)
        self.server = HttpServer(
            [("127.0.0.1", 0)], site.respond, limits=limits, web_config=web_config
        )
        self.server.start()
        host, port = self.server.addresses[0]
        self.address = f"http://{host}:{port}"

    def show(self, name: str) -> HostView:
        """Selects the host that is served, and returns it."""
        with self._lock:
            self._shown = name
        return self._hosts[name](self.seconds)

    def _view(self) -> HostView:
        with self._lock:
            self.requests += 1
            if self.moves:
                self.seconds += 1
            return self._hosts[self._shown](self.seconds)

    def _kept(self, drive: DriveView) -> DriveHistory:
        """Returns the history, with a wear that ends at that of the drive."""
        health, wear = drive.facts.health, self._history.wear
        if health is None or health.endurance is None or not wear:
            return self._history
        factor = health.endurance.used_ratio / wear[-1][1]
        return replace(self._history, wear=[(at, ratio * factor) for at, ratio in wear])
