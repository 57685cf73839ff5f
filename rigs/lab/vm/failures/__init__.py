"""Tests of drives that fail, hang or are replaced, on a machine of their own."""
