"""Reads the corpus: real outputs of smartctl, which are never part of the repository."""

from pathlib import Path

from exporter.drives.fields import Json
from exporter.smart.smartctl import report

#: INDEX.md in this folder lists the source and the licence of each file.
CORPUS = Path(__file__).parents[3] / "shared" / "smartctl-corpus"
NO_CORPUS = f"no corpus beside the checkout ({CORPUS.parent.name}/{CORPUS.name})"

#: The page of the device statistics with the percentage used indicator (ACS-4, 9.5.8).
_ENDURANCE_PAGE = 7


def paths() -> set[str]:
    """The names of all files, such as "nvme/name.json"."""
    return {path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*.json")}


def output(file: str) -> bytes:
    """The output of smartctl in a file."""
    return (CORPUS / file).read_bytes()


def document(file: str) -> Json:
    """The parsed JSON of a file."""
    return report(output(file))


def without_standard_log(document: Json) -> Json | None:
    """A copy without page 7 of the ATA device statistics. None if there is no such page."""
    statistics = document.get("ata_device_statistics")
    pages = statistics.get("pages", []) if isinstance(statistics, dict) else []
    rest = [page for page in pages if page["number"] != _ENDURANCE_PAGE]
    if len(rest) == len(pages):
        return None
    return {**document, "ata_device_statistics": {"pages": rest}}
