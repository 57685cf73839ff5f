"""Parses the text output of `smartctl -x` and `smartctl -a` into the structure of its JSON output.

People save this text and send it. The result has the keys, types and units of `smartctl --json`
(smartmontools 7.0 to 7.5), so that `smart_report.parse_report` reads both.

The formats are those of ataprint.cpp, nvmeprint.cpp and scsiprint.cpp of smartmontools.
"""
