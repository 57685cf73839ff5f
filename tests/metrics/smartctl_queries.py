"""Lists what published dashboards and alerts of smartctl_exporter select, in our own words.

Dashboards 20204 and 22604 are those of grafana.com, revision 1 and 3. Variables have the value
"all". `overview` and the alerts are those of the mixin of smartctl_exporter.
"""

#: The label matcher of each variable of a dashboard with the value "all".
_ALL = 'instance=~".*",device=~".*"'

_OF = (
    "* on (instance, device) group_left (interface, serial_number, model_name) "
    'smartctl_device{interface=~".*",serial_number=~".*",model_name=~".*"}'
)


def _attribute(names: str, kind: str = "raw") -> str:
    return f'smartctl_device_attribute{{attribute_name=~"{names}",attribute_value_type="{kind}"}}'


def _prefailure(kind: str) -> str:
    return (
        "max by (instance, device, attribute_name) (smartctl_device_attribute"
        f'{{attribute_flags_short=~"P.....",attribute_value_type="{kind}"}})'
    )


DASHBOARD_20204 = (
    "smartctl_device_temperature",
    "smartctl_device_smart_status",
    "smartctl_device_critical_warning",
    # The published panel selects one instance of its author.
    "smartctl_device_power_on_seconds",
    "smartctl_device_media_errors",
    "smartctl_device_power_cycle_count",
    "smartctl_device_error_log_count",
    'smartctl_device_bytes_written{device="nvme0"}',
    'smartctl_device_available_spare{device="nvme0"}',
)

DASHBOARD_22604 = (
    "smartctl_version",
    f"sum(smartctl_device{{{_ALL}}})",
    "sum by (interface) (smartctl_device)",
    "count(count by (instance) (smartctl_device))",
    f"avg by (instance, device, model_name) (smartctl_device_temperature{{{_ALL}}} {_OF})",
    # The panels add "> 0" and "== 0" to the next three.
    f"smartctl_device_media_errors{{{_ALL}}} {_OF}",
    f"smartctl_device_critical_warning{{{_ALL}}} {_OF}",
    f"smartctl_device_smart_status{{{_ALL}}} {_OF}",
    f"max by (instance, device, model_name) (smartctl_device_power_on_seconds{{{_ALL}}} {_OF})",
    f"max by (instance, device, model_name) (smartctl_device_power_cycle_count{{{_ALL}}} {_OF})",
    f"max by (device, instance, model_name) (smartctl_device_bytes_written{{{_ALL}}} {_OF})",
    f"sort_desc(100 - {_attribute('Wear_Leveling_Count', 'value')} {_OF})",
    f"sort_desc(smartctl_device_percentage_used{{{_ALL}}} {_OF})",
    (
        f"max by (device, instance, model_name) ({_attribute('Total_LBAs_Written')}"
        f' * on (instance, device) smartctl_device_block_size{{blocks_type="physical"}} {_OF})'
    ),
)

OVERVIEW = (
    "max(smartctl_device_smartctl_exit_status >= 0 or vector(0))",
    "max by (instance, device) (smartctl_device_power_on_seconds)",
    (
        'sum by (instance, device) (smartctl_device_temperature{temperature_type="current"})'
        ' and on (instance, device) smartctl_device{model_name!="a model"}'
    ),
    (
        "count by (instance) (smartctl_device)"
        " - count by (instance) (smartctl_device_smart_status == 1)"
    ),
    f"{_prefailure('value')} >= {_prefailure('thresh')}",
    (
        "sum by (instance, device) (max_over_time("
        f"{_attribute('Offline_Uncorrectable|Current_Pending_Sector|Reallocated_Sector_Ct')}[5m]))"
    ),
    _attribute("Media_Wearout_Indicator", "value"),
    _attribute("Offline_Uncorrectable"),
    _attribute("Current_Pending_Sector"),
    f"sum by (instance, device) ({_attribute('Reallocated_Sector_Ct')})",
    "sum by (instance, device) (smartctl_device_error_log_count)",
    "smartctl_device_percentage_used",
    "sum by (instance, device) (smartctl_device_media_errors)",
)

#: The conditions with the comparison reversed, so that healthy drives satisfy them.
ALERTS = (
    (
        'avg_over_time(smartctl_device_temperature{temperature_type="current"}[5m])'
        " unless on (instance, device)"
        ' smartctl_device_temperature{temperature_type="drive_trip"}'
    ),
    (
        'max_over_time(smartctl_device_temperature{temperature_type="current"}[10m])'
        " < on (device, instance)"
        ' smartctl_device_temperature{temperature_type="drive_trip"}'
    ),
    "smartctl_device_smart_status == 1",
    "smartctl_device_critical_warning >= 0",
    "smartctl_device_media_errors >= 0",
    "smartctl_device_available_spare >= smartctl_device_available_spare_threshold",
    f"{_attribute('Media_Wearout_Indicator', 'value')} >= 10",
    "smartctl_device_error_log_count >= 0",
    "smartctl_device_smartctl_exit_status >= 0",
)

QUERIES = (*DASHBOARD_20204, *DASHBOARD_22604, *OVERVIEW, *ALERTS)
