"""The joins in docs/joins.md use existing metrics and return the expected series."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.alerts import rules
from tests.alerts.catalogue import KNOWN
from tests.end_to_end.programs import need
from tests.processes import run_program

TEXT = (Path(__file__).parents[2] / "docs" / "joins.md").read_text()
QUERIES = [query.strip() for query in re.findall(r"```promql\n(.*?)```", TEXT, re.DOTALL)]

NVME = {"device": "nvme0n1", "serial": "FW1"}
MEMBERS = tuple({"device": f"bus/0:megaraid,{n}", "serial": f"M{n}"} for n in (2, 3))


def _series(name: str, values: str, **labels: str) -> list[dict[str, str]]:
    """The series of two hosts with the same name in two clusters."""
    return [
        {
            "series": f"{name}{{"
            + ",".join(
                f"{key}={json.dumps(value)}"
                for key, value in {
                    "cluster": cluster,
                    "instance": "db1",
                    "job": "ssd",
                    **labels,
                }.items()
            )
            + "}",
            "values": values,
        }
        for cluster in ("a", "b")
    ]


SERIES = [
    *_series("ssd_device_info", "1x20", **NVME, model="F900"),
    *_series("ssd_mount_info", "1x20", device="nvme0n1", mountpoint="/var/lib/mysql"),
    *_series("ssd_device_role_info", "1x20", device="nvme0n1", role="mysql-data"),
    *_series("ssd_device_role_info", "1x20", device="nvme0n1", role="mysql-redo"),
    *(
        series
        for port in ("3306", "3307")
        for role in ("mysql-data", "mysql-redo")
        for series in _series(
            "ssd_device_role_server_info", "1x20", device="nvme0n1", role=role, port=port
        )
    ),
    *_series("ssd_smart_media_errors_total", "2x20", **NVME),
    *_series("ssd_smart_endurance_used_ratio", "0.25x20", **NVME),
    *_series("ssd_smart_endurance_used_ratio", "0.5x20", **MEMBERS[0]),
    *_series("ssd_smart_endurance_used_ratio", "0.75x20", **MEMBERS[1]),
    *_series("ssd_device_block_info", "1x20", device="bus/0:megaraid,2", block="sda"),
    *_series("ssd_device_block_info", "1x20", device="bus/0:megaraid,3", block="sda"),
    *_series("ssd_disk_saturated_seconds_total", "0+60x20", device="nvme0n1"),
    *_series("ssd_disk_saturated_seconds_total", "0+60x20", device="sda"),
]

#: The labels besides those of the target, and the value, of the results of each query.
EXPECTED: tuple[tuple[tuple[dict[str, str], float], ...], ...] = (
    (({**NVME, "model": "F900"}, 2.0),),
    tuple(({**NVME, "role": role}, 0.25) for role in ("mysql-data", "mysql-redo")),
    (({"device": "nvme0n1"}, 1.0),),
    (({"device": "nvme0n1"}, 1.0),),
    (({"block": "sda"}, 0.75),),
    (({"device": "sda"}, 0.75),),
    (({"__name__": "ssd_device_info", **NVME, "model": "F900"}, 1.0),),
)


@pytest.mark.parametrize("query", QUERIES)
def test_every_metric_of_a_join_exists(query: str) -> None:
    assert set() == rules.metrics(query) - set(KNOWN)
    assert all(
        "cluster, job, instance" in labels for labels in re.findall(r"\(cluster.*?\)", query)
    )


@pytest.mark.real
def test_the_joins_return_the_series_of_each_cluster(tmp_path: Path) -> None:
    need("promtool")
    checks: list[dict[str, Any]] = [
        {
            "expr": query,
            "eval_time": "10m",
            "exp_samples": [
                {"labels": _shown({**labels, "cluster": cluster}), "value": value}
                for cluster in ("a", "b")
                for labels, value in expected
            ],
        }
        for query, expected in zip(QUERIES, EXPECTED, strict=True)
    ]
    story = {"tests": [{"interval": "1m", "input_series": SERIES, "promql_expr_test": checks}]}
    file = tmp_path / "joins.yml"
    file.write_text(json.dumps(story))
    done = run_program(["promtool", "test", "rules", str(file)])
    assert 0 == done.returncode, done.stdout + done.stderr


def _shown(labels: dict[str, str]) -> str:
    name = labels.pop("__name__", "")
    every = {**labels, "instance": "db1", "job": "ssd"}
    pairs = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(every.items()))
    return f"{name}{{{pairs}}}"
