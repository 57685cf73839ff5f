"""Caches the rendered metrics page: it is rendered on request and at most once per sample."""

import gzip
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from exporter.metrics.desc import Sample
from exporter.metrics.exposition import render

#: Level 1 takes half the time of level 6, and its result is 10 % larger (`make bench`).
_GZIP_LEVEL = 1

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Page(NamedTuple):
    """A response body and its content headers."""

    content_type: str
    encoding: str
    body: bytes


class PageCache:
    """The page in both formats, plain and compressed, cached until the next tick.

    samples: returns the samples of the page. tick: returns a number that changes when the sampler
    has taken a sample.
    """

    def __init__(self, samples: Callable[[], Iterable[Sample]], tick: Callable[[], int]) -> None:
        self._samples = samples
        self._tick = tick
        self._lock = threading.Lock()
        self._rendered_at = -1
        self._bodies: dict[tuple[bool, bool], bytes] = {}

    def page(self, accept: str, accept_encoding: str) -> Page:
        """Returns the page in the format and encoding that the client prefers."""
        openmetrics = _prefers_openmetrics(accept)
        compressed = _accepts_gzip(accept_encoding)
        return Page(
            _OPENMETRICS if openmetrics else _TEXT,
            "gzip" if compressed else "",
            self._body(openmetrics, compressed),
        )

    def _body(self, openmetrics: bool, compressed: bool) -> bytes:
        # Concurrent requests wait for the same rendering instead of starting their own.
        with self._lock:
            tick = self._tick()
            if tick != self._rendered_at:
                self._bodies.clear()
                self._rendered_at = tick
            plain = self._bodies.get((openmetrics, False))
            if plain is None:
                plain = render(self._samples(), openmetrics=openmetrics)
                self._bodies[openmetrics, False] = plain
            if not compressed:
                return plain
            packed = self._bodies.get((openmetrics, True))
            if packed is None:
                packed = gzip.compress(plain, _GZIP_LEVEL, mtime=0)
                self._bodies[openmetrics, True] = packed
            return packed


def _prefers_openmetrics(accept: str) -> bool:
    """Returns True if OpenMetrics 1 is accepted with at least the quality of the text format.

    prometheus_client's choose_encoder is not used: it raises an exception for `version=x`, and
    returns version 2 on request.
    """
    openmetrics = text = 0.0
    for media, parameters, quality in _choices(accept):
        if media == "application/openmetrics-text":
            if parameters.get("version", "1.0.0") == "1.0.0":
                openmetrics = max(openmetrics, quality)
        elif media in ("text/plain", "text/*", "*/*"):
            text = max(text, quality)
    return openmetrics > 0 and openmetrics >= text


def _accepts_gzip(accept_encoding: str) -> bool:
    qualities = {coding: quality for coding, _, quality in _choices(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _choices(header: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Parses an Accept or Accept-Encoding header.

    Yields each name with its parameters and its quality: 1 by default, 0 if it is not a number.
    """
    for choice in header.split(","):
        name, *rest = (part.strip().lower() for part in choice.split(";"))
        parameters = dict(parameter.split("=", 1) for parameter in rest if "=" in parameter)
        try:
            yield name, parameters, float(parameters.get("q", "1"))
        except ValueError:
            yield name, parameters, 0.0
