"""Status variables of MySQL servers that the dashboard uses: which server has which.

Names are those of SHOW GLOBAL STATUS in lower case. dashboards/README.md says how each server was
verified.
"""

import re

_MARIADB = ("MariaDB 10.11", "MariaDB 11.8")
_MYSQL = ("MySQL 8.4", "MySQL 9.7")
SERVERS = (*_MARIADB, *_MYSQL)

_ON_ALL = {
    *("binlog_cache_disk_use", "created_tmp_disk_tables", "handler_read_key"),
    *("handler_read_rnd_next", "innodb_buffer_pool_pages_data", "innodb_buffer_pool_pages_dirty"),
    *("innodb_buffer_pool_pages_flushed", "innodb_buffer_pool_pages_free"),
    *("innodb_buffer_pool_pages_misc", "innodb_buffer_pool_reads"),
    *("innodb_buffer_pool_wait_free", "innodb_data_fsyncs", "innodb_data_pending_fsyncs"),
    *("innodb_data_pending_reads", "innodb_data_pending_writes", "innodb_log_waits"),
    *("innodb_os_log_written", "innodb_row_lock_waits", "questions", "select_full_join"),
    *("select_scan", "slow_queries", "threads_running"),
}

#: Servers by variable.
HAVE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_ON_ALL, SERVERS),
    "innodb_checkpoint_age": _MARIADB,
    "innodb_checkpoint_max_age": _MARIADB,
    "innodb_os_log_fsyncs": _MYSQL,
    "innodb_os_log_pending_fsyncs": _MYSQL,
    "innodb_redo_log_capacity_resized": _MYSQL,
    "innodb_redo_log_checkpoint_lsn": _MYSQL,
    "innodb_redo_log_current_lsn": _MYSQL,
}

#: Metrics of mysqld_exporter that stand for several variables, by the beginning of the variable.
_GROUPS = {
    "handlers_total": "handler_",
    "buffer_pool_pages": "innodb_buffer_pool_pages_",
    "buffer_pool_page_changes_total": "innodb_buffer_pool_pages_",
}
_STATUS = re.compile("mysql_global_status_(.+)")


def variables(metric: str, labels: dict[str, str]) -> set[str]:
    """Status variables behind a metric of mysqld_exporter; empty for other metrics.

    Values of `labels` may be alternatives: "data|free".
    """
    found = _STATUS.fullmatch(metric)
    if found is None:
        return set()
    if found[1] == "buffer_pool_dirty_pages":
        return {"innodb_buffer_pool_pages_dirty"}
    if found[1] not in _GROUPS:
        return {found[1]}
    (values,) = (labels[name] for name in ("handler", "state", "operation") if name in labels)
    return {_GROUPS[found[1]] + value for value in values.split("|")}
