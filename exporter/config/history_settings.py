"""The settings of the I/O history and of the links of the pages for people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """The I/O of each drive per minute and hour, which is kept in the state directory.

    enabled: False writes and reads nothing.

    days: minutes are kept for this number of days before today, 1 to 31.

    months: hours and events are kept for this number of months before this one, 1 to 12.
    """

    enabled: bool = True
    days: int = 7
    months: int = 2


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Addresses that the pages link to. Nothing is requested from them.

    grafana: the address of Grafana or of a dashboard in it, such as "https://grafana.example.org/".

    prometheus: the address of the Prometheus server.
    """

    grafana: str = ""
    prometheus: str = ""
