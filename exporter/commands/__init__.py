"""The commands of ssd-exporter besides the daemon. `registry` lists them with their modules."""
