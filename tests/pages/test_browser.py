"""The pages in a real browser: updates, policy, accessibility, widths, without a script."""

import base64
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from exporter.pages.page_texts import megabytes
from exporter.pages.views import HostView
from tests.duration import wait_until
from tests.pages import examples, past_examples
from tests.pages.browser import PAPER_WIDTH, SCHEMES, WIDTHS, Browser, PageServer, browser
from tests.pages.test_pages import history

pytestmark = pytest.mark.real

HOSTS = {
    "most states": past_examples.with_events(examples.six),
    "one": examples.one,
    "one in trouble": examples.one_in_trouble,
    "24": past_examples.with_events(lambda shift: examples.many(24, shift)),
    "24 healthy": lambda shift: examples.many(24, shift, in_trouble=False),
    "200": lambda shift: examples.many(200, shift),
    "a virtual disk": examples.bare,
    "long names": examples.long_names,
    "none": lambda _shift: examples.host("empty", []),
}

#: A host, and the path of a page of it.
PAGES = (
    *((name, "/") for name in HOSTS),
    ("most states", "/drive/sdb"),
    ("most states", "/drive/nvme2n1"),
    ("most states", "/drive/sdd"),
    ("most states", "/drive/nvme1n1?range=hour"),
    ("most states", "/drive/nvme1n1?range=day"),
    ("most states", "/drive/nvme1n1?range=month"),
    ("most states", "/events"),
    ("long names", "/drive/mapper%2F" + "x" * 40),
)

#: Collects violations of the policy of a page, the delays of its timers, and what gets the focus
#: with the width of its outline, before its own code runs.
WATCH = """window.violations = []; window.delays = []; window.focused = [];
  window.reached = new Set();
  document.addEventListener("securitypolicyviolation",
    (event) => violations.push(event.violatedDirective));
  document.addEventListener("focusin", ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target);
    focused.push([target.outerHTML.slice(0, 90), outlineStyle, parseFloat(outlineWidth)]);
    reached.add(target);
  });
  const later = window.setTimeout;
  window.setTimeout = (work, delay) => { delays.push(delay); return later(work, delay); };"""

#: What a printed page shows: its colours, what is left of the controls, the date, what is still
#: closed, the smallest text in pixels, and the width.
PRINTED = """
  const style = getComputedStyle(document.body), sizes = [];
  const isText = (node) => node.nodeType === 3 && node.data.trim();
  for (const node of document.querySelectorAll("#main *, header *"))
    if (node.checkVisibility() && [...node.childNodes].some(isText))
      sizes.push(parseFloat(getComputedStyle(node).fontSize));
  const seen = (names) => [...document.querySelectorAll(names)].filter((e) => e.checkVisibility());
  return { colours: [style.backgroundColor, style.color],
    controls: seen("button, .dot, .ns, .rd, nav").length,
    date: getComputedStyle(document.querySelector(".clk"), "::after").content,
    closed: document.querySelectorAll("details").length - seen("details table").length,
    smallest: Math.min(...sizes), width: document.documentElement.scrollWidth };"""

#: The colours of what is drawn, which forced colours must not remove.
DRAWN = """
  const found = [];
  const marks = "em, .v:not(.none), .ch :is(.a, .b, .r, .w), .st rect";
  for (const node of document.querySelectorAll(marks)) {
    const style = getComputedStyle(node), name = node.getAttribute("class") || "";
    if (/kbusy|kflush|k-none/.test(name) || !node.checkVisibility()) continue;
    const drawn = node.matches("em, .v") ? style.backgroundColor : node.matches(".r, .w")
      ? style.stroke : style.fill;
    if (!drawn.startsWith("url")) found.push([name, drawn]);
  }
  return found;"""


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        opened.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        yield opened


@pytest.fixture
def server() -> Iterator[PageServer]:
    serving = PageServer(HOSTS, history())
    yield serving
    serving.server.stop()


def text(window: Browser, selector: str) -> str:
    return window.driver.find_element(By.CSS_SELECTOR, selector).get_attribute("textContent") or ""


def is_live(window: Browser, server: PageServer, before: int = 0) -> bool:
    """True after the script has applied an answer.

    before: the number of requests before the page was opened. The next one is that of the page.
        The script asks for the second answer after it has applied the first.
    """
    return text(window, ".dot") == "live" and server.requests >= before + 3


def has_settled(window: Browser, server: PageServer) -> bool:
    """True if no request came, and no number changed, in three seconds."""

    def seen() -> tuple[int, str]:
        return server.requests, window.driver.page_source

    before = seen()
    window.script("return new Promise((done) => setTimeout(done, 3000))")
    return before == seen()


def key_of(window: Browser, name: str, field: str) -> str:
    """Returns the selector of a text in the section of a drive."""
    path = f'//section[contains(@class, "drive")][.//h3/a[text()="{name}"]]'
    section = window.driver.find_element(By.XPATH, path)
    return f'[data-k="{section.get_attribute("id")}:{field}"]'


def test_numbers_and_curves_move_and_nothing_is_reported(
    window: Browser, server: PageServer
) -> None:
    server.show("most states")
    window.open(server.address)
    number = key_of(window, "nvme1n1", "wb")
    curve = f"#w{number.split(':')[0][-1]}"
    seen = {(text(window, number), curve_of(window, curve))}

    def has_moved() -> bool:
        seen.add((text(window, number), curve_of(window, curve)))
        return len({n for n, _ in seen}) > 3 and len({c for _, c in seen}) > 3

    wait_until(has_moved)
    assert [] == window.console()
    assert [] == window.script("return window.violations")


def curve_of(window: Browser, selector: str) -> str:
    path = window.driver.find_element(By.CSS_SELECTOR, selector)
    return path.get_attribute("d") or ""


@pytest.mark.parametrize("name", ["most states", "24", "a virtual disk"])
def test_the_script_draws_what_the_server_draws(
    window: Browser, server: PageServer, name: str
) -> None:
    server.moves = False
    server.show(name)
    window.command("Emulation.setScriptExecutionDisabled", value=True)
    window.open(server.address)
    shapes = shapes_of(window)
    window.command("Emulation.setScriptExecutionDisabled", value=False)
    before = server.requests
    window.open(server.address)
    # The script has drawn everything at its first answer.
    wait_until(lambda: is_live(window, server, before))
    drawn = shapes_of(window)
    assert shapes.keys() == drawn.keys()
    for key, shape in shapes.items():
        assert close(shape, drawn[key]), f"{key}: {shape[:300]} is drawn as {drawn[key][:300]}"


def shapes_of(window: Browser) -> dict[str, str]:
    found: dict[str, str] = window.script(
        "return Object.fromEntries([...document.querySelectorAll('path[id], .st')].map((node) =>"
        " [node.id, node.getAttribute('d') || node.innerHTML]))"
    )
    return found


def close(one: str, other: str) -> bool:
    """True if two shapes differ at most by the rounding of values to whole kB/s and µs."""
    if "rect" in one or "H" in one:
        return one.replace("/>", "></rect>").split() == other.replace("/>", "></rect>").split()
    drawn = points(other)
    common = points(one).keys() & drawn.keys()
    return all(abs(points(one)[x] - drawn[x]) <= 0.45 for x in common)


def points(shape: str) -> dict[float, float]:
    """Returns the heights of a shape by x, without the corners of an area on the base line."""
    found = re.findall(r"(\d+) (-?[0-9.]+)", shape)
    inner = found[1:-1] if shape.endswith("Z") else found
    return {float(x): float(y) for x, y in inner}


def test_a_pause_keeps_the_numbers_until_the_reader_resumes(
    window: Browser, server: PageServer
) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    button = window.driver.find_element(By.TAG_NAME, "button")
    button.click()
    wait_until(lambda: text(window, ".dot") == "paused")
    # One request may have been on its way.
    wait_until(lambda: has_settled(window, server), "the pause")
    assert "Resume" == button.text
    asked = server.seconds
    button.click()
    wait_until(lambda: server.seconds > asked + 2)


def test_a_hidden_tab_asks_nothing(window: Browser, server: PageServer) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    first = window.driver.current_window_handle
    window.driver.switch_to.new_window("tab")
    try:
        # One request may have been on its way.
        wait_until(lambda: has_settled(window, server), "the pause")
        asked = server.seconds
    finally:
        window.driver.close()
        window.driver.switch_to.window(first)
    wait_until(lambda: server.seconds > asked + 2)


def test_a_server_that_does_not_answer_is_shown_and_the_numbers_stay(
    window: Browser, server: PageServer
) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    server.server.stop()
    wait_until(lambda: text(window, ".dot") == "no answer")
    assert "stale" in (window.driver.find_element(By.TAG_NAME, "html").get_attribute("class") or "")
    assert text(window, '[data-k="d0:wb"]')


def test_a_new_problem_appears_without_a_reload_by_the_reader(
    window: Browser, server: PageServer
) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    assert "nvme0n1 is healthy." == text(window, ".say")
    server.show("one in trouble")
    wait_until(lambda: "MySQL waits for nvme0n1" in text(window, ".say"))
    wait_until(lambda: "At its limit." in text(window, "#page"))
    assert window.driver.title.startswith("db1.example.net: nvme0n1: At its limit")
    assert [] == window.console()


def test_a_problem_that_appears_before_the_first_answer_is_shown(window: Browser) -> None:
    """The page that the server sent is that of the healthy host."""

    def host(request: int) -> HostView:
        return examples.one(request) if request == 1 else examples.one_in_trouble(request)

    server = PageServer({"one": host}, history())
    try:
        window.open(server.address)
        wait_until(lambda: "MySQL waits for nvme0n1" in text(window, ".say"))
        assert "At its limit." in text(window, "#page")
    finally:
        server.server.stop()


def test_open_details_stay_open_and_their_numbers_move(window: Browser, server: PageServer) -> None:
    server.show("24 healthy")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    window.driver.find_element(By.CSS_SELECTOR, "#rest summary").click()
    row = '#rest [data-k="d20:wb"]'
    before = text(window, row)
    wait_until(lambda: text(window, row) != before)
    server.show("24")
    wait_until(lambda: "nvme7n1 is at its limit" in text(window, ".say"))
    assert window.driver.find_element(By.ID, "rest").get_attribute("open")
    assert "summary" == window.script("return document.activeElement.localName")


def test_the_focus_stays_on_a_link_when_the_content_changes(
    window: Browser, server: PageServer
) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    window.script("document.querySelector('#page h3 a').focus()")
    server.show("one in trouble")
    wait_until(lambda: "At its limit." in text(window, "#page"))
    assert "/drive/nvme0n1" == window.script("return document.activeElement.getAttribute('href')")


def test_the_height_does_not_change_while_numbers_move(window: Browser, server: PageServer) -> None:
    server.show("most states")
    window.open(server.address, 768)
    wait_until(lambda: is_live(window, server))
    begun, heights = server.seconds, set()

    def ten_updates() -> bool:
        heights.add(window.script("return document.documentElement.scrollHeight"))
        return server.seconds > begun + 10

    wait_until(ten_updates)
    assert 1 == len(heights)


def test_a_page_with_a_password_and_a_rate_limit_stays_live(
    window: Browser, tmp_path: Path
) -> None:
    """A scrape interval of 15 s needs no more requests than this limit allows."""
    hashed = bcrypt.hashpw(b"swordfish", bcrypt.gensalt(4)).decode()
    config = tmp_path / "web.yml"
    config.write_text(
        f"basic_auth_users: {{a: {hashed}}}\nrate_limit: {{interval: 24h, burst: 6}}\n"
    )
    serving = PageServer(HOSTS, history(), config)
    try:
        window.open(serving.address.replace("//", "//a:swordfish@"))
        wait_until(lambda: is_live(window, serving) and serving.seconds > 8)
        assert "live" == text(window, ".dot")
    finally:
        serving.server.stop()


def test_the_policy_blocks_scripts_and_styles_of_others(
    window: Browser, server: PageServer
) -> None:
    window.open(server.address)
    window.script(
        "const script = document.createElement('script'); script.textContent = 'window.ran = 1';"
        "document.body.append(script);"
        "const image = new Image(); image.src = 'http://127.0.0.1:1/x.png';"
        "document.body.append(image); document.body.setAttribute('style', 'color: red')"
    )
    wait_until(lambda: len(window.script("return window.violations")) >= 3)
    assert window.script("return window.ran") is None
    assert {"script-src-elem", "img-src", "style-src-attr"} == set(
        window.script("return window.violations")
    )


@pytest.mark.parametrize(("name", "path"), PAGES)
def test_nothing_is_cut_off_at_any_width(
    window: Browser, server: PageServer, name: str, path: str
) -> None:
    server.show(name)
    for width in WIDTHS:
        window.open(server.address + path, width)
        found = window.script("return [document.documentElement.scrollWidth, innerWidth]")
        assert found[0] <= width, f"{name} {path} is {found[0]} wide at {width}"
        assert width == found[1]


@pytest.mark.parametrize(("name", "path"), PAGES)
def test_axe_finds_no_problem(window: Browser, server: PageServer, name: str, path: str) -> None:
    axe = (resources.files("axe_core_python") / "axe.min.js").read_text(encoding="utf-8")
    server.show(name)
    for width, scheme in ((1280, SCHEMES[0]), (360, SCHEMES[1])):
        window.open(server.address + path, width, scheme)
        window.script(axe)
        found: dict[str, Any] = window.script(
            "return axe.run(document, {resultTypes: ['violations']})"
        )
        problems = [
            (each["id"], each["nodes"][0]["html"][:200], each["nodes"][0].get("failureSummary"))
            for each in found["violations"]
        ]
        assert [] == problems, f"{name} {path} {width} {scheme}"
        assert found["passes"]


def test_the_page_is_complete_without_a_script(tmp_path: Path, server: PageServer) -> None:
    server.show("most states")
    with browser(tmp_path, with_scripts=False) as window:
        window.open(server.address)
        shown = window.driver.find_element(By.TAG_NAME, "body").text
    for words in ("nvme1n1 is at its limit", "reload for newer values", "MB/s", "Order a"):
        assert words in shown
    assert "Pause" not in shown
    assert "live" not in shown.splitlines()


def test_a_keyboard_reaches_the_content_first_and_then_the_button(
    window: Browser, server: PageServer
) -> None:
    server.show("one")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    body = window.driver.find_element(By.TAG_NAME, "body")
    focused = []
    for _ in range(3):
        body.send_keys(Keys.TAB)
        focused.append(window.driver.switch_to.active_element.text)
    assert ["Skip to the content", "Pause", "nvme0n1"] == focused
    body.send_keys(Keys.TAB)
    assert "slider" == window.driver.switch_to.active_element.get_attribute("role")


def test_a_pointer_and_the_arrow_keys_read_the_values_of_a_second(
    window: Browser, server: PageServer
) -> None:
    server.moves = False
    host = server.show("most states")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    drive = next(each for each in host.drives if each.name == "nvme1n1")
    assert drive.now is not None
    number = [each.name for each in host.drives].index("nvme1n1")
    line = window.driver.find_element(By.ID, f"q{number}")
    chart = window.driver.find_element(By.CSS_SELECTOR, f"#d{number} .aw .ch")

    def shown(back: int) -> bool:
        assert drive.now is not None
        read, written = drive.now.read_column[-1 - back], drive.now.written_column[-1 - back]
        words = (f"reads {megabytes(read)} MB/s", f"writes {megabytes(written)} MB/s")
        return all(each in line.text for each in words)

    ActionChains(window.driver).move_to_element(chart).perform()
    wait_until(lambda: any(shown(back) for back in (148, 149, 150, 151)), line.text)
    assert 2 == len(window.driver.find_elements(By.CSS_SELECTOR, f"#d{number} .cur"))
    line.send_keys(Keys.END)
    assert shown(0), line.text
    line.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert shown(2), line.text
    assert line.text.startswith("10:02:31"), line.text
    assert line.text.endswith("device")
    assert line.text == line.get_attribute("aria-valuetext")


def test_the_keyboard_alone_reaches_everything_and_shows_where_it_is(
    window: Browser, server: PageServer
) -> None:
    server.moves = False
    server.show("24")
    window.open(server.address)
    wait_until(lambda: is_live(window, server))
    count = window.script(
        "return [...document.querySelectorAll('a, button, summary, [tabindex]')]"
        ".filter((each) => each.checkVisibility()).length"
    )
    ActionChains(window.driver).send_keys(Keys.TAB * count).perform()
    focused = window.script("return window.focused")
    assert count == window.script("return reached.size") > 40
    assert [] == [each for each in focused if each[1] == "none" or each[2] < 2]
    window.script("document.querySelector('summary').focus()")
    ActionChains(window.driver).send_keys(Keys.ENTER).perform()
    assert "/data/23" in window.driver.find_element(By.ID, "rest").text
    window.script("document.querySelector('.re a').focus()")
    ActionChains(window.driver).send_keys(Keys.ENTER).perform()
    wait_until(lambda: "range=hour" in window.driver.current_url)


def test_last_night_is_found_from_the_live_page_by_links_alone(
    tmp_path: Path, server: PageServer
) -> None:
    server.show("most states")
    with browser(tmp_path, with_scripts=False) as window:
        window.open(f"{server.address}/drive/nvme1n1")
        window.driver.find_element(By.LINK_TEXT, "month").click()
        _, night_before = window.driver.find_elements(By.LINK_TEXT, "09:38 – 09:53")
        night_before.click()
        assert "range=hour&end=" in window.driver.current_url
        assert "Bottleneck: write cache" in text(window, "table.ev")
        window.driver.find_element(By.LINK_TEXT, "later").click()
        assert "Nothing is recorded for this time." in text(window, "#page")
        window.driver.find_element(By.LINK_TEXT, "all drives").click()
        assert "Disappeared" in text(window, "table.ev")


def test_the_stylesheet_is_the_one_of_the_scheme(window: Browser, server: PageServer) -> None:
    backgrounds = []
    for scheme in SCHEMES:
        window.open(server.address, 1280, scheme)
        backgrounds.append(window.script("return getComputedStyle(document.body).backgroundColor"))
    assert ["rgb(251, 251, 250)", "rgb(16, 18, 20)"] == backgrounds


@pytest.mark.parametrize(
    ("name", "path", "sheets"),
    [
        ("most states", "/", 4),
        ("24", "/", 2),
        ("24 healthy", "/", 1),
        ("most states", "/drive/nvme1n1", 2),
        ("most states", "/drive/nvme1n1?range=day", 3),
        ("most states", "/events", 1),
    ],
)
def test_a_printed_page_is_dark_on_white_complete_and_dated(
    window: Browser, server: PageServer, name: str, path: str, sheets: int
) -> None:
    server.moves = False
    server.show(name)
    window.open(server.address + path, PAPER_WIDTH, "dark", "print")
    found = window.script(PRINTED)
    assert ["rgb(255, 255, 255)", "rgb(25, 27, 29)"] == found["colours"]
    assert 0 == found["controls"] == found["closed"]
    assert re.search(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["date"]), found["date"]
    assert found["smallest"] >= 8
    assert found["width"] <= PAPER_WIDTH
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    printed = base64.b64decode(window.command("Page.printToPDF", **paper)["data"])
    assert 1 <= len(re.findall(rb"/Type /Page\b", printed)) <= sheets


@pytest.mark.parametrize(("motion", "period"), [("no-preference", 1000), ("reduce", 5000)])
def test_with_reduced_motion_values_change_every_five_seconds(
    window: Browser, server: PageServer, motion: str, period: int
) -> None:
    server.show("one")
    window.open(server.address, features={"prefers-reduced-motion": motion})
    wait_until(lambda: bool(window.script("return window.delays.length")))
    delays = window.script("return window.delays")
    assert all(period - 1000 < each <= period for each in delays), delays
    assert 0 == window.script(
        "return [...document.querySelectorAll('*')].map((each) => getComputedStyle(each))"
        ".filter((each) => each.animationName !== 'none' || each.transitionDuration !== '0s'"
        " || each.scrollBehavior !== 'auto').length"
    )


@pytest.mark.parametrize(("name", "scheme"), [("most states", "dark"), ("24", "light")])
def test_forced_colours_leave_every_mark_visible(
    window: Browser, server: PageServer, name: str, scheme: str
) -> None:
    server.show(name)
    window.open(server.address, 1280, scheme, features={"forced-colors": "active"})
    canvas = "rgb(0, 0, 0)" if scheme == "dark" else "rgb(255, 255, 255)"
    ground = window.script("return getComputedStyle(document.body).backgroundColor")
    assert canvas == ground
    drawn = window.script(DRAWN)
    faint = [each for each in drawn if contrast(each[1], canvas) < 3]
    assert len(drawn) >= 15
    assert [] == faint
    if name == "24":
        edges = window.script(
            "return [...document.querySelectorAll('.cells a')].map((each) =>"
            " [each.className.includes('mis'), parseFloat(getComputedStyle(each).borderWidth)])"
        )
        assert {(False, 1), (True, 3)} == {tuple(each) for each in edges}


def contrast(one: str, other: str) -> float:
    """Returns the contrast of two colours as in WCAG 2: 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_pictures_in_the_documents_are_small() -> None:
    pictures = sorted((Path(__file__).parents[2] / "docs" / "pictures").rglob("page-*.png"))
    assert len(pictures) >= 50
    assert {} == {
        p.name: p.stat().st_size for p in pictures if not 5_000 < p.stat().st_size < 150_000
    }
