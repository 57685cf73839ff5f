"""Polls the drives: schedules the processes of smartctl, and turns their results into documents."""
