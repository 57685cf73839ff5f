"""Stand-ins for two of the three edges: the clock and the programs. The third is a root path."""

from collections.abc import Mapping, Sequence

from exporter.errors import CommandError


class FakeClock:
    """A clock that stands until it is told to go on."""

    def __init__(self, monotonic: float = 1000.0, wall: float = 1_700_000_000.0) -> None:
        self._monotonic = monotonic
        self._boottime = monotonic
        self._wall = wall
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float:
        return self._boottime

    def wall(self) -> float:
        return self._wall

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Time passes."""
        self._monotonic += seconds
        self._boottime += seconds
        self._wall += seconds

    def suspend(self, seconds: float) -> None:
        """The machine sleeps: the monotonic clock stands still meanwhile."""
        self._boottime += seconds
        self._wall += seconds

    def step_wall(self, seconds: float) -> None:
        """Somebody sets the time of day."""
        self._wall += seconds


class FakeRunner:
    """Prints what it is told for an argument list, and knows no other program."""

    def __init__(self, outputs: Mapping[tuple[str, ...], str | CommandError] | None = None) -> None:
        self._outputs = dict(outputs or {})
        self.ran: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], timeout: float) -> str:
        self.ran.append(tuple(argv))
        output = self._outputs.get(tuple(argv), CommandError(f"{argv[0]}: not found"))
        if isinstance(output, CommandError):
            raise output
        return output
