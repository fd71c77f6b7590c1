from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

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

# An array of NumPy or Arrow, a series of Polars or pandas, a memoryview of integers, or an iterable of int, str, bytes,
# Decimal, datetime, date, time or UUID. The README has the table of what is taken.
_Keys: TypeAlias = Any
# A memoryview of bool where NumPy is not installed.
_Mask: TypeAlias = NDArray[np.bool_]
_Buffer: TypeAlias = bytes | bytearray | memoryview | Any
# Names and identities of files, as a table lists them now.
_Files: TypeAlias = Sequence[tuple[str, int]]
_Fetch: TypeAlias = Callable[[int, int], _Buffer]
_SecretKey: TypeAlias = bytes | bytearray | None

class FilterBlockError(Exception): ...
class PolicyError(FilterBlockError): ...
class BuildError(FilterBlockError): ...
class DecodeError(FilterBlockError): ...
class DamagedError(DecodeError): ...
class NewerError(DecodeError): ...
class MismatchError(DecodeError): ...

def build(
    keys: _Keys,
    policy: str = "ribbon:fpr=1%",
    *,
    context: int = 0,
    allow_empty: bool = False,
    secret_key: _SecretKey = None,
) -> bytes: ...
def open(
    block: _Buffer, policy: str | None = None, *, context: int = 0, secret_key: _SecretKey = None
) -> Filter: ...
def build_ranges(
    keys: _Keys, policy: str = "range:14", *, context: int = 0, allow_empty: bool = False
) -> bytes: ...
def open_ranges(block: _Buffer, *, context: int = 0) -> RangeFilter: ...
def build_partitions(
    keys: _Keys,
    policy: str = "ribbon:fpr=1%",
    *,
    partition_bytes: int = 32_768,
    offset: int = 0,
    context: int = 0,
    allow_empty: bool = False,
    secret_key: _SecretKey = None,
) -> tuple[bytes, bytes]: ...
def open_partitions(
    index: _Buffer, load: _Fetch, policy: str | None = None, *, context: int = 0, secret_key: _SecretKey = None
) -> PartitionedFilter: ...
def build_range_partitions(
    keys: _Keys,
    policy: str = "range:14",
    *,
    partition_bytes: int = 32_768,
    offset: int = 0,
    context: int = 0,
    allow_empty: bool = False,
) -> tuple[bytes, bytes]: ...
def open_range_partitions(index: _Buffer, load: _Fetch, *, context: int = 0) -> PartitionedRangeFilter: ...
def file_identity(*parts: str | bytes | bytearray | int) -> int: ...
@final
class Filter:
    @property
    def kind(self) -> str: ...
    @property
    def num_entries(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def bits_per_key(self) -> float | None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def may_contain(self, key: object, /) -> bool: ...
    def may_contain_many(self, keys: _Keys) -> _Mask: ...
    def to_bytes(self) -> bytes: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Filter], tuple[bytes]]: ...

@final
class RangeFilter:
    @property
    def form(self) -> str | None: ...
    @property
    def num_keys(self) -> int: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def bits_per_key(self) -> float | None: ...
    def __contains__(self, key: object, /) -> bool: ...
    def may_contain(self, key: object, /) -> bool: ...
    def false_positive_rate(self, length: int) -> float | None: ...
    def may_contain_prefix(self, prefix: str | bytes) -> bool: ...
    def may_contain_range(
        self,
        lower: str | bytes | None,
        upper: str | bytes | None,
        *,
        lower_included: bool = True,
        upper_included: bool = False,
    ) -> bool: ...
    def to_bytes(self) -> bytes: ...
    def __reduce__(self) -> tuple[Callable[[bytes], RangeFilter], tuple[bytes]]: ...

@final
class PartitionedFilter:
    @property
    def num_entries(self) -> int: ...
    @property
    def num_partitions(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def may_contain(self, key: object, /) -> bool: ...

@final
class PartitionedRangeFilter:
    @property
    def num_keys(self) -> int: ...
    @property
    def num_partitions(self) -> int: ...
    def may_contain_prefix(self, prefix: str | bytes) -> bool: ...
    def may_contain_range(
        self,
        lower: str | bytes | None,
        upper: str | bytes | None,
        *,
        lower_included: bool = True,
        upper_included: bool = False,
    ) -> bool: ...

@final
class FilterSet:
    @staticmethod
    def fetch_index(
        length: int,
        fetch: _Fetch,
        *,
        seed: int | None = None,
        secret_key: _SecretKey = None,
        max_held_bytes: int = 67_108_864,
    ) -> FilterSet: ...
    @staticmethod
    def open(data: _Buffer, *, seed: int | None = None, secret_key: _SecretKey = None) -> FilterSet: ...
    def plan(self, column: str, keys: Any, files: _Files, max_gap: int = 65_536) -> list[tuple[int, int]]: ...
    def may_contain(
        self,
        column: str,
        keys: Any,
        files: _Files,
        fetch: _Fetch | None = None,
        max_gap: int = 65_536,
        *,
        given: Sequence[tuple[int, _Buffer]] = ...,
    ) -> _Mask: ...
    def may_contain_each(
        self,
        column: str,
        keys: Any,
        files: _Files,
        fetch: _Fetch | None = None,
        max_gap: int = 65_536,
        *,
        given: Sequence[tuple[int, _Buffer]] = ...,
    ) -> list[_Mask]: ...
    def count(self, files: _Files) -> dict[str, int]: ...
    @property
    def files(self) -> list[tuple[str, int]]: ...
    @property
    def columns(self) -> dict[str, str | None]: ...
    @property
    def foreign_append(self) -> tuple[int, int] | None: ...
    @property
    def held_bytes(self) -> int: ...
    def take_bad_units(self) -> list[tuple[str, str]]: ...

@final
class FilterSetBuilder:
    def __new__(
        cls,
        columns: dict[str, str],
        keys_per_file: int,
        *,
        fpr: float = 0.01,
        seed: int | None = None,
        secret_key: _SecretKey = None,
        scratch: str | PathLike[str] | None = None,
        max_strip_bytes: int = 16_777_216,
    ) -> FilterSetBuilder: ...
    def add_file(
        self, name: str, identity: int, columns: dict[str, _Keys], *, allow_empty: bool = False
    ) -> list[str]: ...
    def absorb(self, data: _Buffer, keep: Callable[[str], bool] | None = None) -> int: ...
    def finish(self, *, allow_empty: bool = False) -> bytes: ...
    def finish_append(self, old: FilterSet, drop: Sequence[str] = ...) -> bytes: ...
    @property
    def num_files(self) -> int: ...
