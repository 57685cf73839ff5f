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
    within: matches the model, in addition to `database`, for some models of a family only.
    firmware: matches the firmware version, in addition to the other conditions.
    model: matches the model of a drive whose family matches no make. Empty matches no model.

    A row with `ids` needs neither `database` nor `model`. If it has `model`, that must match too.
    """

    name: str
    database: str = ""
    within: str = ""
    firmware: str = ""
    model: str = ""
    ids: frozenset[int] = frozenset()
    without: frozenset[int] = frozenset()


def _has(text: str) -> frozenset[int]:
    """Returns the ids in a text such as "160 163-165"."""
    ids: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return frozenset(ids)


CONTROLLERS: tuple[Make, ...] = (
    Make("intel_226", ids=_has("226 233"), model=r"^INTEL SSDSC2\w+G\dT$"),
    # SK hynix. Some of these drives have the ids of other controllers too.
    Make("hynix_512", ids=_has("100 168 169 174 212"), model=r"SC(311|313|401)"),
    Make("hynix_168", ids=_has("100 168 169 174 177 212 234")),
    Make("hynix_168", ids=_has("100 168 169 174 178 212")),
    Make("hynix_231", ids=_has("100 175-182 191 201 204 231 234 250")),
    # Silicon Motion.
    Make(
        "smi_1500",
        ids=_has("148-151 160 161 164-167 169"),
        without=_has("168"),
        firmware=r"^[PQ]\d",
    ),
    Make("smi_xd0r", ids=_has("148-151 160 161 163-169"), firmware=r"^(XD0R|XA00|V4\.7|ZD0R)"),
    Make("smi_hp_pro", model=r"^HP SSD (S7\d\d Pro|M7)"),
    Make("smi_hp", model=r"^HP SSD S7\d\d", firmware="^[QRS]"),
    Make(
        "smi_ts",
        ids=_has("160 161 163-169"),
        model=r"^TS\d",
        firmware=r"^(T1125A0|V0111A0|V0906B0|W0220A0|X0108A0)",
    ),
    Make("smi_167", ids=_has("160 161 163-169")),
    Make("smi_left", ids=_has("160 161 164-167 169"), without=_has("168")),
    Make("smi_islc", ids=_has("160-167 192 194-196"), model=r"3[MS]E\d"),
    Make("smi_3000", ids=_has("160-167 192 194-196"), without=_has("168 169 172")),
    Make("smi_sm2236", ids=_has("160-167 192 194-196"), without=_has("169 172")),
    Make(
        "smi_1000",
        ids=_has("160 161 163-167 192 194-196 241"),
        without=_has("159 162 168 169 172 173"),
        firmware=r"^1\.",
    ),
    Make("superdom", ids=_has("15 160 161 163-168 172 231-233")),
    Make(
        "smi_ve0r",
        ids=_has("161-164 166-169 171 172 174 175 206 207 249 250"),
        firmware=r"^(VE0R5|ZD|VE[12])",
    ),
    Make("smi_v8x", ids=_has("161-164 166-169 171 172 174 175 206 207 249 250")),
    # Phison.
    Make("phison_hdfe", firmware=r"^HDF[EF]", ids=_has("163 165 167 172")),
    Make("phison_hdfe", firmware=r"^HDF[EF]", ids=_has("167")),
    Make(
        "phison_s11_32mib",
        ids=_has("160 161 163 165-167 172 173"),
        without=_has("168 169"),
        firmware=r"^(0200|V2206)",
    ),
    Make(
        "phison_s11_0200",
        ids=_has("161 163 165-167 172 173"),
        without=_has("160 168 169"),
        firmware=r"^0200",
    ),
    Make(
        "phison_s11_mlc",
        ids=_has("161 163 165-167 172 173"),
        without=_has("168 169"),
        firmware=r"^(SBFC2|SBFQ6[1A][LK])",
    ),
    Make("phison_s11", ids=_has("161 163 165-167 172 173"), without=_has("168 169")),
    Make("phison_a400_0307", ids=_has("167 168 218 231 244-246"), firmware="^0307"),
    Make("phison_a400", ids=_has("167-169 218 231 244-246"), firmware="^S[BCH]"),
    Make("phison_a400", ids=_has("167 168 173 218 231 244-246"), firmware="^S[BCH]"),
    Make("phison_a400_other", ids=_has("167-169 218 231 244-246")),
    Make("phison_a400_other", ids=_has("167 168 173 218 231 244-246")),
    Make(
        "phison_saf12",
        ids=_has("173"),
        without=_has("231"),
        firmware=r"^(SAF[MR]12|S9FM02\.5|SAFM01\.M)",
    ),
    Make("phison_sqf", ids=_has("168 170 173 218"), firmware=r"^S9FMA"),
    Make("phison_s9", ids=_has("168 170 173 218"), firmware=r"^S[89]FM"),
    Make("phison_stuck", ids=_has("168 170 173 218 231"), firmware=r"^SAFM0[01]"),
    Make("phison_stuck", ids=_has("168 170 173 218 231"), firmware=r"^SAFM1|^CS1311"),
    Make("phison", ids=_has("162 170 173 174 181 218 231")),
    Make("phison_dc", ids=_has("167-170 172 173 175 181 187 218 233 240 244")),
    Make("seagate_low", ids=_has("168 170 173 218 231"), model="^Seagate|^ZA"),
    Make("phison_tlc", ids=_has("168 170 173 218 231"), firmware=r"^SBFM[BEJKPTX]"),
    Make("phison", ids=_has("168 170 173 218 231")),
    Make("phison_173", ids=_has("168 170 173 218"), without=_has("231")),
    Make("phison_173", ids=_has("171-174 194 196 218"), without=_has("231")),
    Make("phison_hdfe", model="^Patriot (Burst|P2)", firmware=r"^HDF"),
    # SanDisk and WD.
    Make(
        "sandisk_512",
        ids=_has("173 230 232 241"),
        model=r"^SanDisk (SDSA6|SDSSDP|SDSSDRC|SSD [Ui]1|pSSD)|^SATAIII 16GB",
    ),
    Make("wd", ids=_has("166-169 173 212 230 232 233")),
    Make("sandisk_dell", ids=_has("175-182 187 194 230 238 241"), model="^SanDisk", firmware="12$"),
    Make("wd", ids=_has("175-182 187 194 230 238 241"), model="^SanDisk"),
    Make(
        "sandisk_value",
        ids=_has("170-174 183 184 187 188 190 196 199"),
        without=_has("180 189 202"),
        model="^SanDisk",
    ),
    Make(
        "sandisk_173", ids=_has("171-174 187 188 194 196 199 230 244"), without=_has("180 201 202")
    ),
    Make("sandisk_x41", ids=_has("170 173 178 180 184 233 249"), model="^SanDisk", firmware="^X41"),
    Make("sandisk_x35", ids=_has("170 173 178 180 184 233 249"), model="^SanDisk"),
    Make("sandisk_173", ids=_has("165-169 173 230 232-234 241"), firmware=r"^Z"),
    Make("wd", ids=_has("165-169 173 230 232-234 244")),
    Make("wd", ids=_has("165-169 173 230 232-234 241")),
    Make("sandisk_173", ids=_has("166-169 173 230 232 233"), without=_has("165")),
    Make("sandisk_173", ids=_has("171-174 187 230 232 234 241 242"), without=_has("175 166")),
    Make("sandisk_173", ids=_has("165 170-174 184 187 230 234 241 242"), without=_has("166")),
    Make(
        "sandisk_173", ids=_has("171-174 184 187 188 194 230 234 241 242"), without=_has("166 201")
    ),
    # Marvell, as in drives of Samsung, Lite-On, Plextor, HP and Micron.
    Make("marvell_201", ids=_has("171-174 176 187 194 198 201 230 241 244")),
    Make(
        "samsung_hp",
        model=r"^SAMSUNG MZ(7LN|NLN|7TY|NTY|7LF)",
        firmware=r"H\dQ$",
        ids=_has("171-174 176"),
    ),
    Make("samsung_8x0", ids=_has("177 241"), model=r"SSD 8[67]0 "),
    Make(
        "samsung_gib",
        model=r"^SAMSUNG MZ(7LN|NLN|7TY|NTY|7LF|7LH|NLH)",
        firmware=r"(L\dQ|00[QFK])$",
    ),
    Make("liteon_left", model=r"^(LITEON|SSSTC) CV[8B].*-HP"),
    Make("apacer_sfdn", ids=_has("163 164 171-174 176 201")),
    Make("marvell_value", ids=_has("171-174 176 187 194 198 199 201"), without=_has("178 202 206")),
    Make("marvell_value", ids=_has("171-174 176 183 184 187 188 194 198 199 243")),
    Make(
        "marvell_value",
        ids=_has("171-174 181 183 184 187 188 194 196 198 199"),
        without=_has("178 180 189 202 206 231"),
        model=r"^(?!MTFDDA\w\d+MA[VY])",
    ),
    Make(
        "liteon_177",
        ids=_has("175-182 187 241"),
        model=r"^LITEON (CS|CV1|L8|LC|LJ|LM)|^LITEONIT LMS-32S",
    ),
    Make("liteon_hp", ids=_has("11 170-174 241"), model=r"^LITEON L\wH-.*-HP$"),
    Make("liteon_173", ids=_has("170-174 178 180 233 249"), model=r"^LITEON "),
    Make(
        "attribute_245",
        ids=_has("13 179-182 194 195 198 199 201 233 245"),
        without=_has("177 225 234"),
    ),
    Make("intel_lenovo", ids=_has("13 100 170-173 177 231-233 235 237")),
    # Micron.
    Make(
        "micron_old",
        model=r"^(?i:crucial_|micron[_ ])?(CT\d+)?(M5[015]0|MX100)|^Crucial_CT\d+(M5|MX1)",
        ids=_has("173 202"),
    ),
    Make("micron_old", ids=_has("170-174 181 183 184 187 189 195-198 202 206")),
    Make("micron_238", ids=_has("175-182 238"), model=r"^Micron", firmware=r"^M0DL"),
    Make("micron_c400", ids=_has("175-182 187 241"), model=r"^Micron C400"),
    Make("micron_m6cr030", ids=_has("172-174 180 183 202 206 210 246-248"), firmware=r"^M6CR030"),
    Make("micron_m6cr013", ids=_has("172-174 180 183 202 206 210 246-248"), firmware=r"^M6CR013"),
    Make(
        "micron_client",
        ids=_has("172-174 180 183 202 206 210 246-248"),
        without=_has("249"),
        model=r"^CT\d+(BX|MX)|^Micron_1[13]00|^M(TFD|icron)",
    ),
    # SandForce.
    Make("sandforce_244", ids=_has("171 172 174 189 230 231 233 234 244")),
    Make(
        "sandforce_525",
        ids=_has("171 172 230 231 233 234"),
        without=_has("244"),
        firmware=r"^525A",
    ),
    Make(
        "sandforce_231",
        ids=_has("171 172 230 231 233 234"),
        without=_has("244"),
        model=r"^KINGSTON SV300",
    ),
    Make(
        "sandforce_231",
        ids=_has("171 172 230 231 233 234"),
        without=_has("244"),
        firmware=r"ABBF0$",
    ),
    Make("sandforce_231", ids=_has("171 172 174 189 230 231 233 234"), without=_has("244")),
    # JMicron, Maxio.
    Make(
        "jmicron",
        ids=_has("2 3 7 8 10 167 169 170 173 175 180 231 233 234 240"),
        firmware=r"^(5\.|SVN)",
    ),
    Make("jmicron_im2s", ids=_has("2 3 7 8 10 167 169 170 173 175 180 231 233 234 240")),
    Make(
        "jmicron",
        ids=_has("2 3 7 8 10 167 169 170 173 175 192 194 197 240"),
        without=_has("181 218 231"),
    ),
    Make(
        "jmicron",
        ids=_has("2 3 7 8 10 167-169 173 175 192 194 197 240"),
        without=_has("181 218 231"),
    ),
    Make(
        "jmicron",
        ids=_has("2 3 7 8 10 168 170 173 175 192 194 197 240"),
        without=_has("181 218 231"),
    ),
    Make("toshiba_tr200", model="^TOSHIBA-TR200", ids=_has("173")),
    Make("toshiba_ksg60", ids=_has("166-168 173 175-182 238"), firmware=r"^ABDA"),
    Make("toshiba_203", ids=_has("166-168 173 175-182 238"), firmware=r"^(ABD|K8D)"),
    Make(
        "toshiba_sbf",
        ids=_has("9 12 167-169 173 192 194"),
        without=_has("1 170 171 175 230"),
        firmware=r"^SBF[AZ]1[0-5]",
    ),
    Make("toshiba", ids=_has("9 12 167-169 173 192 194"), without=_has("1 170 171 175 230")),
    Make(
        "maxio_165_3000",
        ids=_has("164-167 194 241"),
        without=_has("160 161 163 168 169"),
        firmware=r"^SN(11860|12391|12521|13200|16907|18609)",
    ),
    Make(
        "maxio_165_lexar",
        ids=_has("164-167 194 241"),
        without=_has("160 161 163 168 169"),
        model="^Lexar",
        firmware=r"^SN09610",
    ),
    Make(
        "maxio_165_1500",
        ids=_has("164-167 194 241"),
        without=_has("160 161 163 168 169"),
        firmware=r"^SN(09610|13241|14546|15330)",
    ),
    Make("maxio_207", ids=_has("167-169 171-173 175 180 206-208")),
    Make("maxio_207", ids=_has("168 169 171-173 180 206-208")),
    Make("maxio_207", ids=_has("167-169 171 172 174 175 180 206-208")),
    Make("maxio_207", ids=_has("9 12 194 206-208 241"), without=_has("1 160 161 167 177")),
    Make(
        "maxio_231",
        ids=_has("12 167-169 173 175 180 192 194 231 233 234"),
        without=_has("1 2 206 218"),
    ),
    Make("atp_248", ids=_has("14-17 100 160 172-175 202 231 234 235 248")),
    Make("apacer_mlc", ids=_has("163 164 166-168 175 192 231 241"), without=_has("160 171")),
    Make(
        "apacer_sfd",
        ids=_has("163 164 166-168 175 241"),
        without=_has("160"),
        firmware=r"^SFD[GMN]",
    ),
    Make(
        "apacer_left",
        ids=_has("163 164 166-168 171 172 175 192 231 241"),
        without=_has("160"),
        firmware=r"^(AP|SFPA)",
    ),
    Make("apacer_163", ids=_has("163 164 166-168 171 172 175 192 231 241"), without=_has("160")),
    # Intel 53x, 540 and 545, after 520, 525, 330 and 335, which have the same attributes.
    Make("intel_545_1500", ids=_has("170-174 225-228 232 233 249 252"), firmware="^LHF004"),
    Make("intel_545", ids=_has("170-174 183 184 187 190 192 225-228 232 233 249 252")),
    Make("intel_545", ids=_has("170-172 174 183 184 187 190 192 225-228 232 233 249 252")),
    Make(
        "intel_530",
        ids=_has("225 232 233 241 249"),
        without=_has("252"),
        model=r"^INTEL SSD\w+\d[AB][34]\w?$",
    ),
    Make("intel_545_hp", ids=_has("225-228 232 233 249"), firmware="^LHFL"),
    Make("intel_535_late", ids=_has("225-228 232 233 249"), firmware=r"^(RG|LB1)"),
    Make("intel_535", ids=_has("225-228 232 233 249")),
    Make("hp_oem", ids=_has("1 5 9 173 175 180 194 196"), without=_has("12 231")),
    Make("kingston_uv", ids=_has("100 101 170-172 174-178 180 231 250")),
)
