"""Panels on MySQL's status variables and queries."""

from dashboards.builders import promql as q
from dashboards.builders import thresholds as t
from dashboards.builders.panel_parts import HOST, THIRD, Panel, Query, Size
from dashboards.builders.panels import timeline, value

NO_SERVER = "no mysqld_exporter on this host"
NO_AGE = "no server, or MySQL before 8.0.30"
_SERVER = 'cluster=~"$cluster", job=~"$mysql_job", instance=~"$mysql_instance"'
_TILE = Size(4, 5)
_ON_HOST = "(cluster, job, instance)"

#: Unit of a factor: "3.2 ×".
_TIMES = "suffix: ×"

#: Divisors below these are noise: one event in an hour, in events per second; and one per cent.
_LEAST_RATE, _LEAST_SHARE = 1 / 3600, 0.01


def of_server(name: str, *matchers: str) -> str:
    """Selects a metric of mysqld_exporter on the selected servers."""
    return f"{name}{{{', '.join((_SERVER, *matchers))}}}"


def status(name: str) -> str:
    """Selects a variable of SHOW GLOBAL STATUS."""
    return of_server(f"mysql_global_status_{name}")


def dirty_share() -> str:
    """Dirty pages as a share of the buffer pool.

    mysqld_exporter exposes dirty pages as a metric of their own. The pages with state "old" are a
    part of those with state "data".
    """
    dirty = of_server("mysql_global_status_buffer_pool_dirty_pages")
    pages = of_server("mysql_global_status_buffer_pool_pages", 'state=~"data|free|misc"')
    return f"sum {q.BY_HOST} ({dirty}) / (sum {q.BY_HOST} ({pages}) > 0)"


#: Approximate share of its redo log that MySQL fills before queries wait. MySQL 9.7 reserves 17 %
#: of 100 MiB (log_free_check_capacity() in log0chkp.cc), and filled 74 % of 8 MiB in a test.
_USABLE = 0.8


def checkpoint_age() -> str:
    """Checkpoint age in bytes: of MariaDB, or of MySQL since 8.0.30."""
    lsn = status("innodb_redo_log_current_lsn")
    at = status("innodb_redo_log_checkpoint_lsn")
    return f"{status('innodb_checkpoint_age')} or on {_ON_HOST} ({lsn} - {at})"


def largest_age() -> str:
    """Checkpoint age in bytes from which queries wait: of MariaDB, or of MySQL since 8.0.30."""
    capacity = status("innodb_redo_log_capacity_resized")
    return f"{status('innodb_checkpoint_max_age')} or on {_ON_HOST} ({capacity} * {_USABLE})"


def _checkpoint_share() -> str:
    """The checkpoint age as a share of its maximum."""
    return f"({checkpoint_age()}) / on {_ON_HOST} (({largest_age()}) > 0)"


def triage() -> tuple[Panel, ...]:
    """Tiles that compare MySQL's load of now with the same hour of the week before."""
    return (
        _against_last_week(
            "Scans",
            "Full table scans per second in the last 5 minutes, compared with the same hour of the "
            "week before. Above 3, look for a query that has lost its index or is new.",
            "select_scan",
        ),
        _against_last_week(
            "Slow queries",
            "Slow queries per second in the last 5 minutes, compared with the same hour of the "
            "week before.",
            "slow_queries",
        ),
        value(
            "Dirty pages",
            "Dirty share of the buffer pool, compared with the same hour of the week before. "
            "Above 3: more pages are changed than the page cleaners flush.",
            _TIMES,
            Query(_factor(dirty_share(), _mean_of_last_week(dirty_share()), _LEAST_SHARE), ""),
            steps=t.JUMP,
            size=_TILE,
            nothing="no data of last week",
        ),
        value(
            "Checkpoint age",
            "Checkpoint age as a share of its maximum (MySQL: 80 % of the redo log). Near 100 % "
            "InnoDB stops queries to flush pages: the redo log is too small for this write rate, "
            "or the data drive is slow.",
            "percentunit",
            Query(_checkpoint_share(), ""),
            steps=t.CHECKPOINT,
            size=_TILE,
            nothing=NO_AGE,
        ),
        value(
            "Age vs last week",
            "Checkpoint age, compared with the same hour of the week before.",
            _TIMES,
            Query(_factor(checkpoint_age(), _mean_of_last_week(checkpoint_age()), 1), ""),
            steps=t.JUMP,
            size=_TILE,
            nothing="no data of last week",
        ),
        _against_last_week(
            "Queries",
            "Queries per second in the last 5 minutes, compared with the same hour of the week "
            "before. If scans and drives changed and this did not, a query changed.",
            "questions",
        ),
    )


def _against_last_week(title: str, description: str, variable: str) -> Panel:
    counter = status(variable)
    return value(
        title,
        description,
        _TIMES,
        Query(_factor(f"rate({counter}[5m])", f"rate({counter}[1h] offset 1w)", _LEAST_RATE), ""),
        steps=t.JUMP,
        size=_TILE,
        nothing="no data of last week",
    )


def _factor(now: str, before: str, least: float) -> str:
    """The quotient of two values. `least` replaces a smaller divisor, such as zero slow queries."""
    return f"({now}) / on {_ON_HOST} clamp_min(({before}), {least:g})"


def _mean_of_last_week(expression: str) -> str:
    return f"avg_over_time(({expression})[1h:5m] offset 1w)"


def queries() -> tuple[Panel, ...]:
    handlers = "mysql_global_status_handlers_total"
    return (
        timeline(
            "Buffer pool misses",
            "Pages per second that were read from the drive because they were not in memory. If "
            "the queries are unchanged, the buffer pool is too small or a scan evicts its pages.",
            "ops",
            Query(q.rate(status("innodb_buffer_pool_reads")), HOST),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Rows read by scan and by index",
            "Many more rows by scan than by index mean queries without an index. They saturate "
            "any drive: fix them before you replace the drive.",
            "ops",
            Query(q.rate(of_server(handlers, 'handler="read_rnd_next"')), "by scan"),
            Query(q.rate(of_server(handlers, 'handler="read_key"')), "by index"),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Scans, full joins, temporary tables",
            "I/O that a better query or index avoids.",
            "ops",
            Query(q.rate(status("select_scan")), "scans"),
            Query(q.rate(status("select_full_join")), "full joins"),
            Query(q.rate(status("created_tmp_disk_tables")), "temporary tables on disk"),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Queries and slow queries",
            "If there are fewer queries while the queue of the drive grows, something blocks them. "
            "If both increase, the load has grown.",
            "ops",
            Query(q.rate(status("questions")), "queries"),
            Query(q.rate(status("slow_queries")), "slow"),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Row lock waits",
            "Queries that wait for each other and not for the drive.",
            "ops",
            Query(q.rate(status("innodb_row_lock_waits")), HOST),
            size=THIRD,
            nothing=NO_SERVER,
        ),
        timeline(
            "Binary log transactions larger than the cache",
            "Large transactions are written to a temporary file and then to the binary log. "
            "Raise binlog_cache_size.",
            "ops",
            Query(q.rate(status("binlog_cache_disk_use")), HOST),
            size=THIRD,
            nothing=NO_SERVER,
        ),
    )
