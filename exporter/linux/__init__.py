"""One module per kernel file: `read` touches the system, `parse` is pure."""
