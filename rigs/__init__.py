"""Simulators and long runs; README.md says what each proves and when it is run."""
