"""Measures drives with short runs of fio (probes), and limits their effect on production."""
