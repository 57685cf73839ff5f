"""The MySQL and MariaDB servers of the host: processes, option files and directories."""
