"""Runs other programs, with limits on their time and output."""
