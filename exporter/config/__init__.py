"""The settings and their defaults. They know nothing of the code that uses them.

`exporter.config_validation` fills and checks them.
"""
