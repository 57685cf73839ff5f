"""Block I/O second by second: what each disk did, and what holds its work back."""
