"""Defines the reports of commands, and prints them in a terminal, as JSON and as HTML."""
