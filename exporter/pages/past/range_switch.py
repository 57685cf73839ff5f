"""Builds the links to the times that a drive's page can show. Pure. The live page has them too."""

from exporter.pages.drive_section import link_to
from exporter.pages.past.time_range import KINDS


def switch(name: str, current: str) -> str:
    """Returns the links to the times that a drive's page can show.

    name: the name of the drive.
    current: the word of the time that is shown; empty for the live page.
    """
    words = (("", "5 minutes"), *((word, word) for word in KINDS))
    parts = [
        f'<b aria-current="page">{text}</b>'
        if word == current
        else f'<a href="{link_to(name)}{f"?range={word}" if word else ""}">{text}</a>'
        for word, text in words
    ]
    return f'<nav class="sw" aria-label="Time shown">{" · ".join(parts)}</nav>'
