"""Caches the metrics page. It is rendered on request, at most once per reading of the sampler."""

import threading
import zlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from exporter.families.desc import MetricDesc, Sample, SampleBlock
from exporter.metrics.exposition import rendered_families
from exporter.metrics.negotiation import accepts_gzip, choices
from exporter.runtime.collector_status import CollectorStatus
from exporter.runtime.errors import BugError, Parsed, SourceError

#: Level 1 takes half the time of level 6, and its result is 10 % larger (`make bench`).
_GZIP_LEVEL = 1
#: The value of zlib for the gzip format.
_GZIP_FORMAT = 31
#: The size of the tables of zlib, 1 to 9. With 6, the result is smaller and takes less time than
#: with the default of 8, because the tables fit better into the CPU's caches.
_GZIP_MEMORY = 6

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class Page(NamedTuple):
    """The metrics page as a response body, with the values of its header fields.

    content_type: the value of Content-Type.
    encoding: the value of Content-Encoding; empty if the body is not compressed.
    """

    content_type: str
    encoding: str
    body: bytes


class PageCache:
    """Renders the metrics page on request, and caches it until the sampler has read new values.

    The cache has the page in the text format and in OpenMetrics, each in the encodings that were
    requested. A server usually requests only a compressed page, which takes a tenth of the memory.
    The plain page is then never in memory as a whole.

    samples: returns the samples of the page.
    tick: returns a number that changes when the sampler has read new values.
    collector_status: receives the families that could not be rendered.
    """

    def __init__(
        self,
        samples: Callable[[], Iterable[Sample | SampleBlock]],
        tick: Callable[[], int],
        collector_status: CollectorStatus,
    ) -> None:
        self._samples = samples
        self._tick = tick
        self._collector_status = collector_status
        self._lock = threading.Lock()
        self._rendered_at = -1
        self._bodies: dict[tuple[bool, bool], bytes] = {}

    def page(self, accept: str, accept_encoding: str) -> Page:
        """Returns the page in the format and the encoding that the client prefers.

        Several threads may call it.

        accept, accept_encoding: the values of these header fields; empty if they are missing.
        """
        openmetrics = _prefers_openmetrics(accept)
        compressed = accepts_gzip(accept_encoding)
        return Page(
            _OPENMETRICS if openmetrics else _TEXT,
            "gzip" if compressed else "",
            self._body(openmetrics, compressed),
        )

    def _body(self, openmetrics: bool, compressed: bool) -> bytes:
        # The lock makes concurrent requests wait for one rendering. Without it, each would render.
        with self._lock:
            tick = self._tick()
            if tick != self._rendered_at:
                self._bodies.clear()
                self._rendered_at = tick
            body = self._bodies.get((openmetrics, compressed))
            if body is None:
                other = self._bodies.get((openmetrics, not compressed))
                if other is None:
                    body = self._rendered(openmetrics=openmetrics, compressed=compressed)
                else:
                    body = _compressed([other]) if compressed else _decompressed(other)
                self._bodies[openmetrics, compressed] = body
            return body

    def _rendered(self, *, openmetrics: bool, compressed: bool) -> bytes:
        """Returns the page without the families that cannot be rendered.

        Raises:
            BugError: the samples could not be collected at all.
        """
        faults: list[SourceError] = []

        def omit(desc: MetricDesc, error: Exception) -> None:
            faults.append(BugError(error, f"{desc.name} is omitted"))

        def render() -> Parsed[bytes]:
            parts = rendered_families(self._samples(), openmetrics=openmetrics, on_error=omit)
            body = (_compressed if compressed else b"".join)(parts)
            return Parsed(body, tuple(faults))

        body = self._collector_status.collect("page", "render", render)
        if body is None:
            raise BugError(RuntimeError("the page could not be rendered"))
        return body


def _compressed(parts: Iterable[bytes]) -> bytes:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_FORMAT, _GZIP_MEMORY)
    packed = [compressor.compress(part) for part in parts]
    return b"".join((*packed, compressor.flush()))


def _decompressed(body: bytes) -> bytes:
    return zlib.decompress(body, _GZIP_FORMAT)


def _prefers_openmetrics(accept: str) -> bool:
    """True if the client accepts OpenMetrics 1, with at least the quality value of the text format.

    prometheus_client's choose_encoder is not used: it raises an exception for `version=x`, and
    returns OpenMetrics 2 on request.
    """
    openmetrics = text = 0.0
    for media, parameters, quality in choices(accept):
        if media == "application/openmetrics-text":
            if parameters.get("version", "1.0.0") == "1.0.0":
                openmetrics = max(openmetrics, quality)
        elif media in ("text/plain", "text/*", "*/*"):
            text = max(text, quality)
    return openmetrics > 0 and openmetrics >= text
