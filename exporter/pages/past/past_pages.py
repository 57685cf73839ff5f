"""Answers requests for pages of the past: an hour, a day or a month of a drive, and all events."""

from collections.abc import Callable

from exporter.pages.past.event_list import events_page
from exporter.pages.past.past_reader import PastReader
from exporter.pages.past.past_section import past_sections
from exporter.pages.past.time_range import parsed_before, parsed_range
from exporter.pages.views import DriveView, HostView


class PastPages:
    """Builds the pages of the past. Several threads may call the methods.

    reader: reads the files of the history.
    identity: returns the identity of a drive; see `DriveEvents.identity`.
    """

    def __init__(self, reader: PastReader, identity: Callable[[str, str], str]) -> None:
        self._reader = reader
        self._identity = identity

    def sections(self, view: HostView, drive: DriveView, query: str) -> str | None:
        """Returns the charts and events of the time that a query names; None if it names none."""
        shown = parsed_range(query, view.at)
        if shown is None:
            return None
        identity = self._identity(drive.facts.identity, drive.name)
        past = self._reader.past(shown, identity)
        return past_sections(view, drive, past, self._reader.is_open)

    def events(self, view: HostView, query: str, assets: str) -> str:
        """Returns the page `/events`. assets: the version of the stylesheets."""
        found = self._reader.events(parsed_before(query, view.at))
        return events_page(view, found, self._reader.is_open, assets)
