"""Lists the SSD controllers that can be recognized by their attributes.

The firmware of a controller defines which attributes a drive has and what they mean. Many brands
sell drives with the same controller, and one model may be sold with different controllers. So the
set of attribute ids identifies the controller better than the name of the drive.

`makes.identify_make` tries these rows before the rows that depend on the name only. To add a
controller, run `make drives`, which lists the sets of ids that no row matches (docs/drives.md).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Make:
    """Describes how the drives of one make are recognized. All conditions must be true.

    name: the name of the make, which the rules of the other tables use. Several rows can have the
        same name.
    ids: the ids of attributes that the drive must have.
    without: the ids of attributes that the drive must not have.
    database: a regular expression that matches any part of the model family in smartctl's drive
        database. Empty matches no family.
    within: matches the model. It restricts `database` to some models of the family.
    firmware: matches the firmware version.
    model: matches the model of a drive whose family matches no make. Empty matches no model.

    A row with `ids` may omit `database` and `model`. If it has `model`, `model` must match too.
    """

    name: str
    database: str = ""
    within: str = ""
    firmware: str = ""
    model: str = ""
    ids: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()


def _row(
    name: str, ids: str = "", *, without: str = "", firmware: str = "", model: str = ""
) -> Make:
    return Make(name, firmware=firmware, model=model, ids=_ids(ids), without=_ids(without))


def _ids(text: str) -> frozenset[int]:
    """Returns the ids in a text such as "160 163-165"."""
    ids: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return frozenset(ids)


CONTROLLERS: tuple[Make, ...] = (
    _row("intel_226", "226 233", model=r"^INTEL SSDSC2\w+G\dT$"),
    # SK hynix. Some of these drives have the ids of other controllers too.
    _row("hynix_512", "100 168 169 174 212", model=r"SC(311|313|401)"),
    _row("hynix_168", "100 168 169 174 177 212 234"),
    _row("hynix_168", "100 168 169 174 178 212"),
    _row("hynix_231", "100 175-182 191 201 204 231 234 250"),
    # Silicon Motion.
    _row("smi_1500", "148-151 160 161 164-167 169", without="168", firmware=r"^[PQ]\d"),
    _row("smi_xd0r", "148-151 160 161 163-169", firmware=r"^(XD0R|XA00|V4\.7|ZD0R)"),
    _row("smi_hp_pro", model=r"^HP SSD (S7\d\d Pro|M7)"),
    _row("smi_hp", firmware="^[QRS]", model=r"^HP SSD S7\d\d"),
    _row(
        "smi_ts",
        "160 161 163-169",
        firmware=r"^(T1125A0|V0111A0|V0906B0|W0220A0|X0108A0)",
        model=r"^TS\d",
    ),
    _row("smi_167", "160 161 163-169"),
    _row("smi_left", "160 161 164-167 169", without="168"),
    _row("smi_islc", "160-167 192 194-196", model=r"3[MS]E\d"),
    _row("smi_3000", "160-167 192 194-196", without="168 169 172"),
    _row("smi_sm2236", "160-167 192 194-196", without="169 172"),
    _row(
        "smi_1000",
        "160 161 163-167 192 194-196 241",
        without="159 162 168 169 172 173",
        firmware=r"^1\.",
    ),
    _row("superdom", "15 160 161 163-168 172 231-233"),
    _row(
        "smi_ve0r",
        "161-164 166-169 171 172 174 175 206 207 249 250",
        firmware=r"^(VE0R5|ZD|VE[12])",
    ),
    _row("smi_v8x", "161-164 166-169 171 172 174 175 206 207 249 250"),
    # Phison.
    _row("phison_hdfe", "163 165 167 172", firmware=r"^HDF[EF]"),
    _row("phison_hdfe", "167", firmware=r"^HDF[EF]"),
    _row(
        "phison_s11_32mib",
        "160 161 163 165-167 172 173",
        without="168 169",
        firmware=r"^(0200|V2206)",
    ),
    _row("phison_s11_0200", "161 163 165-167 172 173", without="160 168 169", firmware=r"^0200"),
    _row(
        "phison_s11_mlc",
        "161 163 165-167 172 173",
        without="168 169",
        firmware=r"^(SBFC2|SBFQ6[1A][LK])",
    ),
    _row("phison_s11", "161 163 165-167 172 173", without="168 169"),
    _row("phison_a400_0307", "167 168 218 231 244-246", firmware="^0307"),
    _row("phison_a400", "167-169 218 231 244-246", firmware="^S[BCH]"),
    _row("phison_a400", "167 168 173 218 231 244-246", firmware="^S[BCH]"),
    _row("phison_a400_other", "167-169 218 231 244-246"),
    _row("phison_a400_other", "167 168 173 218 231 244-246"),
    _row("phison_saf12", "173", without="231", firmware=r"^(SAF[MR]12|S9FM02\.5|SAFM01\.M)"),
    _row("phison_sqf", "168 170 173 218", firmware=r"^S9FMA"),
    _row("phison_s9", "168 170 173 218", firmware=r"^S[89]FM"),
    _row("phison_stuck", "168 170 173 218 231", firmware=r"^SAFM0[01]"),
    _row("phison_stuck", "168 170 173 218 231", firmware=r"^SAFM1|^CS1311"),
    _row("phison", "162 170 173 174 181 218 231"),
    _row("phison_dc", "167-170 172 173 175 181 187 218 233 240 244"),
    _row("seagate_low", "168 170 173 218 231", model="^Seagate|^ZA"),
    _row("phison_tlc", "168 170 173 218 231", firmware=r"^SBFM[BEJKPTX]"),
    _row("phison", "168 170 173 218 231"),
    _row("phison_173", "168 170 173 218", without="231"),
    _row("phison_173", "171-174 194 196 218", without="231"),
    _row("phison_hdfe", firmware=r"^HDF", model="^Patriot (Burst|P2)"),
    # SanDisk and WD.
    _row(
        "sandisk_512",
        "173 230 232 241",
        model=r"^SanDisk (SDSA6|SDSSDP|SDSSDRC|SSD [Ui]1|pSSD)|^SATAIII 16GB",
    ),
    _row("wd", "166-169 173 212 230 232 233"),
    _row("sandisk_dell", "175-182 187 194 230 238 241", firmware="12$", model="^SanDisk"),
    _row("wd", "175-182 187 194 230 238 241", model="^SanDisk"),
    _row(
        "sandisk_value",
        "170-174 183 184 187 188 190 196 199",
        without="180 189 202",
        model="^SanDisk",
    ),
    _row("sandisk_173", "171-174 187 188 194 196 199 230 244", without="180 201 202"),
    _row("sandisk_x41", "170 173 178 180 184 233 249", firmware="^X41", model="^SanDisk"),
    _row("sandisk_x35", "170 173 178 180 184 233 249", model="^SanDisk"),
    _row("sandisk_173", "165-169 173 230 232-234 241", firmware=r"^Z"),
    _row("wd", "165-169 173 230 232-234 244"),
    _row("wd", "165-169 173 230 232-234 241"),
    _row("sandisk_173", "166-169 173 230 232 233", without="165"),
    _row("sandisk_173", "171-174 187 230 232 234 241 242", without="175 166"),
    _row("sandisk_173", "165 170-174 184 187 230 234 241 242", without="166"),
    _row("sandisk_173", "171-174 184 187 188 194 230 234 241 242", without="166 201"),
    # Marvell, as in drives of Samsung, Lite-On, Plextor, HP and Micron.
    _row("marvell_201", "171-174 176 187 194 198 201 230 241 244"),
    _row("samsung_hp", "171-174 176", firmware=r"H\dQ$", model=r"^SAMSUNG MZ(7LN|NLN|7TY|NTY|7LF)"),
    _row("samsung_8x0", "177 241", model=r"SSD 8[67]0 "),
    _row(
        "samsung_gib",
        firmware=r"(L\dQ|00[QFK])$",
        model=r"^SAMSUNG MZ(7LN|NLN|7TY|NTY|7LF|7LH|NLH)",
    ),
    _row("liteon_left", model=r"^(LITEON|SSSTC) CV[8B].*-HP"),
    _row("apacer_sfdn", "163 164 171-174 176 201"),
    _row("marvell_value", "171-174 176 187 194 198 199 201", without="178 202 206"),
    _row("marvell_value", "171-174 176 183 184 187 188 194 198 199 243"),
    _row(
        "marvell_value",
        "171-174 181 183 184 187 188 194 196 198 199",
        without="178 180 189 202 206 231",
        model=r"^(?!MTFDDA\w\d+MA[VY])",
    ),
    _row("liteon_177", "175-182 187 241", model=r"^LITEON (CS|CV1|L8|LC|LJ|LM)|^LITEONIT LMS-32S"),
    _row("liteon_hp", "11 170-174 241", model=r"^LITEON L\wH-.*-HP$"),
    _row("liteon_173", "170-174 178 180 233 249", model=r"^LITEON "),
    _row("attribute_245", "13 179-182 194 195 198 199 201 233 245", without="177 225 234"),
    _row("intel_lenovo", "13 100 170-173 177 231-233 235 237"),
    # Micron.
    _row(
        "micron_old",
        "173 202",
        model=r"^(?i:crucial_|micron[_ ])?(CT\d+)?(M5[015]0|MX100)|^Crucial_CT\d+(M5|MX1)",
    ),
    _row("micron_old", "170-174 181 183 184 187 189 195-198 202 206"),
    _row("micron_238", "175-182 238", firmware=r"^M0DL", model=r"^Micron"),
    _row("micron_c400", "175-182 187 241", model=r"^Micron C400"),
    _row("micron_m6cr030", "172-174 180 183 202 206 210 246-248", firmware=r"^M6CR030"),
    _row("micron_m6cr013", "172-174 180 183 202 206 210 246-248", firmware=r"^M6CR013"),
    _row(
        "micron_client",
        "172-174 180 183 202 206 210 246-248",
        without="249",
        model=r"^CT\d+(BX|MX)|^Micron_1[13]00|^M(TFD|icron)",
    ),
    # SandForce.
    _row("sandforce_244", "171 172 174 189 230 231 233 234 244"),
    _row("sandforce_525", "171 172 230 231 233 234", without="244", firmware=r"^525A"),
    _row("sandforce_231", "171 172 230 231 233 234", without="244", model=r"^KINGSTON SV300"),
    _row("sandforce_231", "171 172 230 231 233 234", without="244", firmware=r"ABBF0$"),
    _row("sandforce_231", "171 172 174 189 230 231 233 234", without="244"),
    # JMicron, Maxio.
    _row("jmicron", "2 3 7 8 10 167 169 170 173 175 180 231 233 234 240", firmware=r"^(5\.|SVN)"),
    _row("jmicron_im2s", "2 3 7 8 10 167 169 170 173 175 180 231 233 234 240"),
    _row("jmicron", "2 3 7 8 10 167 169 170 173 175 192 194 197 240", without="181 218 231"),
    _row("jmicron", "2 3 7 8 10 167-169 173 175 192 194 197 240", without="181 218 231"),
    _row("jmicron", "2 3 7 8 10 168 170 173 175 192 194 197 240", without="181 218 231"),
    _row("toshiba_tr200", "173", model="^TOSHIBA-TR200"),
    _row("toshiba_ksg60", "166-168 173 175-182 238", firmware=r"^ABDA"),
    _row("toshiba_203", "166-168 173 175-182 238", firmware=r"^(ABD|K8D)"),
    _row(
        "toshiba_sbf",
        "9 12 167-169 173 192 194",
        without="1 170 171 175 230",
        firmware=r"^SBF[AZ]1[0-5]",
    ),
    _row("toshiba", "9 12 167-169 173 192 194", without="1 170 171 175 230"),
    _row(
        "maxio_165_3000",
        "164-167 194 241",
        without="160 161 163 168 169",
        firmware=r"^SN(11860|12391|12521|13200|16907|18609)",
    ),
    _row(
        "maxio_165_lexar",
        "164-167 194 241",
        without="160 161 163 168 169",
        firmware=r"^SN09610",
        model="^Lexar",
    ),
    _row(
        "maxio_165_1500",
        "164-167 194 241",
        without="160 161 163 168 169",
        firmware=r"^SN(09610|13241|14546|15330)",
    ),
    _row("maxio_207", "167-169 171-173 175 180 206-208"),
    _row("maxio_207", "168 169 171-173 180 206-208"),
    _row("maxio_207", "167-169 171 172 174 175 180 206-208"),
    _row("maxio_207", "9 12 194 206-208 241", without="1 160 161 167 177"),
    _row("maxio_231", "12 167-169 173 175 180 192 194 231 233 234", without="1 2 206 218"),
    _row("atp_248", "14-17 100 160 172-175 202 231 234 235 248"),
    _row("apacer_mlc", "163 164 166-168 175 192 231 241", without="160 171"),
    _row("apacer_sfd", "163 164 166-168 175 241", without="160", firmware=r"^SFD[GMN]"),
    _row(
        "apacer_left",
        "163 164 166-168 171 172 175 192 231 241",
        without="160",
        firmware=r"^(AP|SFPA)",
    ),
    _row("apacer_163", "163 164 166-168 171 172 175 192 231 241", without="160"),
    # Intel 53x, 540 and 545, after 520, 525, 330 and 335, which have the same attributes.
    _row("intel_545_1500", "170-174 225-228 232 233 249 252", firmware="^LHF004"),
    _row("intel_545", "170-174 183 184 187 190 192 225-228 232 233 249 252"),
    _row("intel_545", "170-172 174 183 184 187 190 192 225-228 232 233 249 252"),
    _row("intel_530", "225 232 233 241 249", without="252", model=r"^INTEL SSD\w+\d[AB][34]\w?$"),
    _row("intel_545_hp", "225-228 232 233 249", firmware="^LHFL"),
    _row("intel_535_late", "225-228 232 233 249", firmware=r"^(RG|LB1)"),
    _row("intel_535", "225-228 232 233 249"),
    _row("hp_oem", "1 5 9 173 175 180 194 196", without="12 231"),
    _row("kingston_uv", "100 101 170-172 174-178 180 231 250"),
)
