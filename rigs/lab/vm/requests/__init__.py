"""Tests of slow and hanging requests; with `-n 2` they have a machine of their own."""
