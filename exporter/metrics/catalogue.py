"""Every family there is, by subject."""

from collections.abc import Iterable, Iterator
from types import ModuleType

from exporter.metrics import compat, cpu, disk, identity, own, probe, smart
from exporter.metrics.desc import Desc

SUBJECTS: tuple[tuple[str, ModuleType], ...] = (
    ("Identity, topology, state", identity),
    ("SMART", smart),
    ("Block I/O", disk),
    ("CPU and pressure", cpu),
    ("fio probes", probe),
    ("The exporter itself", own),
    ("node_exporter's own families (`--compat.node-exporter`)", compat),
)


def families(subject: ModuleType) -> Iterator[Desc]:
    """The families of one subject, in the order in which they are written down."""
    for name, value in vars(subject).items():
        if not name.startswith("__"):
            yield from _in(value)


def _in(value: object) -> Iterable[Desc]:
    if isinstance(value, Desc):
        return (value,)
    if isinstance(value, dict):
        return tuple(item for item in value.values() if isinstance(item, Desc))
    return ()
