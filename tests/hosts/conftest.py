"""Fixture: the pages of the recorded hosts."""

import pytest

from tests.hosts.host import FOLDERS, Host
from tests.hosts.page import Page, Pages


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Returns a function from a host's name to its page; each host runs once per session."""
    known: dict[str, Page] = {}

    def of(name: str) -> Page:
        if name not in known:
            host = Host(FOLDERS / name, tmp_path_factory.mktemp("host"))
            known[name] = Page(host.play().page())
        return known[name]

    return of
