"""Dashboard that compares the waits of MySQL with the load of the drives that MySQL uses.

MySQL's metrics come from mysqld_exporter, whose targets have another port. The hidden variable
`host` is the instance without its port and joins both exporters.
"""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders import words
from dashboards.builders.frame import (
    PROBE_RUNS,
    REPLACED,
    Dashboard,
    Row,
    Variable,
    drive_variable,
    host_variables,
)
from dashboards.builders.panel_parts import DRIVE, HOST, THIRD, Panel, Query, Size
from dashboards.builders.panels import states, timeline, value
from dashboards.host_io_cpu import pressure
from dashboards.mysql_queries import (
    NO_AGE,
    NO_SERVER,
    checkpoint_age,
    dirty_share,
    largest_age,
    of_server,
    queries,
    status,
    triage,
)

_TILE = Size(4, 6)


def _on_mysql(expression: str) -> str:
    """Restricts an expression to drives that a MySQL server uses."""
    role = q.of_drive("ssd_device_role_info", 'role=~"mysql-.+"')
    return f"({expression}) and {q.ON_DRIVE} {role}"


def _now() -> tuple[Panel, ...]:
    return (
        value(
            "Bottleneck of MySQL's drives",
            "The exporter's verdict on the drives that MySQL uses. If it is green and queries are "
            "slow, investigate locks, query plans or the CPU. If it is red, first find the "
            "queries that cause the load.",
            "none",
            Query(_on_mysql(q.verdict())),
            words=words.VERDICT,
            size=Size(8, 6),
            nothing="no drive detected as MySQL's",
        ),
        value(
            "Flush await",
            "Every commit waits for a flush with innodb_flush_log_at_trx_commit=1 and "
            "sync_binlog=1.",
            "s",
            Query(_on_mysql(q.mean_await("flush"))),
            steps=t.FLUSH,
            size=_TILE,
            nothing="no flushes",
        ),
        value(
            "Threads running",
            "Above the number of CPUs, queries wait for a CPU, for each other or for I/O.",
            "short",
            Query(status("threads_running"), HOST),
            size=_TILE,
            nothing=NO_SERVER,
        ),
        value(
            "Redo log waits",
            "Waits per second for space in the log buffer. The normal value is 0. Otherwise the "
            "redo drive is too slow, or innodb_log_buffer_size is too small.",
            "ops",
            Query(q.rate(status("innodb_log_waits")), HOST),
            steps=t.WAITS,
            size=_TILE,
            nothing=NO_SERVER,
        ),
        value(
            "Free page waits",
            "Waits per second of queries for the write of a dirty page. The normal value is 0. "
            "Otherwise page cleaning is too slow.",
            "ops",
            Query(q.rate(status("innodb_buffer_pool_wait_free")), HOST),
            steps=t.WAITS,
            size=_TILE,
            nothing=NO_SERVER,
        ),
    )


def _over_time() -> tuple[Panel, ...]:
    return (
        states(
            "Bottleneck of MySQL's drives over time",
            "Compare with the queries below: did the queries or the bottleneck change first?",
            Query(_on_mysql(q.verdict())),
            words.VERDICT,
            size=THIRD,
            nothing="no drive detected as MySQL's",
        ),
        timeline(
            "Await of MySQL's drives",
            "Mean time of a request in the queue and in the drive. Compare with the pending "
            "fsyncs below.",
            "s",
            *(
                Query(_on_mysql(q.mean_await(kind)), f"{kind} {DRIVE}")
                for kind in ("read", "write", "flush")
            ),
            steps=t.AWAIT,
            size=THIRD,
            nothing="no drive detected as MySQL's",
        ),
        pressure(THIRD),
    )


def _waits() -> tuple[Panel, ...]:
    return (
        timeline(
            "Pending fsyncs, reads and writes",
            "Requests of InnoDB that have not completed. If there are more than a few for a long "
            "time, the cause is the drive if it is saturated, and the filesystem or host if the "
            "drive is idle. MariaDB does not count pending fsyncs of the redo log: use the flush "
            "await.",
            "short",
            Query(status("innodb_data_pending_fsyncs"), "fsyncs"),
            Query(status("innodb_os_log_pending_fsyncs"), "redo log fsyncs (MySQL only)"),
            Query(status("innodb_data_pending_reads"), "reads"),
            Query(status("innodb_data_pending_writes"), "writes"),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "fsyncs by MySQL, and flushes of its drives",
            "Fewer flushes than fsyncs: several fsyncs share a flush. More flushes: other "
            "programs or the filesystem journal cause them. MariaDB counts fsyncs of the redo log "
            "among all fsyncs only.",
            "ops",
            Query(q.rate(status("innodb_os_log_fsyncs")), "redo log fsyncs (MySQL only)"),
            Query(q.rate(status("innodb_data_fsyncs")), "all fsyncs"),
            Query(_on_mysql(q.iops("flush_requests")), f"flushes {DRIVE}"),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Checkpoint age and its maximum",
            "Redo log bytes that are not yet written to the data files. Near the maximum (MySQL: "
            "80 % of the redo log) InnoDB stops queries to flush pages: the log is too small for "
            "this write rate, or the data drive is slow.",
            "decbytes",
            Query(checkpoint_age(), "age"),
            Query(largest_age(), "maximum"),
            size=THIRD,
            nothing=NO_AGE,
        ),
        timeline(
            "Queue depth of MySQL's drives: mean",
            "Requests in flight.",
            "short",
            Query(_on_mysql(q.mean("ssd_disk_queue_depth"))),
            size=THIRD,
            nothing="no drive detected as MySQL's",
        ),
        timeline(
            "Redo and pages written per second",
            "Redo bytes, and dirty pages of 16 KiB. Flushing in bursts means that the checkpoint "
            "age is near its limit.",
            "Bps",
            Query(q.rate(status("innodb_os_log_written")), "redo"),
            Query(
                q.rate(
                    of_server(
                        "mysql_global_status_buffer_pool_page_changes_total", 'operation="flushed"'
                    )
                )
                + " * 16384",
                "pages",
            ),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Dirty share of the buffer pool",
            "Above innodb_max_dirty_pages_pct InnoDB flushes at innodb_io_capacity_max. A value "
            "above the capability of the drive only lengthens the queue.",
            "percentunit",
            Query(dirty_share(), "dirty"),
            maximum=1,
            size=THIRD,
            nothing=NO_SERVER,
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-mysql",
    title="SSD / MySQL I/O triage",
    description=(
        "Does MySQL wait for its drives, for the CPU, or for its own locks? Requires "
        "mysqld_exporter."
    ),
    variables=(
        *host_variables(is_single=True),
        drive_variable(),
        Variable(
            "host",
            f"ssd_exporter_build_info{{{q.HOST}}}",
            "instance",
            pattern=r"/^(.+?)(?::\d+)?$/",
            is_hidden=True,
        ),
        Variable("mysql_job", 'mysql_up{cluster=~"$cluster"}', "job", all_value=".+"),
        Variable(
            "mysql_instance",
            'mysql_up{cluster=~"$cluster", job=~"$mysql_job", instance=~"$host(:[0-9]+)?"}',
            "instance",
            is_single=True,
        ),
    ),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Is it the drive?", _now()),
        Row("Or is it the queries? Factors compare with the same hour of last week", triage()),
        Row("MySQL's drives over time", _over_time()),
        Row("InnoDB waits", _waits()),
        Row("Queries", queries()),
    ),
)
