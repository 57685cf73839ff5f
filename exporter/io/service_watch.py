"""Reads the I/O of all services periodically, and keeps the totals and the last rates.

One thread calls `refresh`. Other threads read the attributes, which are replaced as a whole. A
scrape therefore reads no file of a service.
"""

from collections.abc import Callable, Mapping

from exporter.config.settings import Settings
from exporter.io.services import DeviceServices, GroupDeltas, ServiceIo, ServiceRate, ServiceRules
from exporter.linux import cgroup
from exporter.linux.topology import Topology
from exporter.runtime.clock import Clock
from exporter.runtime.errors import NotAvailable, Parsed

#: Time between two readings in seconds. A reading of 500 groups takes about 10 ms of CPU time.
REFRESH_SECONDS = 10.0

#: The same on hosts that do not count I/O by service, where a reading only checks for a change.
_UNAVAILABLE_SECONDS = 120.0

_SOME_UNCOUNTED = (
    "the services in {} are counted together, because the io controller is not enabled for them; "
    "set DefaultIOAccounting=yes in /etc/systemd/system.conf and reboot"
)


class ServiceWatch:
    """The I/O of the services of this host.

    Arguments:
    settings, topology: return the current settings and topology.
    is_exported: returns True for the names of devices to export.

    Attributes:
    rates: the busiest services in the last interval, keyed by device; those with the most bytes
        first. The last one may be `services.OTHER`. A device without I/O of services is omitted.
    totals: the totals of the named services since the start and of `OTHER`, keyed by device.
    problem: why the rates are unknown, or which services are not counted one by one, and what to
        do; else empty.
    refresh_seconds: the time until the next call of `refresh`.
    """

    def __init__(
        self,
        clock: Clock,
        settings: Callable[[], Settings],
        topology: Callable[[], Topology | None],
        is_exported: Callable[[str], bool],
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._topology = topology
        self._is_exported = is_exported
        self._deltas = GroupDeltas()
        self._devices: dict[str, DeviceServices] = {}
        self._read_at: float | None = None
        self.rates: Mapping[str, tuple[ServiceRate, ...]] = {}
        self.totals: Mapping[str, tuple[tuple[str, ServiceIo], ...]] = {}
        self.problem = ""
        self.refresh_seconds = REFRESH_SECONDS

    def refresh(self) -> Parsed[None]:
        """Reads the counters of all services once.

        Raises:
            NotAvailable: the host does not count I/O by service. `problem` states the reason.
        """
        settings = self._settings()
        busiest = settings.cgroup.services
        if not busiest:
            return Parsed(None)
        try:
            parsed = cgroup.read_services(cgroup.unified_root(settings.path.sysfs))
        except NotAvailable as e:
            self.problem, self.refresh_seconds = str(e), _UNAVAILABLE_SECONDS
            self.rates, self._read_at = {}, None
            raise
        self.refresh_seconds = REFRESH_SECONDS
        tree, now = parsed.value, self._clock.monotonic()
        uncounted = ", ".join(tree.uncounted)
        self.problem = _SOME_UNCOUNTED.format(uncounted) if uncounted else ""
        devices = self.names_by_number()
        amounts = self._deltas.advance(tree.groups, devices, is_complete=tree.is_complete)
        seconds = 0.0 if self._read_at is None else now - self._read_at
        self._read_at = now
        for device in self._devices.keys() - set(devices.values()):
            del self._devices[device]
        for device in amounts.keys() - self._devices.keys():
            self._devices[device] = DeviceServices()
        owners = map(cgroup.owning_service, self.configured_groups())
        always = frozenset(name for name in owners if name is not None)
        for device, services in self._devices.items():
            services.advance(
                now, seconds, amounts.get(device, {}), always, ServiceRules(busiest=busiest)
            )
        self.totals = {name: services.totals() for name, services in sorted(self._devices.items())}
        self.rates = {name: s.rates for name, s in self._devices.items() if s.rates}
        return Parsed(None, parsed.faults)

    def configured_groups(self) -> list[str]:
        """Returns the paths of the control groups of MySQL servers and of the settings."""
        topology = self._topology()
        servers = [] if topology is None else [server.cgroup for server in topology.servers]
        return [*filter(None, servers), *self._settings().cgroup.groups]

    def names_by_number(self) -> dict[str, str]:
        """Returns the names of the exported devices, keyed by "major:minor"."""
        topology = self._topology()
        return {
            device.block.number: name
            for name, device in ({} if topology is None else topology.devices).items()
            if device.block.number is not None and self._is_exported(name)
        }
