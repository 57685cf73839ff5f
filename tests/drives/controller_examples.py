"""Builds the attribute table of a fictitious drive for each row of `CONTROLLERS`.

All numbers are made up. A table has all ids of the row, with 0 in the attributes that an example
does not list.
"""

import re
from dataclasses import dataclass

from exporter.drives.controllers import CONTROLLERS, Make
from exporter.drives.health import AtaAttribute, DriveIdentity
from tests.drives.ata_reports import drive, row


@dataclass(frozen=True, slots=True)
class Example:
    """A drive of one make.

    attributes: the normalized and the raw value, keyed by attribute id.
    percent: the used endurance that the attributes mean; None means unknown.
    """

    make: str
    attributes: dict[int, tuple[int, int]]
    percent: float | None
    model: str = "EXAMPLE SATA 480"
    firmware: str = "EX01"


#: Examples for the makes of `CONTROLLERS`. A row uses the first one of its make whose model and
#: firmware it matches.
EXAMPLES: tuple[Example, ...] = (
    Example("intel_226", {226: (100, 2560), 233: (100, 9)}, 2.5, "INTEL SSDSC2BB480G4T"),
    Example("hynix_512", {177: (88, 1)}, 12, "SK hynix SC311 SATA 512GB"),
    Example("hynix_512", {168: (0, 0), 233: (1, 91)}, None, "SK hynix SC401 SATA 512GB"),
    Example("hynix_168", {177: (95, 7), 168: (99, 2)}, 5),
    Example("hynix_168", {177: (0, 7), 168: (0, 0), 233: (99, 93)}, 7),
    Example("hynix_168", {177: (0, 7), 168: (96, 2)}, 4),
    Example("hynix_512", {177: (0, 7), 168: (96, 2)}, None, "SK hynix SC313 SATA 512GB"),
    Example("samsung_gib", {173: (91, 8)}, 9, "SAMSUNG MZ7LN128HAHQ", "MVT04L0Q"),
    Example("hynix_231", {231: (82, 19)}, 18),
    Example("smi_1500", {167: (100, 300), 169: (100, 100)}, 20, firmware="P1021A"),
    Example("toshiba_sbf", {173: (188, 0)}, None, firmware="SBFA15.3"),
    Example("micron_m6cr030", {202: (96, 4)}, None, firmware="M6CR030"),
    Example("smi_islc", {167: (100, 9000)}, None, "2.5 SATA SSD 3ME2"),
    Example("smi_167", {165: (100, 75), 167: (100, 70), 168: (100, 5050), 169: (100, 99)}, None),
    Example("smi_167", {165: (100, 500), 167: (100, 101), 168: (100, 5050), 169: (100, 98)}, 2),
    Example("smi_167", {167: (100, 300), 168: (100, 2000), 169: (100, 89), 177: (100, 7)}, 15),
    Example("smi_167", {167: (100, 300), 168: (100, 2000), 169: (100, 85), 177: (100, 0)}, None),
    Example("smi_ts", {167: (100, 90), 168: (100, 3000)}, None, "TS64GMSA220S", "W0220A0"),
    Example("smi_xd0r", {167: (100, 300), 168: (100, 1500)}, None, firmware="XD0R3C0A"),
    Example("smi_hp_pro", {169: (100, 90)}, None, "HP SSD S700 Pro 128GB"),
    Example("smi_hp", {167: (100, 90), 168: (100, 3000)}, 3, "HP SSD S700 120GB", "R0522A1"),
    Example("smi_167", {165: (100, 95), 167: (100, 90), 168: (100, 3000), 169: (100, 97)}, 3),
    Example("smi_left", {169: (100, 91)}, 9),
    Example("smi_left", {167: (100, 2100), 169: (0, 0)}, 100),
    Example("smi_left", {167: (100, 21), 169: (0, 0)}, None),
    Example("smi_sm2236", {167: (100, 150), 168: (100, 3000)}, None),
    Example("smi_3000", {167: (100, 150)}, 5),
    Example("smi_1000", {167: (100, 150)}, 15, firmware="1.74"),
    Example("superdom", {167: (100, 60)}, 2),
    Example("smi_ve0r", {207: (100, 235)}, None, firmware="ZD0R3G5J"),
    Example("smi_v8x", {207: (100, 235)}, None, firmware="V8X01c62"),
    Example("phison_hdfe", {167: (100, 32)}, 3.2, "Patriot P210 128GB", "HDFED1.2"),
    Example("phison_s11_32mib", {167: (100, 70)}, 7, firmware="02000005"),
    Example("phison_s11_0200", {167: (100, 70)}, None, firmware="02000005"),
    Example("phison_s11_mlc", {167: (100, 300)}, 10, firmware="SBFC21.2"),
    Example("phison_s11", {167: (100, 300)}, 30, firmware="SBFQ81.2"),
    Example("phison_a400_0307", {231: (74, 26), 244: (100, 194)}, 26, firmware="03070009"),
    Example("phison_a400", {231: (14, 86), 244: (100, 140)}, 14, firmware="SBFKB1D1"),
    Example("phison_a400", {231: (100, 0), 244: (100, 1200)}, 100, firmware="SBFKB1D1"),
    Example("phison_a400", {231: (100, 0), 244: (100, 12)}, None, firmware="SBFKB1D1"),
    Example("phison_a400_other", {231: (85, 85), 244: (100, 155)}, None, firmware="S3Z40107"),
    Example("phison_a400_other", {231: (93, 93), 244: (100, 72)}, 7, firmware="S3Z40107"),
    Example("phison_a400_other", {231: (0, 0), 244: (100, 1300)}, 100, firmware="S3Z40107"),
    Example("phison_saf12", {173: (100, 48)}, None, firmware="SAFM12.2"),
    Example("phison_s9", {173: (100, 0x0101_0096), 231: (100, 95)}, 5, firmware="S9FM02.6"),
    Example("phison_stuck", {173: (100, 0x0168_01B0), 231: (100, 88)}, 12, firmware="SAFM01.7"),
    Example("phison_stuck", {173: (100, 0x0068_01B0), 231: (100, 88)}, None, firmware="SAFM01.7"),
    Example("phison_stuck", {231: (100, 88)}, None, firmware="SAFM12.2"),
    Example("phison", {231: (100, 74)}, 26),
    Example("phison", {173: (100, 0x0101_0F78), 231: (100, 0)}, 132),
    Example("phison", {173: (100, 0x0101_0708), 231: (100, 0)}, None),  # neither new nor worn
    Example("phison", {173: (100, 0x0101_0021), 231: (100, 0)}, 1.1),
    Example("phison_s9", {173: (100, 0x0101_0096)}, 5, firmware="S9FM02.6"),
    Example("phison_sqf", {173: (100, 0x0101_0096), 231: (100, 95)}, 5, firmware="S9FMA029"),
    Example("phison_sqf", {173: (100, 0x0101_0096), 231: (100, 0)}, None, firmware="S9FMA029"),
    Example("phison_tlc", {173: (100, 0x0101_04B0), 231: (100, 0)}, 120, firmware="SBFMBB.3"),
    Example("phison_tlc", {173: (100, 0x0101_0096), 231: (100, 85)}, 15, firmware="SBFMT1.3"),
    Example("phison_dc", {244: (100, 90)}, 3),
    Example("seagate_low", {231: (100, 0x6400_0000_0060)}, None, "Seagate SSD", "ST9S1024"),
    Example("seagate_low", {231: (100, 93)}, 7, "Seagate IronWolf ZA500NM1", "SU3SC013"),
    Example("phison_173", {173: (100, 0x0200_0096)}, 5),
    Example("sandisk_512", {173: (100, 300)}, 10, "SanDisk SSD U110 16GB"),
    Example("wd", {230: (9, 0x0901_0305_0901)}, 9.01, "SanDisk SDXX"),
    Example("sandisk_dell", {230: (100, 0x0201_0305_0201)}, 3.05, "SanDisk X400", "X4130012"),
    Example("sandisk_value", {173: (93, 60)}, 7, "SanDisk SDXX"),
    Example("sandisk_x41", {173: (100, 13)}, 2, "SanDisk SDXX", "X4133001"),
    Example("sandisk_x35", {173: (100, 13)}, None, "SanDisk SDXX", "X3551001"),
    Example("sandisk_173", {173: (100, 90)}, 3, firmware="Z32080RL"),
    Example("sandisk_173", {173: (88, 0x3C_0057_0024)}, 12, firmware="Z32080RL"),
    Example("marvell_201", {173: (91, 8)}, 9),
    Example("samsung_hp", {173: (91, 8)}, 9, "SAMSUNG MZ7LN256HAJQ", "MVT03H3Q"),
    Example("samsung_gib", {177: (91, 8)}, 9, "SAMSUNG MZ7LN128HAHQ", "MVT04L0Q"),
    Example("samsung_8x0", {177: (80, 300)}, 20.8, "Samsung SSD 860 EVO 250GB"),
    Example("samsung_8x0", {177: (1, 3000)}, 102.96, "Samsung SSD 870 QVO 1TB"),
    Example("liteon_left", {173: (96, 90)}, 4, "LITEON CV8-8E128-HP", "V881"),
    Example("apacer_sfdn", {163: (100, 250), 173: (96, 90)}, 10),
    Example("marvell_value", {173: (96, 90)}, 4),
    Example("liteon_177", {177: (100, 60)}, 2, "LITEON LMH-128V2M"),
    Example("liteon_173", {173: (100, 60)}, 2, "LITEON LCH-256V2S"),
    Example("liteon_hp", {173: (100, 60)}, 2, "LITEON LCH-256V2S-HP"),
    Example("attribute_245", {245: (98, 5)}, 2),
    Example("intel_lenovo", {233: (97, 0)}, 3),
    Example("micron_old", {202: (88, 12), 173: (88, 360)}, 12, "Crucial_CT240M500SSD1"),
    Example("micron_238", {238: (94, 6)}, 6, "Micron 1100 SATA 256GB", "M0DL022"),
    Example("micron_c400", {178: (97, 4)}, 4, "Micron C400 RealSSD mSATA 128GB"),
    Example("micron_m6cr013", {202: (94, 94)}, 6, firmware="M6CR013"),
    Example("micron_client", {202: (94, 6)}, 6, "CT500MX500SSD1", "M3CR023"),
    Example("sandforce_244", {231: (98, 0), 244: (91, 0x0144_0140)}, 10),
    Example("sandforce_525", {231: (90, 0)}, None, firmware="525ABBF0"),
    Example("sandforce_231", {231: (90, 0)}, 12.8, "KINGSTON SV300S37A120G", "521ABBF0"),
    Example("sandforce_231", {231: (100, 0)}, 1.75, firmware="541ABBF0"),
    Example("sandforce_231", {231: (90, 1)}, None, firmware="541ABBF0"),  # the reserve
    Example("sandforce_231", {231: (90, 20 << 32)}, None, firmware="541ABBF0"),
    Example("sandforce_231", {231: (1, 0)}, 95.57, firmware="541ABBF0"),
    Example("jmicron", {173: (190, 10)}, 10, firmware="5.2"),
    Example("jmicron_im2s", {173: (150, 9)}, 30),
    Example("toshiba_tr200", {173: (176, 0)}, None, "TOSHIBA-TR200", "SBFA12.4"),
    Example("toshiba_ksg60", {173: (190, 0), 177: (90, 0)}, 13, firmware="ABDA4101"),
    Example("toshiba_ksg60", {173: (120, 0), 177: (20, 0)}, None, firmware="ABDA4101"),
    Example("toshiba_203", {173: (191, 0)}, None, firmware="K8DA4101"),
    Example("toshiba", {173: (188, 0)}, 12),
    Example("maxio_165_3000", {165: (100, 150)}, 10, firmware="SN13200"),
    Example("maxio_165_lexar", {165: (100, 75)}, 10, "Lexar 128GB SSD", "SN09610"),
    Example("maxio_165_1500", {165: (100, 75)}, 10, firmware="SN14546"),
    Example("maxio_207", {207: (200, 90), 208: (200, 70), 231: (100, 4)}, 12),
    Example("maxio_231", {173: (200, 0x0001_005A_0046), 231: (100, 4)}, 12),
    Example("atp_248", {248: (100, 97)}, 3),
    Example("apacer_mlc", {231: (100, 82)}, 18),
    Example("apacer_sfd", {163: (100, 250)}, 10, firmware="SFDM104B"),
    Example("apacer_left", {231: (100, 90)}, 10, firmware="AP613PE0"),
    Example("apacer_163", {163: (100, 300)}, None),
    Example("intel_545_1500", {252: (100, 150)}, 10, firmware="LHF004C"),
    Example("intel_545", {252: (100, 150)}, 15),
    Example("intel_530", {233: (40, 0)}, None, "INTEL SSDSC2BW120A4"),
    Example("intel_530", {233: (60, 0)}, 38.7, "INTEL SSDSC2BW120A4"),
    Example(
        "intel_530", {232: (5, 0), 233: (60, 0)}, None, "INTEL SSDSC2BW120A4"
    ),  # no reserve left
    Example("intel_530", {233: (1, 0)}, 90.62, "INTEL SSDSC2BW120A4"),
    Example("intel_545_hp", {233: (98, 0)}, None, firmware="LHFL01C"),
    Example("intel_535_late", {233: (60, 0)}, 63.1, firmware="RG21"),
    Example("intel_535_late", {233: (1, 0)}, 100, firmware="RG21"),
    Example("intel_535_late", {233: (100, 0)}, None, firmware="RG21"),
    Example("intel_535", {233: (60, 0)}, None, firmware="TG20"),
    Example("hp_oem", {173: (96, 90)}, 4),
    Example("kingston_uv", {231: (96, 4)}, 4),
)


def example_of(make: Make) -> Example:
    """Returns the first example that matches a row of `CONTROLLERS`."""
    return next(example for example in EXAMPLES if is_example_of(make, example))


def table_of(make: Make, example: Example) -> tuple[AtaAttribute, ...]:
    """Returns an attribute table with all ids of the row and all attributes of the example."""
    ids = sorted(make.ids | example.attributes.keys())
    return tuple(
        row(number, "Unknown_Attribute", *example.attributes.get(number, (100, 0)))
        for number in ids
    )


def identity_of(example: Example) -> DriveIdentity:
    """Returns the identity of a drive that smartctl's database does not list."""
    return drive(None, example.model, example.firmware)


def controller_drive(name: str) -> tuple[DriveIdentity, tuple[AtaAttribute, ...]]:
    """Returns a drive of the first row of `CONTROLLERS` with this name, and its attributes."""
    make = next(make for make in CONTROLLERS if make.name == name)
    example = example_of(make)
    return identity_of(example), table_of(make, example)


def is_example_of(make: Make, example: Example) -> bool:
    """Returns True if an example is of the make of a row, and its model and firmware match."""
    return (
        make.name == example.make
        and re.search(make.model, example.model) is not None
        and re.search(make.firmware, example.firmware) is not None
    )
