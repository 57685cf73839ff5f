"""Judgement: pure functions over two samples and what was learned. No I/O, no clock, no log."""
