"""MySQL I/O triage: does MySQL wait for the drive, or the drive for nobody?

MySQL's side comes from mysqld_exporter, which names its targets by another port: the hidden
variable `host` is the instance without its port, and joins the two.
"""

from dashboards import promql as q
from dashboards import thresholds as t
from dashboards import words
from dashboards.drive_panels import PROBE_RUNS, REPLACED
from dashboards.frame import Dashboard, Row, Variable, drive_variable, host_variables
from dashboards.host_io_cpu import pressure
from dashboards.mysql_queries import NO_SERVER, of_server, queries, status
from dashboards.panel_parts import DRIVE, HOST, Panel, Query, Size
from dashboards.panels import states, timeline, value

_TILE = Size(4, 6)
_THIRD = Size(8, 8)

#: MariaDB and Percona tell it as a status, MySQL as an InnoDB metric: of "recovery" until 5.7, and
#: of "log" since. The collector info_schema.innodb_metrics must be on for the latter.
_CHECKPOINT_AGES = (
    "mysql_global_status_innodb_checkpoint_age",
    "mysql_info_schema_innodb_metrics_recovery_log_lsn_checkpoint_age",
    "mysql_info_schema_innodb_metrics_log_log_lsn_checkpoint_age",
)


def _on_mysql(expression: str) -> str:
    """Of the drives that a MySQL server uses, by its own command line and option files."""
    role = q.of_drive("ssd_device_role_info", 'role=~"mysql-.+"')
    return f"({expression}) and {q.ON_DRIVE} {role}"


def _now() -> tuple[Panel, ...]:
    return (
        value(
            "What holds MySQL's drives back",
            "The exporter's verdict on the drives that MySQL uses. Green with slow queries: it is "
            "locks, plans or the CPU. Red: find the query that reads or writes so much first.",
            "none",
            Query(_on_mysql(q.verdict())),
            words=words.VERDICT,
            size=Size(8, 6),
            nothing="no drive known as MySQL's",
        ),
        value(
            "Flush await",
            "What each commit waits for, with innodb_flush_log_at_trx_commit=1 and sync_binlog=1.",
            "s",
            Query(_on_mysql(q.mean_await("flush"))),
            steps=t.FLUSH,
            size=_TILE,
            nothing="no flushes",
        ),
        value(
            "Threads running",
            "Above the number of CPUs, queries wait for one another or for I/O.",
            "short",
            Query(status("threads_running"), HOST),
            size=_TILE,
            nothing=NO_SERVER,
        ),
        value(
            "Waits for room in the redo log",
            "Times a second that the log buffer was full: the redo drive cannot keep up, or "
            "innodb_log_buffer_size is small. Any is too many.",
            "ops",
            Query(q.rate(status("innodb_log_waits")), HOST),
            steps=t.WAITS,
            size=_TILE,
            nothing=NO_SERVER,
        ),
        value(
            "Waits for a free page",
            "Times a second that a query had to wait until a dirty page was written: page cleaning "
            "does not keep up. Any is too many.",
            "ops",
            Query(q.rate(status("innodb_buffer_pool_wait_free")), HOST),
            steps=t.WAITS,
            size=_TILE,
            nothing=NO_SERVER,
        ),
        states(
            "What held MySQL's drives back, over time",
            "Compare with the queries below: which came first?",
            Query(_on_mysql(q.verdict())),
            words.VERDICT,
            size=_THIRD,
            nothing="no drive known as MySQL's",
        ),
        timeline(
            "Await of MySQL's drives: reads, writes, flushes",
            "What the drive takes for a request. Compare with fsyncs pending beside it.",
            "s",
            *(
                Query(_on_mysql(q.mean_await(kind)), f"{kind} {DRIVE}")
                for kind in ("read", "write", "flush")
            ),
            steps=t.AWAIT,
            size=_THIRD,
            nothing="no drive known as MySQL's",
        ),
        pressure(_THIRD),
    )


def _waits() -> tuple[Panel, ...]:
    pages = "mysql_global_status_buffer_pool_pages"
    dirty = of_server(pages, 'state="dirty"')
    return (
        timeline(
            "Pending: fsyncs, reads, writes",
            "What InnoDB has asked for and not got yet. Above a few for long, beside a drive that "
            "is full: the drive. Beside an idle drive: the filesystem or the host.",
            "short",
            Query(status("innodb_data_pending_fsyncs"), "data fsyncs {{instance}}"),
            Query(status("innodb_os_log_pending_fsyncs"), "log fsyncs {{instance}}"),
            Query(status("innodb_data_pending_reads"), "reads {{instance}}"),
            Query(status("innodb_data_pending_writes"), "writes {{instance}}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "fsyncs by MySQL, and flushes of its drives",
            "Fewer flushes than fsyncs are fsyncs that share one; more are another's, or the "
            "filesystem's journal.",
            "ops",
            Query(q.rate(status("innodb_os_log_fsyncs")), "log fsyncs {{instance}}"),
            Query(q.rate(status("innodb_data_fsyncs")), "all fsyncs {{instance}}"),
            Query(_on_mysql(q.iops("flush_requests")), f"flushes {DRIVE}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Checkpoint age",
            "Redo written and not yet safe in the data files. Near the log's size, InnoDB stops "
            "queries to flush: the log is small for this write rate, or the data drive is slow.",
            "bytes",
            Query(" or ".join(of_server(name) for name in _CHECKPOINT_AGES), HOST),
            size=_THIRD,
            nothing="MySQL needs --collect.info_schema.innodb_metrics",
        ),
        timeline(
            "Queue of MySQL's drives: mean",
            "Requests in flight.",
            "short",
            Query(
                _on_mysql(
                    q.ratio(
                        q.rate(q.of_drive("ssd_disk_queue_depth_sum")),
                        q.rate(q.of_drive("ssd_disk_queue_depth_count")),
                    )
                )
            ),
            size=_THIRD,
            nothing="no drive known as MySQL's",
        ),
        timeline(
            "Redo and pages written a second",
            "Redo bytes, and dirty pages flushed at 16 KiB. Flushing in bursts is a checkpoint "
            "that presses: see its age.",
            "Bps",
            Query(q.rate(status("innodb_os_log_written")), "redo {{instance}}"),
            Query(
                q.rate(
                    of_server(
                        "mysql_global_status_buffer_pool_page_changes_total", 'operation="flushed"'
                    )
                )
                + " * 16384",
                "pages {{instance}}",
            ),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Dirty share of the buffer pool",
            "Above innodb_max_dirty_pages_pct InnoDB flushes as hard as innodb_io_capacity_max "
            "allows. Higher capacity than the drive has only makes a queue.",
            "percentunit",
            Query(
                q.ratio(f"sum {q.BY_HOST} ({dirty})", f"sum {q.BY_HOST} ({of_server(pages)})"), HOST
            ),
            most=1,
            size=_THIRD,
            nothing=NO_SERVER,
        ),
    )


DASHBOARD = Dashboard(
    uid="ssd-mysql",
    title="SSD / MySQL I/O triage",
    description="Does MySQL wait for its drive, for the CPU, or for itself? Needs mysqld_exporter.",
    variables=(
        *host_variables(),
        drive_variable(),
        Variable(
            "host",
            'ssd_exporter_build_info{job=~"$job", instance=~"$instance"}',
            "instance",
            pattern=r"/^(.+?)(?::\d+)?$/",
            is_hidden=True,
        ),
        Variable("mysql_job", "mysql_up", "job", all_value=".+"),
        Variable(
            "mysql_instance",
            'mysql_up{job=~"$mysql_job", instance=~"$host(:[0-9]+)?"}',
            "instance",
        ),
    ),
    annotations=(REPLACED, PROBE_RUNS),
    rows=(
        Row("Does MySQL wait for its drive?", _now()),
        Row("What does InnoDB wait for?", _waits()),
        Row("Or is it the queries?", queries()),
    ),
)
