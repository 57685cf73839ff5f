"""Querying drives with smartctl, and keeping what they answered."""
