"""Prints the score of the vendor table: python -m rigs.vendor_table [CAPTURES] [--markdown]."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from rigs.vendor_table.captures import CAPTURES, Capture, read_captures
from rigs.vendor_table.families import summary, table
from rigs.vendor_table.left_out import all_shares
from rigs.vendor_table.score import Score, score, share


def main() -> int:
    """Print the score. Returns 0, or 2 without captures."""
    parser = argparse.ArgumentParser(prog="make drives")
    parser.add_argument("captures", nargs="?", type=Path, default=CAPTURES)
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/drives.md")
    options = parser.parse_args()
    if not options.captures.exists():
        print(f"no captures in {options.captures}; set CAPTURES=FILE.jsonl.gz", file=sys.stderr)
        return 2
    captures = list(read_captures(options.captures))
    total, by_make = score(captures)
    if options.markdown:
        print(summary(all_shares(captures, total)))
        print(table(by_make), end="")
        return 0
    _print_total(total)
    _print_left_out(total, captures)
    _print_rejected(total)
    _print_worst(by_make)
    return 0


def _print_total(total: Score) -> None:
    print(
        f"{total.drives} SATA SSDs, {total.false_zeros} published as unworn in spite of their load"
    )
    for title, counter in (
        ("wear as published, compared with the device statistics", total.published),
        ("wear if the device statistics are hidden", total.hidden),
        ("host bytes as published", total.written),
        ("host bytes if the device statistics are hidden", total.written_hidden),
    ):
        print(f"\n{title}")
        for name, count in sorted(counter.items(), key=lambda item: -item[1]):
            known = "" if name == "no reference" else f"{100 * share(counter, name):7.2f} %"
            print(f"  {name:22}{count:6}{known}")


def _print_left_out(total: Score, captures: list[Capture]) -> None:
    print("\nwear if the device statistics are hidden: right, bound, wrong, unknown")
    print(summary(all_shares(captures, total)), end="")


def _print_rejected(total: Score) -> None:
    print("\nvalues that were rejected")
    for reason, count in total.rejected.most_common():
        print(f"  {count:6}  {reason}")


def _print_worst(by_make: dict[str, Score]) -> None:
    print("\nmakes, most errors first (wear if hidden: right, wrong, unknown; bytes if hidden)")
    order = sorted(by_make.items(), key=lambda item: (-item[1].hidden["wrong"], -item[1].drives))
    for make, part in order:
        print(
            f"  {make or '(no make)':22}{part.drives:6} drives"
            f"{_three(part.hidden)}{_three(_folded(part.written_hidden))}"
        )


def _folded(written: Counter[str]) -> Counter[str]:
    return Counter(
        right=sum(count for name, count in written.items() if name.startswith("right")),
        wrong=written["differs"],
        unknown=written["unknown"],
    )


def _three(counter: Counter[str]) -> str:
    return f"{counter['right']:7}{counter['wrong']:6}{counter['unknown']:6}"


if __name__ == "__main__":
    sys.exit(main())
