"""Measures drives by short runs of fio (probes), and keeps these runs harmless for production."""
