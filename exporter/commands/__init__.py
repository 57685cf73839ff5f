"""Commands beside the daemon: one module each, called by `cli`."""
