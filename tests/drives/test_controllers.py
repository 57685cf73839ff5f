"""Controllers: each row of the table is recognized by its attributes and read as intended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.drives.ata_endurance import ata_endurance
from exporter.drives.controllers import CONTROLLERS, Make
from exporter.drives.health import AtaAttribute, Endurance, EnduranceSource
from exporter.drives.makes import identify_makes
from tests.drives.ata_reports import drive, family_endurance, row, statistics
from tests.drives.controller_examples import (
    EXAMPLES,
    Example,
    controller_drive,
    example_of,
    identity_of,
    is_example_of,
    table_of,
)

ROWS = tuple(enumerate(CONTROLLERS))


@pytest.mark.parametrize(("number", "make"), ROWS, ids=[f"{n}-{m.name}" for n, m in ROWS])
def test_each_row_recognizes_a_drive_and_reads_its_wear(number: int, make: Make) -> None:
    del number
    example = example_of(make)
    table = table_of(make, example)
    identity = identity_of(example)
    assert make.name == identify_makes(identity, [attribute.id for attribute in table])[0]
    endurance = family_endurance(identity, table)
    if example.percent is None:
        assert endurance is None
        return
    assert endurance is not None
    assert EnduranceSource.FAMILY_RULE == endurance.source
    assert pytest.approx(example.percent / 100) == endurance.used_ratio
    assert endurance.rule


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[f"{n}-{example.make}" for n, example in enumerate(EXAMPLES)]
)
def test_each_example_is_read_as_intended(example: Example) -> None:
    make = next(make for make in CONTROLLERS if is_example_of(make, example))
    endurance = family_endurance(identity_of(example), table_of(make, example))
    percent = None if endurance is None else 100 * endurance.used_ratio
    assert example.percent == (percent and pytest.approx(percent))


def test_every_example_belongs_to_a_row() -> None:
    used = {example_of(make).make for make in CONTROLLERS}
    assert used == {example.make for example in EXAMPLES}


def test_a_row_needs_ids_or_a_model() -> None:
    assert [] == [make for make in CONTROLLERS if not make.ids and not make.model]


def test_the_name_of_a_model_does_not_hide_its_controller() -> None:
    """Brands sell one model with several controllers."""
    _, table = controller_drive("phison_s11")
    ids = [attribute.id for attribute in table]
    names = identify_makes(drive("Silicon Motion based SSDs", "ADATA SU650", "SBFQ81.2"), ids)
    assert ("phison_s11", "smi") == names


# The device statistics are compared with the attributes.


def used(make: str, percent: int) -> Endurance | None:
    identity, table = controller_drive(make)
    return ata_endurance(statistics((7, 8, percent)), identity, table)


@pytest.mark.parametrize(
    ("make", "statistic", "published", "source"),
    [
        ("phison", 26, 26, "ata_devstat"),
        ("phison", 40, 40, "ata_devstat"),  # the table may be wrong, too
        ("phison", 200, None, ""),  # a gross contradiction
        ("samsung_8x0", 35, 35, "ata_devstat"),
        ("samsung_8x0", 36, None, ""),
        ("phison", 255, 26, "family_rule"),  # 255 means "not supported"
        ("phison", 0, 26, "family_rule"),  # reset to 0
        ("phison_hdfe", 77, 3.2, "family_rule"),  # random
        ("micron_old", 3, 12, "family_rule"),
        ("liteon_left", 96, 4, "family_rule"),  # inverted
        ("wd", 3, 9.01, "family_rule"),  # the larger of two gauges
        ("wd", 40, 40, "ata_devstat"),
    ],
)
def test_a_wrong_statistic_is_replaced_by_the_rule_or_not_published(
    make: str, statistic: int, published: float | None, source: str
) -> None:
    endurance = used(make, statistic)
    assert source == ("" if endurance is None else endurance.source.value)
    ratio = None if endurance is None else endurance.used_ratio
    assert ratio == (published and pytest.approx(published / 100))


@pytest.mark.parametrize(
    ("erases", "statistic", "published"),
    [
        (3150, 59, 315),  # one byte: 315 - 256
        (3150, 61, 315),
        (5700, 58, 570),
        (3150, 130, 130),  # worn out by both
        (3150, 66, None),  # no restart explains it
    ],
)
def test_an_indicator_that_has_restarted_at_256_is_replaced(
    erases: int, statistic: int, published: int | None
) -> None:
    identity, table = controller_drive("phison_s11")
    worn = [row(167, "Average", 100, erases) if each.id == 167 else each for each in table]
    endurance = ata_endurance(statistics((7, 8, statistic)), identity, worn)
    assert published == (None if endurance is None else round(100 * endurance.used_ratio))


# A gauge that has stopped at the end of its scale is a lower bound.


@pytest.mark.parametrize(
    ("statistic", "published", "is_bound"),
    [
        (99, 0.99, False),
        (140, 1.4, False),  # more than the bound is no contradiction
        (0, 0.99, True),
        (60, 0.99, True),  # it may have restarted at 256
    ],
)
def test_the_statistics_tell_how_much_more_than_a_lower_bound_is_used(
    statistic: int, published: float | None, is_bound: bool
) -> None:
    worn = [row(177, "Wear_Leveling_Count", 1, 4000)]
    endurance = ata_endurance(statistics((7, 8, statistic)), drive("Samsung based SSDs"), worn)
    assert published == (None if endurance is None else pytest.approx(endurance.used_ratio))
    assert is_bound == (endurance is not None and endurance.is_lower_bound)


@pytest.mark.parametrize(
    ("make", "attribute", "percent"),
    [
        ("samsung_hp", row(173, "Wear_Leveling_Count", 1, 2227), 99),
        ("intel_lenovo", row(233, "Media_Wearout_Indicator", 1, 0), 99),
        ("kingston_uv", row(231, "SSD_Life_Left", 2, 100), 100),
        ("micron_client", row(202, "Percent_Lifetime_Remain", 0, 100), 100),
        ("jmicron", row(173, "Unknown_Attribute", 1, 9000), 199),
        ("intel_535_late", row(233, "Media_Wearout_Indicator", 25, 0), 100),
    ],
)
def test_a_gauge_that_has_stopped_is_a_lower_bound(
    make: str, attribute: AtaAttribute, percent: int
) -> None:
    identity, table = controller_drive(make)
    others = [each for each in table if each.id != attribute.id]
    endurance = family_endurance(identity, [attribute, *others])
    assert endurance is not None
    assert endurance.is_lower_bound
    assert pytest.approx(percent / 100) == endurance.used_ratio


@pytest.mark.parametrize(("statistic", "published"), [(14, 14), (16, 16), (40, None), (5, None)])
def test_a_statistic_that_needs_a_second_source_is_published_only_with_it(
    statistic: int, published: int | None
) -> None:
    endurance = used("phison_a400", statistic)
    assert published == (None if endurance is None else round(100 * endurance.used_ratio))


@pytest.mark.parametrize("statistic", [0, 1, 24, 216])
def test_a_statistic_without_a_second_source_is_not_published(statistic: int) -> None:
    assert used("phison_a400_other", statistic) is None


def test_255_is_believed_if_the_drive_is_worn_out() -> None:
    identity, _ = controller_drive("kingston_uv")
    make = next(make for make in CONTROLLERS if make.name == "kingston_uv")
    example = example_of(make)
    worn = [
        attribute if attribute.id != 231 else row(231, "SSD_Life_Left", 1, 99)
        for attribute in table_of(make, example)
    ]
    endurance = ata_endurance(statistics((7, 8, 255)), identity, worn)
    assert Endurance(2.55, EnduranceSource.ATA_DEVSTAT) == endurance


def test_255_of_an_unknown_drive_is_no_wear() -> None:
    assert ata_endurance(statistics((7, 8, 255)), drive(None), []) is None


def test_a_rejected_value_is_recorded_with_its_reason() -> None:
    identity, table = controller_drive("phison")
    fields = statistics((7, 8, 0))
    ata_endurance(fields, identity, table)
    (rejected,) = fields.rejected
    assert ("endurance_used_ratio", 0.0) == (rejected.metric, rejected.value)
    assert "attributes show wear" in rejected.reason
    assert "device statistics" in rejected.rule


@given(st.integers(0, 255), st.sampled_from(sorted({make.name for make in CONTROLLERS})))
def test_any_statistic_of_any_controller_yields_a_ratio_or_none(percent: int, make: str) -> None:
    endurance = used(make, percent)
    assert endurance is None or 0 <= endurance.used_ratio <= 5
