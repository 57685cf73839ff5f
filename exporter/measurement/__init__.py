"""Measurements: probes that a person starts, with consent, budget, host lock and guard."""
