"""Is the unit right in which a drive is believed to count the bytes written to it?

Vendors count in 512 B, 32 MiB, 1 GiB and more under one attribute name, and firmware of one model
differs; the kernel's own count of what it wrote to the drive settles it.
"""

#: Drives bring their counters up to date now and then, some once an hour.
_LEAST_SECONDS = 3600.0

#: So many steps make the rounding of both ends at most a tenth.
_LEAST_STEPS = 20

#: Right units agree within this factor: merged, flushed and foreign writes lie below it, and no
#: two units in use are as near.
_FACTOR = 2


def unit_check(
    smart_delta_bytes: int, unit_bytes: int, kernel_delta_bytes: int, seconds: float
) -> bool | None:
    """True where the growth of both counts agrees, False where the unit must be wrong.

    None where that cannot be told: less than an hour, less than 20 steps of the counter by either
    count, a counter that went back, or a kernel that wrote nothing. It is for drives that only
    this kernel writes to, so not for one behind a RAID controller or shared between hosts.
    """
    if seconds < _LEAST_SECONDS or unit_bytes <= 0:
        return None
    if kernel_delta_bytes <= 0 or smart_delta_bytes < 0:
        return None
    if max(smart_delta_bytes, kernel_delta_bytes) < _LEAST_STEPS * unit_bytes:
        return None
    return kernel_delta_bytes <= _FACTOR * smart_delta_bytes <= _FACTOR**2 * kernel_delta_bytes
