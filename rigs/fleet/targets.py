"""The simulated hosts as targets of Prometheus."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from stack.programs import HOST

_JOB = "ssd"
#: Hosts of a cluster in the measurement.
_CLUSTER_SIZE = 100


class Target(NamedTuple):
    """A host: the labels of its target. Two clusters may have hosts with the same name."""

    cluster: str
    instance: str

    @property
    def path(self) -> str:
        """URL path of the page of the host."""
        return f"/{self.cluster}/{self.instance}"

    def labels(self) -> tuple[tuple[str, str], ...]:
        """Returns the labels that Prometheus adds to each series of the host, sorted."""
        return (("cluster", self.cluster), ("instance", self.instance), ("job", _JOB))


def fleet(hosts: int) -> list[Target]:
    """Returns `hosts` targets in clusters of 100."""
    return [
        Target(f"cluster{number // _CLUSTER_SIZE:02d}", f"db{number:04d}")
        for number in range(hosts)
    ]


def scrape_config(targets: Sequence[Target], port: int) -> dict[str, Any]:
    """Returns the scrape configuration of all targets, whose pages one loopback port serves."""
    return {
        "job_name": _JOB,
        "static_configs": [
            {
                "targets": [f"{HOST}:{port}"],
                "labels": {
                    "cluster": target.cluster,
                    "instance": target.instance,
                    "__metrics_path__": target.path,
                },
            }
            for target in targets
        ],
    }
