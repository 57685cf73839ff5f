"""The page: rendered at most once a tick, and only when somebody asks."""

import gzip
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from prometheus_client.exposition import choose_encoder

from exporter.exposition import render
from exporter.metrics.desc import Sample

#: Half the time of level 6 for a tenth more bytes (`make bench`).
_GZIP_LEVEL = 4


class Page(NamedTuple):
    """A body, and the headers that belong to it."""

    content_type: str
    encoding: str
    body: bytes


class Pages:
    """Pages of the last sample in both formats, plain and compressed, kept until the next tick."""

    def __init__(self, samples: Callable[[], Iterable[Sample]], tick: Callable[[], int]) -> None:
        self._samples = samples
        self._tick = tick
        self._lock = threading.Lock()
        self._rendered_at = -1
        self._bodies: dict[tuple[bool, bool], bytes] = {}

    def page(self, accept: str, accept_encoding: str) -> Page:
        """The page in what the client understands best."""
        _, content_type = choose_encoder(accept)
        openmetrics = content_type.startswith("application/openmetrics-text")
        compressed = _accepts_gzip(accept_encoding)
        return Page(content_type, "gzip" if compressed else "", self._body(openmetrics, compressed))

    def _body(self, openmetrics: bool, compressed: bool) -> bytes:
        # Whoever comes while a page is made waits for that one instead of making another.
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


def _accepts_gzip(accept_encoding: str) -> bool:
    for coding, quality in _codings(accept_encoding):
        if coding in ("gzip", "*"):
            return quality > 0
    return False


def _codings(accept_encoding: str) -> Iterator[tuple[str, float]]:
    for part in accept_encoding.split(","):
        coding, _, parameters = part.partition(";")
        quality = parameters.strip().removeprefix("q=")
        try:
            yield coding.strip().lower(), float(quality) if parameters.strip() else 1.0
        except ValueError:
            yield coding.strip().lower(), 0.0
