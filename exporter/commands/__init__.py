"""The commands of ssd-exporter, such as `check`. `registry` lists each command and its module."""
