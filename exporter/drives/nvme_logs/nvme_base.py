"""The log pages of the NVMe base specification: thermal management (02h), endurance group (09h).

Source: NVM Express Base Specification; linux-nvme/nvme-cli libnvme/src/nvme/nvme-types-base.h,
structures nvme_smart_log and nvme_endurance_group_log.
"""

from exporter.drives.nvme_logs.log_layout import LogField, LogLayout

#: Only what smartctl's JSON lacks up to 7.5 (smartmontools issue 583).
SMART_HEALTH = LogLayout(
    page=0x02,
    size=512,
    name="SMART / Health Information log (02h)",
    source="NVM Express Base Specification 1.3 and later, SMART / Health Information",
    fields=(
        LogField("thermal_management_1_transitions", 216, 4),
        LogField("thermal_management_2_transitions", 220, 4),
        LogField("thermal_management_1_seconds", 224, 4, 1.0),
        LogField("thermal_management_2_seconds", 228, 4, 1.0),
    ),
)

_GB = 10**9

#: A counter is 0 if the drive does not report it.
ENDURANCE_GROUP = LogLayout(
    page=0x09,
    size=512,
    name="Endurance Group log (09h)",
    source="NVM Express Base Specification 1.4 and later, Endurance Group Information",
    fields=(
        LogField("group_spare_ratio", 3, 1, 0.01, maximum=100),
        LogField("group_used_ratio", 5, 1, 0.01, saturates=True),
        LogField("endurance_estimate_bytes", 32, 16, _GB, absent=0),
        LogField("group_host_written_bytes", 64, 16, _GB, absent=0),
        LogField("group_media_written_bytes", 80, 16, _GB, absent=0),
        LogField("group_media_errors", 128, 16),
    ),
)
