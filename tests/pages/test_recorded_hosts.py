"""The pages of all recorded hosts, which include broken ones: each page is complete."""

import json
import re
from pathlib import Path

import pytest

from exporter.pages.live_pages import LivePages
from exporter.web.http_message import Request
from tests.hosts.host import FOLDERS, Host, folders
from tests.pages.test_pages import Outline


class Site:
    """The pages of a recorded host after its last step."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.host = Host(folder, place).play()
        self._pages = LivePages(self.host.monitor, lambda: "")

    def get(self, path: str, query: str = "") -> str:
        answer = self._pages.respond(Request("GET", path, query, {}))
        assert answer is not None
        assert 200 == answer.status
        return answer.body.decode()

    def links(self) -> list[str]:
        page = Outline(self.get("/"))
        return sorted({each for each in page.addresses if each.startswith("/drive/")})


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: folder.name)
def test_the_pages_of_a_host_are_well_formed(folder: Path, tmp_path: Path) -> None:
    site = Site(folder, tmp_path)
    page = Outline(site.get("/"))
    assert len(page.ids) == len(set(page.ids))
    for link in site.links()[:20]:
        of_drive = Outline(site.get(link))
        assert len(of_drive.ids) == len(set(of_drive.ids)), link
        assert "Identity and mounts" in of_drive.text
    data = json.loads(site.get("/live.json", "since=0&all=1"))
    assert data["n"] == site.host.monitor.sampler.recent.number


def text_of(name: str, place: Path, path: str = "/") -> str:
    return Outline(Site(FOLDERS / name, place).get(path)).text


def test_the_saturated_drive_of_mysql_is_named(tmp_path: Path) -> None:
    text = text_of("mysql-nvme-6.1", tmp_path)
    assert "MySQL data" in text


def test_a_drive_that_vanished_is_missing_and_one_that_fails_is_critical(tmp_path: Path) -> None:
    assert "ssd-exporter forget" in text_of("smart-drive-vanishes", tmp_path)


def test_a_failing_drive_says_what_to_do_on_its_page(tmp_path: Path) -> None:
    text = text_of("smart-nvme", tmp_path, "/drive/nvme1n1")
    assert "91 % of its rated endurance is used" in text
    assert "ssd_smart_media_errors_total" in text


def test_a_hanging_drive_is_shown(tmp_path: Path) -> None:
    text = text_of("hanging-nvme", tmp_path)
    assert "equests of nvme0n1 hang" in text
    assert "Requests hung for 4 of the last" in text
    assert "journalctl -k" in text


def test_a_drive_behind_a_controller_has_its_own_page(tmp_path: Path) -> None:
    site = Site(FOLDERS / "smart-megaraid", tmp_path)
    behind = [link for link in site.links() if "megaraid" in link]
    assert behind
    assert "Behind a controller" in Outline(site.get(behind[0])).text


def test_a_host_without_smart_data_is_not_called_healthy(tmp_path: Path) -> None:
    text = text_of("mysql-nvme-6.1", tmp_path)
    assert "No drive provides SMART data." in text
    assert "drives are healthy" not in text


def test_the_wear_of_an_emmc_is_a_range(tmp_path: Path) -> None:
    text = text_of("emmc-board", tmp_path, "/drive/mmcblk0")
    assert "10-20 % of its rated endurance is used." in text
    assert "10-20 % used" in text
    assert "Source: mmc_life_time." in text


def test_a_worn_out_emmc_is_critical_on_the_page(tmp_path: Path) -> None:
    text = text_of("emmc-worn-out", tmp_path)
    assert "100+ % of its rated endurance is used" in text
    assert "t most 10 % of its spare blocks are left; its limit is 10 %" in text


def test_the_footer_says_how_many_drives_do_not_answer(tmp_path: Path) -> None:
    text = text_of("smart-drive-vanishes", tmp_path)
    assert re.search(r"SMART read .* ago, no answer of 1 drive", text)
