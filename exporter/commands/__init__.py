"""The commands beside the daemon, one module each; see `registry` for the list."""
