"""Defines the record of all thresholds of verdicts, which the settings contain.

It is a module of its own, because the agent reads the settings and must not load the code that
processes samples. This saves 0.4 MB of its limit of 20 MB.
"""

from dataclasses import dataclass, field

from exporter.io.baseline import BaselineRules
from exporter.io.partial_hang import PartialHangRules
from exporter.io.throttling import ThrottlingRules
from exporter.io.verdict import SaturationRules, VerdictRules
from exporter.io.write_falloff import WriteFalloffRules


@dataclass(frozen=True, slots=True)
class DiskRules:
    """The thresholds of all verdicts.

    Each field is a section of the configuration file, such as [rules.saturation].
    """

    saturation: SaturationRules = field(default_factory=SaturationRules)
    baseline: BaselineRules = field(default_factory=BaselineRules)
    bottleneck: VerdictRules = field(default_factory=VerdictRules)
    partial_hang: PartialHangRules = field(default_factory=PartialHangRules)
    throttling: ThrottlingRules = field(default_factory=ThrottlingRules)
    write_falloff: WriteFalloffRules = field(default_factory=WriteFalloffRules)
