"""The baselines of every drive ever seen here, in memory and in the kept state."""

import logging
from collections.abc import Mapping
from typing import Any

from exporter.diagnosis.baseline import Baseline, BaselineRules, DriveBaselines

log = logging.getLogger(__name__)

#: More drives than any host has, with those that were replaced.
_MOST_DRIVES = 8192


class Baselines:
    """Baselines by the drive's identity, so that they follow it through reboots and renaming.

    `kept` is what `to_keep` gave, out of a file that may hold anything.
    """

    def __init__(self, rules: BaselineRules, kept: Any = None) -> None:
        self._rules = rules
        self._by_identity: dict[str, DriveBaselines] = {}
        if not isinstance(kept, Mapping | None):
            log.warning("the kept baselines are not usable: learned anew")
            kept = None
        for identity, directions in (kept or {}).items():
            try:
                self._by_identity[identity] = DriveBaselines(
                    self._restored(directions["read"]), self._restored(directions["write"])
                )
            except (KeyError, TypeError, ValueError, OverflowError) as e:
                log.warning("the kept baseline of %s is not usable (%r): learned anew", identity, e)

    def of(self, identity: str) -> DriveBaselines:
        """The drive's baselines, new ones if it was never seen."""
        found = self._by_identity.pop(identity, None)
        if found is None:
            found = DriveBaselines(Baseline(self._rules), Baseline(self._rules))
        # At the end, so that those not seen for longest are the first to go.
        self._by_identity[identity] = found
        while len(self._by_identity) > _MOST_DRIVES:
            del self._by_identity[next(iter(self._by_identity))]
        return found

    def learn_by(self, rules: BaselineRules) -> None:
        """The settings were read again."""
        self._rules = rules
        for drive in self._by_identity.values():
            drive.read.rules = drive.write.rules = rules

    def to_keep(self) -> dict[str, Any]:
        """Plain values for the state file; drives of which nothing was learned are left out."""
        return {
            identity: {
                "read": [list(pair) for pair in drive.read.learned()],
                "write": [list(pair) for pair in drive.write.learned()],
            }
            for identity, drive in self._by_identity.items()
            if drive.read.bins or drive.write.bins
        }

    def _restored(self, pairs: Any) -> Baseline:
        return Baseline.restored(
            self._rules, [(int(index), float(weight)) for index, weight in pairs]
        )
