"""The configuration of Thanos and its build."""

import json
from pathlib import Path

import pytest

from rigs.fleet import thanos_build, thanos_flags
from rigs.fleet.thanos_flags import Ports

PORTS = [Ports(*range(first, first + 4)) for first in range(10_000, 10_400, 100)]
THANOS = Path("/cache/thanos")
PLACE = Path("/place")


def all_flags() -> dict[str, tuple[str, ...]]:
    router, *ingestors = PORTS
    programs = [
        thanos_flags.router(THANOS, router, ingestors, PLACE),
        thanos_flags.ingestor(THANOS, 1, PORTS[1], PLACE),
        thanos_flags.store(THANOS, PORTS[2], PLACE),
        thanos_flags.query(THANOS, PORTS[3], PORTS[:2]),
        thanos_flags.rule(THANOS, PORTS[0], 9, PLACE, rules="/r/*.yml", alertmanager="a:1"),
    ]
    return {program.name: program.flags for program in programs}


def test_the_hashring_has_the_grpc_address_of_every_ingestor() -> None:
    (ring,) = json.loads(thanos_flags.hashring(PORTS[:2]))
    assert ["127.0.0.1:10001", "127.0.0.1:10101"] == [each["address"] for each in ring["endpoints"]]
    assert "127.0.0.1:10003" == ring["endpoints"][0]["capnproto_address"]


def test_a_series_is_on_fewer_instances_than_exist() -> None:
    assert 1 < thanos_flags.REPLICATION < thanos_flags.INGESTORS


@pytest.mark.parametrize("name", list(all_flags()))
def test_every_component_listens_on_loopback_only(name: str) -> None:
    addresses = [flag.partition("=")[2] for flag in all_flags()[name] if "-address=" in flag]
    assert len(addresses) >= 2
    assert all(address.startswith("127.0.0.1:") for address in addresses)


def test_receive_listens_for_writes_and_replicas_on_loopback_too() -> None:
    flags = all_flags()
    for name in ("receive-1", "receive-router"):
        text = " ".join(flags[name])
        assert "--remote-write.address=127.0.0.1:" in text
        assert "--receive.capnproto-address=127.0.0.1:" in text


def test_query_removes_the_labels_that_distinguish_replicas() -> None:
    flags = all_flags()
    removed = {flag.partition("=")[2] for flag in flags["query"] if "replica-label" in flag}
    assert {"receive_replica", "rule_replica", "tenant_id"} == removed
    assert set(thanos_flags.BLOCK_LABELS) <= removed
    assert "--alert.label-drop=rule_replica" in flags["rule"]


def test_no_endpoint_is_strict() -> None:
    (flag,) = (each for each in all_flags()["query"] if each.startswith("--endpoint"))
    assert "strict" not in flag


def test_the_name_of_the_program_changes_with_the_module(tmp_path: Path) -> None:
    names = set()
    for number in range(2):
        module = tmp_path / str(number)
        module.mkdir()
        (module / "go.mod").write_text(f"module test{number}\n")
        (module / "go.sum").write_text("")
        names.add(thanos_build.executable(module, tmp_path).name)
    assert 2 == len(names)


def test_the_module_pins_one_version_of_thanos() -> None:
    text = (Path(thanos_build.__file__).parent / "thanos" / "go.mod").read_text()
    assert "github.com/thanos-io/thanos v0.41.0 " in text
    assert "tool github.com/thanos-io/thanos/cmd/thanos\n" in text
