"""Measures the vendor table with captures of real drives."""
