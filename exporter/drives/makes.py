"""Identifies the make of a SATA drive.

A make is a group of models whose vendor attributes have the same meaning. The same attribute id has
different meanings on different drives. 231 is remaining life, temperature or link errors; 233 is
wear, NAND writes or host writes. So the rules of `wear_table`, `written_table`, `ata_count_table`
and `power_loss` refer to a make and an attribute id.

To add a make, add a row to `MAKES`. The first matching row is used, so add it before all rows that
match more drives.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from exporter.drives.controllers import CONTROLLERS, Make
from exporter.drives.health import DriveIdentity

#: The known makes. The first matching row is used. The model families are spelled as in drivedb.h
#: of smartmontools 7.0 to 8.0.
MAKES: tuple[Make, ...] = (
    Make("intel_dell", r"^Dell Certified Intel", model=r"^SSDSC\w+R\b"),
    Make("intel_lenovo", r"^Lenovo OEM Intel"),
    Make("intel_540", r"^Intel (540 Series|SSD Pro 5400s)", model=r"^INTEL SSDSC\w{3}\d{3}[HX]6"),
    Make("intel", r"^(Intel|Kingston branded X25)", model=r"^(INTEL|SOLIDIGM) SSD(SA|SC|MC)"),
    Make(
        "samsung",
        r"^Samsung based SSDs",
        model=r"^(SAMSUNG )?MZ[7MN]|(?i:^samsung ssd)|\bSSD 8\d0 (EVO|PRO|QVO|Series)\b",
    ),
    Make("micron_dell", r"^Micron 5", firmware=r"^D\dDJ", model=r"^MTFDDA[KV]\d\w+T\w\w$"),
    Make("micron_m500dc", r"^Micron M500DC", model=r"^(?i:Micron_M5[01]0DC)_"),
    Make(
        "micron_5000",
        r"^Micron 5\d",
        model=r"^(Micron_5\d{3}\w*_)?(MT|EE)FDDA[KV]\d[T\d]\d(T(BY|C[BC]|D[CDNSTU]|G[ABC])|QDE)",
    ),
    Make(
        "micron_client",
        r"^Crucial/Micron Client",
        model=r"^(Crucial_)?CT\d+(BX[35]00|M[5X]\w+)SSD"
        r"|^(?i:Micron[_ ])?(M5[015]0|M600|1[13]00)[_ ]|^(MT|EE)FDDA[KV]\w+T(BN|DL)\b",
    ),
    Make("micron_m4", r"^Crucial/Micron RealSSD", model=r"^(M4-CT|[CP][34]00-)"),
    Make("wd", r"^WD Blue.* SSDs", model=r"^WDC +(WDS\d+[GT]\w\w0[AB]|WDBNCE)"),
    Make("sandisk_hp", r"^Marvell based SanDisk", within=r"-?1006$"),
    Make("sandisk_lenovo_233", r"^Marvell based SanDisk", within=r"(6S|7S|8U).*1001$"),
    Make("sandisk_oem", r"^Marvell based SanDisk", within=r"(1001|1012)$|Z400s 2\.5"),
    Make("sandisk", r"^Marvell based SanDisk", model=r"^SanDisk (SDSSD[HX]|SSD PLUS|Ultra)"),
    Make("sandisk_sdssdp", r"^SanDisk based SSDs", within=r"SDSSD(P|RC)"),
    Make("sandisk_small", r"^SanDisk based SSDs"),
    Make("cloudspeed", r"^San[Dd]isk SATA Cloudspeed"),
    Make("phison_kioxia", r"^Phison Driven", within=r"^KIOXIA"),
    Make(
        "phison",
        r"^Phison Driven",
        model=r"^KINGSTON +(SA400|SEDC|SHSS|SKC[34]|SUV300|SV310|SM2280)|^PNY CS\d",
    ),
    Make("smi_usb", r"^Silicon Motion based USB"),
    Make(
        "smi",
        r"^Silicon Motion based",
        model=r"^KINGSTON SKC600|^ADATA SU\d|^TS\d+GMTS[48]|^HP SSD S[67]00",
    ),
    Make("swissbit_x600", r"^Swissbit X-600"),
    Make("swissbit", r"^Swissbit X-[78]"),
    Make("atp_value", r"^ATP SATA III Value"),
    Make("atp", r"^ATP SATA III (Superior|aMLC)"),
    Make("apacer", r"^Apacer (AS|SSDs)", model=r"^Apacer AS"),
    Make("innodisk", r"^Inno[Dd]isk (3IE[23]|1IE3)"),
    Make("storfly", r"^StorFly"),
    Make("xmore", r"^Xmore"),
    Make("smart_modular", r"^SMART Modular"),
    Make("jmicron", r"^JMicron"),
    Make(
        "toshiba", r"^Toshiba H[GK]\d", model=r"^TOSHIBA (THNS[NF][8JK]|KSG60)|^KIOXIA SATA|^KSG60"
    ),
    Make("hynix_used", r"^SK hynix", within=r"[MT]ND\b", model=r"^HFS\d+G\w+[MT]ND-"),
    Make("hynix_left", r"^SK hynix", within=r"TNF\b", model=r"^HFS\d+G\w+TNF-"),
    Make("hynix_sc", r"^SK hynix", within=r"SC(311|401)"),
    Make("hynix_feh", r"^SK hynix", within=r"FEH\b", model=r"^HFS\d+T?\dG\w+FEH-"),
    Make("hynix", r"^SK hynix", model=r"^SHGS31-"),
    Make("kingston_uv", r"^Kingston SSDNow UV", model=r"^KINGSTON SUV[45]00"),
    Make("warpdrive", r"^Seagate Nytro WarpDrive"),
    Make(
        "seagate",
        r"^Seagate (BarraCuda series SSD|IronWolf|Nytro SATA)",
        model=r"^(Seagate IronWolf(Pro)? )?ZA\d+[NC][MX]\d|^XA\d+[LM]E10",
    ),
    Make("sandforce", r"^SandForce Driven"),
    Make("plextor", r"^Plextor", model=r"^PLEXTOR "),
    Make("indilinx", r"^Indilinx Barefoot based"),
    Make("indilinx_everest", r"^Indilinx Barefoot_2"),
    Make("barefoot_3", r"^(Indilinx Barefoot 3|OCZ Intrepid)"),
    Make("maxio", r"^Maxio based"),
    Make("ssstc", r"^SSSTC ER", model=r"^SSSTC ER"),
    Make("apple", r"^Apple "),
)


def identify_makes(identity: DriveIdentity, ids: Iterable[int] = ()) -> tuple[str, ...]:
    """Returns the names of the makes of a drive, the most specific one first.

    The first name is from `CONTROLLERS`, if a row there matches. The next name is from `MAKES`:
    from the row that matches the model family or, without such a row, the model. If the rules of a
    table do not list the first make, the rules of the second make apply. The result is empty if the
    make is unknown.

    ids: the ids of all attributes of the drive.
    """
    return _find_makes(
        identity.family or "", identity.model or "", identity.firmware or "", frozenset(ids)
    )


@lru_cache(maxsize=1024)
def _find_makes(family: str, model: str, firmware: str, ids: frozenset[int]) -> tuple[str, ...]:
    names = (_find_controller(model, firmware, ids), _find_make(family, model, firmware))
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _find_controller(model: str, firmware: str, ids: frozenset[int]) -> str | None:
    for make in CONTROLLERS:
        if (
            make.ids <= ids
            and make.without.isdisjoint(ids)
            and re.search(make.model, model)
            and re.search(make.firmware, firmware)
        ):
            return make.name
    return None


def _find_make(family: str, model: str, firmware: str) -> str | None:
    if family:
        for make in MAKES:
            if (
                re.search(make.database or "$^", family)
                and re.search(make.within, model)
                and re.search(make.firmware, firmware)
            ):
                return make.name
    for make in MAKES:
        if make.model and re.search(make.model, model) and re.search(make.firmware, firmware):
            return make.name
    return None
