"""A page as tests ask it, read by prometheus_client's parser."""

from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


class Page:
    """All samples of a page, found by name and labels."""

    def __init__(self, text: str) -> None:
        self.samples: list[Sample] = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def value(self, name: str, **labels: str) -> float | None:
        """The value of the one series with at least these labels; None where there is none."""
        found = [s.value for s in self._found(name, labels)]
        assert len(found) <= 1, f"{len(found)} series of {name} have {labels}"
        return found[0] if found else None

    def rows(self, name: str, *labels: str) -> set[tuple[str, ...]]:
        """The values of these labels on the series of a family that are not 0."""
        return {
            tuple(s.labels[label] for label in labels) for s in self._found(name, {}) if s.value
        }

    def names(self, prefix: str) -> set[str]:
        """The samples that there are, by name."""
        return {s.name for s in self.samples if s.name.startswith(prefix)}

    def devices(self, prefix: str) -> set[str]:
        """The devices of which there is any sample under names that begin so."""
        found = (s for s in self.samples if s.name.startswith(prefix))
        return {s.labels["device"] for s in found if "device" in s.labels}

    def below(self, name: str, edge: str, **labels: str) -> float | None:
        """The weight in a histogram up to an edge."""
        return self.value(f"{name}_bucket", le=edge, **labels)

    def verdict(self, device: str) -> str | None:
        """The one cause that is 1; None where the device is not judged."""
        causes = [s for s in self._found("ssd_io_bottleneck", {"device": device}) if s.value]
        assert len(causes) <= 1
        return causes[0].labels["cause"] if causes else None

    def failed(self) -> dict[str, float]:
        """The collectors whose last reading was not whole, with their parse errors."""
        return {
            collector: sum(
                self.value("ssd_collector_errors_total", collector=collector, reason=reason) or 0
                for reason in ("parse", "read")
            )
            for collector in (
                s.labels["collector"]
                for s in self._found("ssd_collector_success", {})
                if s.value == 0
            )
        }

    def _found(self, name: str, labels: dict[str, str]) -> list[Sample]:
        return [s for s in self.samples if s.name == name and labels.items() <= s.labels.items()]


#: A machine's name to its page.
Pages = Callable[[str], Page]
