"""Starts Prometheus and Thanos with the same targets and the same rules."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rigs.fleet import engine, history, page, rule_files, thanos_flags
from rigs.fleet.engine import Engine
from rigs.fleet.targets import Target, scrape_config
from rigs.fleet.thanos_flags import Ports
from stack.programs import HOST, Program, prometheus

PROMETHEUS, THANOS = "Prometheus", "Thanos"


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine does.

    pages: port of the pages of all targets. scrape: interval. compared: whether the rules have
    short waits. alertmanager: "host:port", "" for none. native: histograms are stored as native
    ones, which requires Prometheus 3.
    """

    targets: Sequence[Target]
    pages: int
    scrape: str
    compared: bool = False
    alertmanager: str = ""
    native: bool = False

    def write_rules(self, directory: Path) -> str:
        if self.compared:
            return rule_files.write_compared(directory)
        return rule_files.write_measured(directory)

    def scraping(self) -> dict[str, Any]:
        """Returns the configuration of scrapes."""
        config = scrape_config(self.targets, self.pages)
        if self.native:
            config["convert_classic_histograms_to_nhcb"] = True
        return {
            "global": {"scrape_interval": self.scrape, "evaluation_interval": "30s"},
            "scrape_configs": [config],
        }


@contextmanager
def running_prometheus(
    work: Work, directory: Path, *, name: str = PROMETHEUS, binary: str = ""
) -> Iterator[Engine]:
    """A Prometheus that scrapes and evaluates.

    binary: the path of another Prometheus than that of the package.
    """
    with engine.running(name, directory) as its:
        history.write(directory / "prometheus", work.targets, page.lines())
        document = work.scraping()
        document["rule_files"] = [work.write_rules(directory / "rules")]
        if work.alertmanager:
            manager = {"static_configs": [{"targets": [work.alertmanager]}]}
            document["alerting"] = {"alertmanagers": [manager]}
        config = directory / "prometheus.yml"
        config.write_text(json.dumps(document))
        (its.queries,) = engine.free_ports(1)
        its.rules = its.queries
        program = prometheus(its.queries, directory, config)
        its.quiet = _quiet_prometheus
        binaries = (binary,) if binary else program.binaries
        flags = (*program.flags, "--web.enable-lifecycle")
        its.start(replace(program, binaries=binaries, flags=flags))
        yield its


def _quiet_prometheus(its: Engine) -> None:
    (its.directory / "prometheus.yml").write_text("{}")
    engine.post(f"http://{HOST}:{its.rules}/-/reload")


@contextmanager
def running_thanos(thanos: Path, work: Work, directory: Path) -> Iterator[Engine]:
    """A Prometheus that only scrapes and sends, and Thanos: Receive, Store, Query and Rule."""
    with engine.running(THANOS, directory) as its:
        history.write(directory / "bucket", work.targets, page.lines(), thanos_flags.BLOCK_LABELS)
        count = thanos_flags.INGESTORS + 4
        numbers = engine.free_ports(4 * count + 1)
        every = [Ports(*numbers[4 * at : 4 * at + 4]) for at in range(count)]
        router, store, query, rule, *ingestors = every
        its.queries, its.rules = query.http, rule.http
        rules = work.write_rules(directory / "rules")
        its.quiet = _quiet_thanos
        for number, ports in enumerate(ingestors, 1):
            its.start(thanos_flags.ingestor(thanos, number, ports, directory))
        its.start(thanos_flags.router(thanos, router, ingestors, directory))
        its.start(thanos_flags.store(thanos, store, directory))
        its.start(thanos_flags.query(thanos, query, [*ingestors, store, rule]))
        its.start(_agent(work, numbers[-1], router.write, directory))
        its.start(
            thanos_flags.rule(
                thanos,
                rule,
                query.http,
                directory,
                rules=rules,
                alertmanager=work.alertmanager,
            )
        )
        yield its


def _agent(work: Work, port: int, write: int, directory: Path) -> Program:
    document = work.scraping()
    document["remote_write"] = [{"url": f"http://{HOST}:{write}/api/v1/receive"}]
    config = directory / "agent.yml"
    config.write_text(json.dumps(document))
    flags = (
        "--enable-feature=agent",
        f"--config.file={config}",
        f"--storage.agent.path={directory / 'agent'}",
        f"--web.listen-address={HOST}:{port}",
    )
    return Program("prometheus-agent", ("prometheus",), "prometheus", port, "", "/-/ready", flags)


def _quiet_thanos(its: Engine) -> None:
    its.stop("prometheus-agent")
    rule_files.write_nothing(its.directory / "rules")
    engine.post(f"http://{HOST}:{its.rules}/-/reload")
