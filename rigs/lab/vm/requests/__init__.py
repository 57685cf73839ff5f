"""Tests of slow and hanging requests, on a machine of their own."""
