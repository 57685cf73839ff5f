"""MySQL's own numbers, and what its queries do."""

from dashboards import promql as q
from dashboards.panel_parts import HOST, Panel, Query, Size
from dashboards.panels import timeline

NO_SERVER = "no mysqld_exporter on this host"
_SERVER = 'job=~"$mysql_job", instance=~"$mysql_instance"'
_THIRD = Size(8, 8)


def of_server(name: str, *matchers: str) -> str:
    """A family of mysqld_exporter's."""
    return f"{name}{{{', '.join((_SERVER, *matchers))}}}"


def status(name: str) -> str:
    """A line of SHOW GLOBAL STATUS."""
    return of_server(f"mysql_global_status_{name}")


def queries() -> tuple[Panel, ...]:
    handlers = "mysql_global_status_handlers_total"
    return (
        timeline(
            "Buffer pool: reads that had to go to the drive",
            "Pages a second that were not in memory. A rise with the same queries is a pool that "
            "is too small, or a scan that pushes the rest out.",
            "ops",
            Query(q.rate(status("innodb_buffer_pool_reads")), HOST),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Rows read by scanning, and by index",
            "Scans far above index reads are queries without an index: they keep any drive at "
            "100 %. Mend them before the drive.",
            "ops",
            Query(q.rate(of_server(handlers, 'handler="read_rnd_next"')), "scanned {{instance}}"),
            Query(q.rate(of_server(handlers, 'handler="read_key"')), "by index {{instance}}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Full scans, full joins, temporary tables on disk",
            "Each is I/O that a better query or index would not make.",
            "ops",
            Query(q.rate(status("select_scan")), "scans {{instance}}"),
            Query(q.rate(status("select_full_join")), "full joins {{instance}}"),
            Query(
                q.rate(status("created_tmp_disk_tables")), "temporary tables on disk {{instance}}"
            ),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Queries and slow queries",
            "Fewer queries with a longer queue: something holds them. More of both: more work.",
            "ops",
            Query(q.rate(status("questions")), "queries {{instance}}"),
            Query(q.rate(status("slow_queries")), "slow {{instance}}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Waits for row locks",
            "Queries that wait for one another and not for the drive.",
            "ops",
            Query(q.rate(status("innodb_row_lock_waits")), HOST),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Binary log transactions that did not fit in memory",
            "Large transactions written to a temporary file and then again to the binary log: "
            "binlog_cache_size.",
            "ops",
            Query(q.rate(status("binlog_cache_disk_use")), HOST),
            size=_THIRD,
            nothing="no binary log, or " + NO_SERVER,
        ),
    )
