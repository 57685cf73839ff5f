"""Tests of the wear history."""
