"""Speed and size, as ratios in one run beside Debian's node_exporter."""
