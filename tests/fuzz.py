"""The number of examples of a property test.

`make test` uses the same examples in every run of the same code, `make quick` a tenth of them, and
`make fuzz` many random ones.
"""

import os

#: Number by which SSD_EXAMPLES multiplies the examples. Above 1 they are random.
RATIO = float(os.environ.get("SSD_EXAMPLES", "1"))

IS_RANDOM = RATIO > 1


def examples(number: int) -> int:
    """Returns the value of `max_examples` for a property test with this number of examples."""
    return max(int(number * RATIO), 1)
