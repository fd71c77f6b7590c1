"""Reader of partitioned range filters [15.5], format/partition.md."""
from __future__ import annotations

from bisect import bisect_left
from typing import Callable

import filterblock as fb
import integers
import partitioned
import ranges
from kinds import FilterError


def open_index(data: bytes, context: int = 0) -> partitioned.Index:
    return partitioned.open_index(data, context, fb.Hasher.xxh3_with(0), (0, 0), 6)


def open_partition(index: partitioned.Index, i: int, block: bytes) -> ranges.AnyFilter:
    return ranges.open_range(block, partitioned.partition_context(index.context, i))


def may_contain(index: partitioned.Index, lower: ranges.Bound, upper: ranges.Bound,
                load: Callable[[int], bytes]) -> bool:
    """The answer for a range; for a prefix both bounds are it."""
    separators, last = index.separators, len(index.separators) - 1
    if not integers.are_ordered(lower, upper):
        return True
    i = 0 if lower.key is None else bisect_left(separators, lower.key)
    if i > last:
        return False
    if upper.is_prefix:
        return asks(index, i, lower, upper, load)
    j = last if upper.key is None else min(bisect_left(separators, upper.key), last)
    return j > i + 1 or any(asks(index, at, lower, upper, load) for at in {i, j})


def asks(index: partitioned.Index, at: int, lower: ranges.Bound, upper: ranges.Bound,
         load: Callable[[int], bytes]) -> bool:
    try:
        opened = open_partition(index, at, load(at))
    except FilterError:
        return True
    if upper.is_prefix:
        assert upper.key is not None
        return opened.may_contain_prefix(upper.key)
    return opened.may_contain(lower, upper)
