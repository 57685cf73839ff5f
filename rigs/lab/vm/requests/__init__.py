"""Tests of slow and hanging requests; in a parallel run they have their own machine."""
