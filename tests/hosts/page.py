"""Queries on a page for tests. prometheus_client parses the page."""

from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample


class Page:
    """All samples of a page, with queries by name and labels."""

    def __init__(self, text: str) -> None:
        self.samples: list[Sample] = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def value(self, name: str, **labels: str) -> float | None:
        """Returns the value of the only series with at least these labels; None without one."""
        found = [s.value for s in self._found(name, labels)]
        assert len(found) <= 1, f"{len(found)} series of {name} have {labels}"
        return found[0] if found else None

    def rows(self, name: str, *labels: str) -> set[tuple[str, ...]]:
        """Returns the values of these labels for all series of a family whose value is not 0."""
        return {
            tuple(s.labels[label] for label in labels) for s in self._found(name, {}) if s.value
        }

    def names(self, prefix: str) -> set[str]:
        """Returns the names of samples with this prefix."""
        return {s.name for s in self.samples if s.name.startswith(prefix)}

    def devices(self, prefix: str) -> set[str]:
        """Returns the devices with a sample whose name has this prefix."""
        found = (s for s in self.samples if s.name.startswith(prefix))
        return {s.labels["device"] for s in found if "device" in s.labels}

    def below(self, name: str, edge: str, **labels: str) -> float | None:
        """Returns the cumulative count of a histogram up to a bucket's edge."""
        return self.value(f"{name}_bucket", le=edge, **labels)

    def verdict(self, device: str) -> str | None:
        """Returns the cause whose value is 1; None if the device has no verdict."""
        causes = [s for s in self._found("ssd_io_bottleneck", {"device": device}) if s.value]
        assert len(causes) <= 1
        return causes[0].labels["cause"] if causes else None

    def failed(self) -> dict[str, float]:
        """Returns the collectors that failed, with their numbers of parse and read errors."""
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


#: Returns the page of the host with this name.
Pages = Callable[[str], Page]
