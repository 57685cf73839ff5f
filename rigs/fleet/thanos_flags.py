"""The command lines of Thanos' components. Everything listens on loopback only."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.programs import HOST, Program

#: Number of Receive instances that store series, and on how many of them each series is.
INGESTORS, REPLICATION = 3, 2
#: Labels that distinguish equal series: of the Receive instances, and of the Rule instances.
RECEIVE_LABEL, RULE_LABEL = "receive_replica", "rule_replica"
#: Label that Receive adds to every series. There is one tenant only, so Query removes it too.
TENANT_LABEL, TENANT = "tenant_id", "default-tenant"
#: External labels of the blocks in the bucket.
BLOCK_LABELS = {RECEIVE_LABEL: "history", TENANT_LABEL: TENANT}


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of one component."""

    http: int
    grpc: int
    write: int
    capnproto: int


def hashring(ingestors: Sequence[Ports]) -> str:
    """Returns the configuration of a hashring of these Receive instances, as JSON."""
    endpoints = [
        {"address": f"{HOST}:{each.grpc}", "capnproto_address": f"{HOST}:{each.capnproto}"}
        for each in ingestors
    ]
    return json.dumps([{"hashring": "all", "endpoints": endpoints}])


def endpoints(components: Sequence[Ports]) -> str:
    """Returns the configuration of the components that Query reads, as JSON.

    None of them is strict: Query omits an instance that does not answer.
    """
    return json.dumps({"endpoints": [{"address": f"{HOST}:{each.grpc}"} for each in components]})


def bucket(directory: Path) -> str:
    """Returns the configuration of a bucket in the filesystem, as JSON."""
    return json.dumps({"type": "FILESYSTEM", "config": {"directory": str(directory)}})


def ingestor(thanos: Path, number: int, ports: Ports, directory: Path) -> Program:
    """A Receive instance that stores series."""
    name = f"receive-{number}"
    flags = (
        f'--label={RECEIVE_LABEL}="{number}"',
        f"--tsdb.path={directory / name}",
        "--tsdb.retention=1d",
    )
    return _component(thanos, name, ("receive", *flags, *_receive(ports)), ports)


def router(thanos: Path, ports: Ports, ingestors: Sequence[Ports], directory: Path) -> Program:
    """A Receive instance that accepts remote write and distributes it among the ingestors."""
    flags = (
        f'--label={RECEIVE_LABEL}="router"',
        f"--tsdb.path={directory / 'router'}",
        f"--receive.hashrings={hashring(ingestors)}",
        "--receive.hashrings-algorithm=ketama",
        f"--receive.replication-factor={REPLICATION}",
    )
    return _component(thanos, "receive-router", ("receive", *flags, *_receive(ports)), ports)


def store(thanos: Path, ports: Ports, directory: Path) -> Program:
    flags = (
        f"--data-dir={directory / 'store'}",
        f"--objstore.config={bucket(directory / 'bucket')}",
        *_common(ports),
    )
    return _component(thanos, "store", ("store", *flags), ports)


def query(thanos: Path, ports: Ports, components: Sequence[Ports]) -> Program:
    flags = (
        f"--endpoint.sd-config={endpoints(components)}",
        *(f"--query.replica-label={label}" for label in (RECEIVE_LABEL, RULE_LABEL, TENANT_LABEL)),
        # The replicas of Receive have the same samples. The default algorithm compares replicas
        # that scraped at different times, and after an outage it skips samples.
        "--deduplication.func=chain",
        *_common(ports),
    )
    return _component(thanos, "query", ("query", *flags), ports)


def rule(
    thanos: Path,
    ports: Ports,
    query_port: int,
    directory: Path,
    *,
    rules: str,
    alertmanager: str,
) -> Program:
    """Rule with the files of the pattern `rules`; alertmanager: "host:port", "" for none."""
    flags = (
        f"--rule-file={rules}",
        f"--query=http://{HOST}:{query_port}",
        f'--label={RULE_LABEL}="a"',
        f"--alert.label-drop={RULE_LABEL}",
        f"--data-dir={directory / 'rule'}",
        "--eval-interval=30s",
        *((f"--alertmanagers.url=http://{alertmanager}",) if alertmanager else ()),
        *_common(ports),
    )
    return _component(thanos, "rule", ("rule", *flags), ports)


def _receive(ports: Ports) -> tuple[str, ...]:
    return (
        f"--remote-write.address={HOST}:{ports.write}",
        f"--receive.capnproto-address={HOST}:{ports.capnproto}",
        *_common(ports),
    )


def _common(ports: Ports) -> tuple[str, ...]:
    return (f"--http-address={HOST}:{ports.http}", f"--grpc-address={HOST}:{ports.grpc}")


def _component(thanos: Path, name: str, flags: tuple[str, ...], ports: Ports) -> Program:
    return Program(name, (), "", ports.http, "", "/-/ready", (str(thanos), *flags))
