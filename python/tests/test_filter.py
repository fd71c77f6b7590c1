"""One filter: keys of Python, NumPy and Arrow."""

import datetime as dt
import decimal
import json
import pathlib
import uuid
import zoneinfo

import numpy as np
import pyarrow as pa
import pytest

import filterblock as fb

KINDS = ["bloom:10", "blocked:10", "golomb:fpr=1%", "ribbon:fpr=1%", "fuse:fpr=1%"]


@pytest.mark.parametrize("policy", KINDS)
def test_no_key_is_denied_and_absent_ones_are(policy):
    keys = np.arange(0, 200_000, 2, dtype=np.int64)
    block = fb.build(keys, policy)
    assert isinstance(block, bytes)
    some = fb.open(block, policy)
    assert some.kind == policy.split(":")[0] and some.num_entries == len(keys)
    assert some.may_contain_many(keys).all()
    mask = some.may_contain_many(keys + 1)
    assert mask.dtype == bool and 0 < mask.mean() < 0.02
    # One by one, and in a batch of any length.
    for length in (0, 1, 4095, 4096, 4097, 9000):
        part = np.arange(length)
        assert some.may_contain_many(part).tolist() == [int(key) in some for key in part]


def test_values_are_found_by_what_they_are():
    some = fb.open(fb.build([5, -1, 2**63, 2**100]))
    assert some.num_entries == 4
    for same in (5, np.int8(5), np.uint64(5), decimal.Decimal("5.00"), decimal.Decimal("0.5E1"), -1, 2**63, 2**100):
        assert same in some
    assert 6 not in some and "5" not in some and b"5" not in some and decimal.Decimal("5.5") not in some
    # What equals a number without being one here, and what cannot be looked up, is maybe.
    for unknown in (5.0, 6.0, True, None, object(), (1, 2), 2**200, decimal.Decimal("NaN"), np.float64(6), "\ud800"):
        assert unknown in some
    for dtype in ("int8", "int64", ">i2", "uint8", "uint64"):
        assert some.may_contain_many(np.array([5, 6], dtype)).tolist() == [True, False]
    assert some.may_contain_many(memoryview(np.array([5, 6]))).tolist() == [True, False]
    assert some.may_contain_many(np.arange(12)[::-5]).tolist() == [False, False, False]
    assert some.may_contain_many(np.arange(12)[::5]).tolist() == [False, True, False]


def test_times():
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
    zoned = moment.replace(tzinfo=dt.timezone.utc)
    elsewhere = zoned.astimezone(zoneinfo.ZoneInfo("Asia/Tokyo"))
    keys = [moment, zoned, dt.date(1969, 12, 31), dt.time(1, 2, 3, 4)]
    some = fb.open(fb.build(keys))
    assert all(key in some for key in keys) and elsewhere in some
    assert moment + dt.timedelta(microseconds=1) not in some and dt.date(2026, 1, 2) not in some
    assert some.may_contain_many(np.array([moment], "datetime64[us]")).all()
    assert some.may_contain_many(np.array([moment], "datetime64[ns]")).all()
    assert not some.may_contain_many(np.array([moment], "datetime64[s]")).any()
    assert some.may_contain_many(np.array(["1969-12-31", "1970-01-01"], "datetime64[D]")).tolist() == [True, False]
    assert some.may_contain_many(np.array(["NaT", "2026-01-02"], "datetime64[s]")).tolist() == [True, False]


def test_dates_equal_timestamps_at_midnight():
    days = np.arange(-1000, 1000).astype("datetime64[D]")
    for built in ["datetime64[D]", "datetime64[s]", "datetime64[ns]"]:
        some = fb.open(fb.build(days.astype(built), "fuse:fpr=0.1%"))
        for asked in ["datetime64[D]", "datetime64[ms]", "datetime64[us]"]:
            assert some.may_contain_many(keys := days.astype(asked)).all(), (built, asked)
            assert some.may_contain_many(pa.array(keys)).all(), (built, asked)
        assert dt.date(1970, 1, 2) in some and dt.datetime(1970, 1, 2) in some
        assert dt.datetime(1970, 1, 2, 0, 0, 1) not in some
        assert some.may_contain_many(days.astype("datetime64[us]") + np.timedelta64(1, "us")).mean() < 0.02


def test_every_type_of_arrow():
    moment, texts = dt.datetime(2026, 1, 2, 3, 4, 5), [["", ""], ["", "a", "ab"]]
    numbers = {bits: [[-1, 2 ** (bits - 1) - 1], [0, 2**bits - 1]] for bits in (8, 16, 32, 64)}
    kinds = [(numbers[bits][is_unsigned], f"{'u' * is_unsigned}int{bits}") for bits in numbers for is_unsigned in (0, 1)]
    kinds += [(list(range(9000)), "int32"), (list(range(9000)), "int64"), ([moment.date(), dt.date(1960, 1, 1)], "date32")]
    kinds += [([moment.date(), dt.date(1960, 1, 1)], "date64"), ([dt.time(1, 2, 3)], "time32[ms]"), ([dt.time(1, 2, 3)], "time64[us]")]
    texts.append([f"{'aß名𝄞'[number % 4]}{number}" for number in range(9000)])
    kinds += [(text, kind) for text in texts for kind in ("string", "large_string", "string_view")]
    kinds += [([*map(str.encode, text)], kind) for text in texts for kind in ("binary", "large_binary", "binary_view")]
    kinds += [([moment], "timestamp[s]"), ([dt.datetime(1999, 1, 1, tzinfo=dt.timezone.utc)], pa.timestamp("us", "Asia/Tokyo"))]
    kinds += [([decimal.Decimal("-1.25")], kind(7, 2)) for kind in (pa.decimal32, pa.decimal64, pa.decimal128)]
    for values, kind in kinds:
        column = pa.array([values[-1], *values, None, None], kind)[1:-1]
        block, other = fb.build(values), fb.open(fb.build(["other", dt.date(1999, 1, 1)], "ribbon:fpr=0.0001%"))
        forms = [column]
        if "string" in str(kind) or "binary" in str(kind):
            forms.append(pa.DictionaryArray.from_arrays(pa.array([*range(len(column)), None]), column))
        for form in forms:
            assert fb.build(form) == block, kind
            assert other.may_contain_many(form).tolist() == [False] * len(values) + [True] * (len(form) - len(values)), kind


def test_uuids_and_cents():
    uuids = [uuid.UUID(int=number) for number in range(10)]
    same = pa.array([key.bytes for key in uuids], pa.binary(16))
    assert fb.build(uuids) == fb.build(same)
    cents = pa.array([decimal.Decimal("1.50"), decimal.Decimal("5.00")], pa.decimal128(10, 2))
    assert fb.build(cents) == fb.build([decimal.Decimal("1.5"), 5])


def test_columns_are_not_copied():
    column = np.arange(4_000_000)
    some = fb.open(fb.build(column[:10]))
    import tracemalloc

    tracemalloc.start()
    some.may_contain_many(column)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < column.nbytes / 4, "the mask alone, an eighth of the column"


def test_errors_are_typed():
    for policy in ("tree:10", "bloom", "ribbon:fpr=200%", ""):
        pytest.raises(fb.PolicyError, fb.build, [1], policy)
    pytest.raises(fb.BuildError, fb.build, range(1000), "bloom:max=70")
    block = fb.build([1], "ribbon:fpr=1%,seed=7", context=42)
    assert 1 in fb.open(block, "ribbon:fpr=1%,seed=7", context=42)
    pytest.raises(fb.MismatchError, fb.open, block).match("context")
    pytest.raises(fb.MismatchError, fb.open, block, "bloom:10,seed=8", context=42).match("seed")
    pytest.raises(fb.DamagedError, fb.open, b"")
    assert issubclass(fb.DamagedError, fb.DecodeError) and issubclass(fb.DecodeError, fb.FilterBlockError)
    assert fb.open(bytearray(block), context=42).to_bytes() == block


def test_classes_of_errors():
    """Cases of the conformance kit without a key or a context."""
    kit = pathlib.Path(__file__).parents[2] / "tests/conformance"
    classes = {"damaged": fb.DamagedError, "newer": fb.NewerError, "mismatch": fb.MismatchError}
    frames, count = {"block": fb.open, "range": fb.open_ranges, "set": fb.FilterSet.open}, 0
    for case in (case for name in ("refused", "rows") for case in json.loads((kit / f"{name}.json").read_text())):
        request, expected = case["request"], classes.get(case["reply"]["class"])
        if expected and request["frame"] in frames and not request.keys() - {"frame", "bytes", "queries"}:
            with pytest.raises(expected):
                frames[request["frame"]](bytes.fromhex(request["bytes"]))
            count += 1
    assert count > 500


def test_what_is_said_of_filters():
    files = fb.FilterSet.open(data := fb.FilterSetBuilder({"id": "number"}, 10).finish(allow_empty=True))
    some, ranges = fb.open(fb.build(range(1000), "blocked:10")), fb.open_ranges(fb.build_ranges(["a", "b"]))
    parts = fb.open_partitions(fb.build_partitions(["a", "b"])[1], bytes), fb.open_range_partitions(fb.build_range_partitions(["a"])[1], bytes)
    for filter, keys in ((some, 1000), (ranges, 2)):
        assert filter.num_bytes == len(filter.to_bytes()) and filter.bits_per_key == filter.num_bytes * 8 / keys
    assert fb.open(fb.build([], allow_empty=True)).bits_per_key is None and files.held_bytes == len(data)
    told = [f"Filter blocked, 1000 entries, {some.num_bytes} bytes", f"RangeFilter of 2 keys, {ranges.num_bytes} bytes"]
    told += ["PartitionedFilter of 2 keys, 1 partitions", "PartitionedRangeFilter of 1 keys, 1 partitions", "FilterSet of 0 files"]
    assert [*map(repr, (some, ranges, *parts, files))] == [f"<filterblock.{text}>" for text in told]
