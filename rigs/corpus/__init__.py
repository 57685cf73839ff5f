"""Compares the parsed reports of real drives with values from the documents of these drives.

The outputs of smartctl are in a folder beside the checkout and not in the repository.
"""
