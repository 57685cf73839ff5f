"""The settings and their defaults. The package imports no code that uses them.

`exporter.config_validation` fills and checks them.
"""
