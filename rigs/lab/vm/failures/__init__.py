"""Tests of drives that fail, hang or are replaced; in a parallel run they have their own machine."""
