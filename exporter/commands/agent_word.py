"""The agent's word: whether it is to be believed, and what it says."""

from collections.abc import Callable

from exporter.background.documents import DocumentReader
from exporter.background.drives import is_live
from exporter.clock import Clock
from exporter.config import SmartSettings, SmartSource
from exporter.errors import ReadError, SourceError
from exporter.tools.document import PollDocument, Roll, poll_document, roll


def heartbeat(smart: SmartSettings, clock: Clock) -> Roll | None:
    """The agent's, if it is fresh; None where it is not to be asked for.

    Raises:
        SourceError: there is none, it is not believed, or it is old.
    """
    if smart.source is SmartSource.EXEC:
        return None
    found = roll(DocumentReader(smart.directory).roll())
    now = clock.wall()
    if not is_live(found, now):
        age = now - found.at
        raise ReadError(f"{smart.directory}: the last heartbeat is {age:.0f} s old")
    return found


def read(smart: SmartSettings, take: Callable[[PollDocument], None]) -> str:
    """Pass the agent's documents to `take`; why some are not believed, for people, else empty."""
    refused: list[SourceError] = []
    try:
        for _, text in DocumentReader(smart.directory).changed():
            if isinstance(text, SourceError):
                refused.append(text)
                continue
            try:
                take(poll_document(text))
            except SourceError as e:
                refused.append(e)
    except SourceError as e:
        refused.append(e)
    if not refused:
        return ""
    more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
    return f"the agent's word is not believed: {refused[0]}{more}"
