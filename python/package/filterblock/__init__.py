"""Filter blocks and filter sets: which tables or files may have a key.

>>> import filterblock
>>> block = filterblock.build(["apple", "pear"], "ribbon:fpr=1%")  # bytes, to be stored
>>> fruits = filterblock.open(block)
>>> "apple" in fruits
True

*No* is always right, *maybe* is wrong at the rate of the policy. Every exception of opening means *maybe*.
"""

from ._native import (
    BuildError,
    DamagedError,
    DecodeError,
    Filter,
    FilterBlockError,
    FilterSet,
    FilterSetBuilder,
    MismatchError,
    NewerError,
    PartitionedFilter,
    PartitionedRangeFilter,
    PolicyError,
    RangeFilter,
    build,
    build_partitions,
    build_range_partitions,
    build_ranges,
    file_identity,
    open,
    open_partitions,
    open_range_partitions,
    open_ranges,
)

__all__ = [
    "BuildError",
    "DamagedError",
    "DecodeError",
    "Filter",
    "FilterBlockError",
    "FilterSet",
    "FilterSetBuilder",
    "MismatchError",
    "NewerError",
    "PartitionedFilter",
    "PartitionedRangeFilter",
    "PolicyError",
    "RangeFilter",
    "build",
    "build_partitions",
    "build_range_partitions",
    "build_ranges",
    "file_identity",
    "open",
    "open_partitions",
    "open_range_partitions",
    "open_ranges",
]
