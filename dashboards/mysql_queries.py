"""Panels on MySQL's status variables and queries."""

from dashboards import promql as q
from dashboards.panel_parts import HOST, Panel, Query, Size
from dashboards.panels import timeline

NO_SERVER = "no mysqld_exporter on this host"
_SERVER = 'job=~"$mysql_job", instance=~"$mysql_instance"'
_THIRD = Size(8, 8)


def of_server(name: str, *matchers: str) -> str:
    """Selects a metric of mysqld_exporter on the selected servers."""
    return f"{name}{{{', '.join((_SERVER, *matchers))}}}"


def status(name: str) -> str:
    """Selects a variable of SHOW GLOBAL STATUS."""
    return of_server(f"mysql_global_status_{name}")


def queries() -> tuple[Panel, ...]:
    handlers = "mysql_global_status_handlers_total"
    return (
        timeline(
            "Buffer pool misses",
            "Pages per second that were read from the drive because they were not in memory. If "
            "the queries are unchanged, the buffer pool is too small or a scan evicts its pages.",
            "ops",
            Query(q.rate(status("innodb_buffer_pool_reads")), HOST),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Rows read by scan and by index",
            "Many more rows by scan than by index mean queries without an index. They saturate "
            "any drive: fix them before you replace the drive.",
            "ops",
            Query(q.rate(of_server(handlers, 'handler="read_rnd_next"')), "by scan {{instance}}"),
            Query(q.rate(of_server(handlers, 'handler="read_key"')), "by index {{instance}}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Full scans, full joins, temporary tables on disk",
            "I/O that a better query or index avoids.",
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
            "If there are fewer queries while the queue of the drive grows, something blocks them. "
            "If both increase, the load has grown.",
            "ops",
            Query(q.rate(status("questions")), "queries {{instance}}"),
            Query(q.rate(status("slow_queries")), "slow {{instance}}"),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Row lock waits",
            "Queries that wait for each other and not for the drive.",
            "ops",
            Query(q.rate(status("innodb_row_lock_waits")), HOST),
            size=_THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Binary log transactions larger than the cache",
            "Large transactions are written to a temporary file and then to the binary log. "
            "Raise binlog_cache_size.",
            "ops",
            Query(q.rate(status("binlog_cache_disk_use")), HOST),
            size=_THIRD,
            nothing="no binary log, or " + NO_SERVER,
        ),
    )
