"""Builds two releases with a test key, and installs them on fresh systems: `make release-check`."""
