"""What a command found, as records, and how they are shown: in a terminal, as JSON, as a page."""
