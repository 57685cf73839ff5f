"""Reports of commands: records, and their output in a terminal, as JSON and as HTML."""
