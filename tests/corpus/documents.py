"""The corpus: real outputs of smartctl, kept beside the checkout and never in it."""

from pathlib import Path

from exporter.drives.fields import Json
from exporter.smart.smartctl import report

#: INDEX.md in it says where each file is from, and its licence.
CORPUS = Path(__file__).parents[3] / "shared" / "smartctl-corpus"
NO_CORPUS = f"there is no corpus beside the checkout ({CORPUS.parent.name}/{CORPUS.name})"

_ENDURANCE_PAGE = 7


def paths() -> set[str]:
    """Every file of the corpus, as "nvme/name.json"."""
    return {path.relative_to(CORPUS).as_posix() for path in CORPUS.glob("*/*.json")}


def output(file: str) -> bytes:
    return (CORPUS / file).read_bytes()


def document(file: str) -> Json:
    return report(output(file))


def without_standard_log(document: Json) -> Json | None:
    """A copy without ATA's standard endurance log (device statistics, page 7); None had it none."""
    statistics = document.get("ata_device_statistics")
    pages = statistics.get("pages", []) if isinstance(statistics, dict) else []
    rest = [page for page in pages if page["number"] != _ENDURANCE_PAGE]
    if len(rest) == len(pages):
        return None
    return {**document, "ata_device_statistics": {"pages": rest}}
