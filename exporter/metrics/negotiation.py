"""Parses the header fields in which a client lists the formats and encodings that it accepts.

The metrics page and the pages for people use it (RFC 9110, sections 12.4.2 and 12.5.3).
"""

from collections.abc import Iterator


def accepts_gzip(accept_encoding: str) -> bool:
    """Returns True if a response may be compressed with gzip.

    accept_encoding: the value of the field Accept-Encoding; empty if it is missing.
    """
    qualities = {coding: quality for coding, _, quality in choices(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def choices(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yields the choices of an Accept or Accept-Encoding header: name, parameters and quality.

    The quality is 1 if it is not given, and 0 if it is not a number.
    """
    for choice in header.split(","):
        name, *rest = (part.strip().lower() for part in choice.split(";"))
        parameters = dict(parameter.split("=", 1) for parameter in rest if "=" in parameter)
        try:
            yield name, parameters, float(parameters.get("q", "1"))
        except ValueError:
            yield name, parameters, 0.0
