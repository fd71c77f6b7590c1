"""One filter: keys of Python, NumPy and Arrow."""

import datetime as dt
import decimal
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
    for dtype in ("int8", "int16", "int32", "int64", ">i8", ">i2"):
        assert some.may_contain_many(np.array([5, -1, 6], dtype)).tolist() == [True, True, False]
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        assert some.may_contain_many(np.array([5, 6], dtype)).tolist() == [True, False]
    assert some.may_contain_many(np.array([2**63], "uint64")).all()
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
    for unit in ("us", "ns"):
        assert some.may_contain_many(pa.array([moment], pa.timestamp(unit))).all()
        assert some.may_contain_many(pa.array([zoned], pa.timestamp(unit, "Europe/Berlin"))).all()
        assert some.may_contain_many(pa.array([dt.time(1, 2, 3, 4)], pa.time64(unit))).all()
    assert some.may_contain_many(pa.array([dt.date(1969, 12, 31)], pa.date32())).all()
    assert some.may_contain_many(pa.array([dt.date(1969, 12, 31)], pa.date64())).all()


def test_dates_equal_timestamps_at_midnight():
    days = np.arange(-1000, 1000).astype("datetime64[D]")
    for built in ["datetime64[D]", "datetime64[s]", "datetime64[ns]"]:
        some = fb.open(fb.build(days.astype(built), "fuse:fpr=0.1%"))
        for asked in ["datetime64[D]", "datetime64[ms]", "datetime64[us]"]:
            assert some.may_contain_many(days.astype(asked)).all(), (built, asked)
        assert dt.date(1970, 1, 2) in some and dt.datetime(1970, 1, 2) in some
        assert dt.datetime(1970, 1, 2, 0, 0, 1) not in some
        assert some.may_contain_many(days.astype("datetime64[us]") + np.timedelta64(1, "us")).mean() < 0.02


WORDS = [f"word {number}" for number in range(5000)]


@pytest.mark.parametrize(
    "make",
    [
        *(list, tuple, iter, lambda words: [word.encode() for word in words]),
        *(lambda words: np.array(words), lambda words: np.array(words, dtype=object)),
        *(lambda words, kind=kind: pa.array(words, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
        lambda words: pa.array(words).dictionary_encode(),
        lambda words: pa.chunked_array([words[:10], [], words[10:]]),
        lambda words: pa.array(["before", *words, "after"])[1:-1],
        *(lambda words, kind=kind: pa.array([*map(str.encode, words)], kind) for kind in (pa.binary(), pa.large_binary())),
    ],
)
def test_every_form_of_text_makes_the_same_block(make):
    block = fb.build(WORDS, "blocked:10")
    assert fb.build(make(WORDS), "blocked:10") == block
    some = fb.open(block)
    mask = some.may_contain_many(make(WORDS + ["absent 1", "absent 2", "absent 3"]))
    assert mask[:-3].all() and not mask[-3:].all()


def test_arrow_nulls_and_slices():
    column = pa.array([None, 1, 2, None, 4, 5, 6, None, 8, 9, None], pa.int32())
    for start in range(12):
        part = column[start:]
        some = fb.open(fb.build(part, "bloom:20", allow_empty=start >= 10))
        assert some.num_entries == len(part) - part.null_count
        assert some.may_contain_many(part).all(), "a null is maybe"
        present = some.may_contain_many(np.arange(100))
        assert {key for key in part.to_pylist() if key is not None} == set(np.flatnonzero(present).tolist())
    uuids = [uuid.UUID(int=number) for number in range(10)]
    same = pa.array([key.bytes for key in uuids], pa.binary(16))
    assert fb.build(uuids) == fb.build(same)
    cents = pa.array([decimal.Decimal("1.50"), decimal.Decimal("5.00")], pa.decimal128(10, 2))
    assert fb.build(cents) == fb.build([decimal.Decimal("1.5"), 5])
    empty = [fb.build(keys, allow_empty=True) for keys in ([], pa.array([], pa.string()), np.array([]), pa.nulls(3))]
    assert len(set(empty)) == 1 and 1 not in fb.open(empty[0])


def test_texts_of_every_length_place_and_alphabet():
    """Batches of a column are hashed as its values are one by one."""
    letters = ["", "a", "ß", "名", "𝄞", "user ", "x" * 300]
    texts = [f"{letters[i % 7]}{i % 5003}{letters[i % 11 % 7]}" if i % 13 else None for i in range(9_000)]
    values = [text for text in texts if text is not None]
    for kind, end in ((pa.string(), len), (pa.large_string(), len), (pa.binary(), len)):
        encode = (lambda text: text) if kind != pa.binary() else (lambda text: text and text.encode())
        column = pa.array(map(encode, texts), kind)
        for start, stop in ((0, 9_000), (1, 4_097), (7, 4_104), (4_095, 8_999)):
            part = column[start:stop]
            some = fb.open(fb.build(part, "ribbon:fpr=1%"))
            assert some.to_bytes() == fb.build([key for key in part.to_pylist() if key is not None], "ribbon:fpr=1%")
            asked = pa.array(map(encode, [None, *texts, "absent", "also"]), kind)[1:]
            assert some.may_contain_many(asked).tolist() == [key in some for key in asked.to_pylist()]
            assert some.may_contain_many(part).all()


def test_arrays_that_lie():
    """A text that is none has no entry, though its neighbours have one."""

    def column(offsets, text, kind=pa.string(), nulls=0):
        width = "int64" if kind == pa.large_string() else "int32"
        buffers = [None, pa.py_buffer(np.array(offsets, width)), pa.py_buffer(text)]
        return pa.Array.from_buffers(kind, len(offsets) - 1, buffers, nulls)

    some = fb.open(fb.build(["one", "two", "größe"]))
    for kind in (pa.string(), pa.large_string()):
        cut = column([0, 3, 6, 9, 13], "onetwogröße".encode(), kind)
        assert some.may_contain_many(cut).tolist() == [True, True, True, True]
        assert some.may_contain_many(column([0, 3, 6, 11], b"onetwo\xff\xfe\xfd\xfc\xfb", kind)).all()
        assert some.may_contain_many(column([0, 3, 6, 9], b"onesixtwo", kind)).tolist() == [True, False, True]
        for wrong in (cut, column([0, 3, 4], b"one\xff", kind), column([0, 6, 3, 9], b"onetwosix", kind)):
            with pytest.raises(TypeError):
                fb.build(wrong)
        assert some.may_contain_many(column([0, 6, 3, 9], b"sixsixsix", kind)).tolist() == [False, True, False]


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
        with pytest.raises(fb.PolicyError):
            fb.build([1], policy)
    with pytest.raises(fb.BuildError):
        fb.build(range(1000), "bloom:max=70")
    block = fb.build([1], "ribbon:fpr=1%,seed=7", context=42)
    assert 1 in fb.open(block, "ribbon:fpr=1%,seed=7", context=42)
    with pytest.raises(fb.MismatchError, match="context"):
        fb.open(block)
    with pytest.raises(fb.MismatchError, match="seed"):
        fb.open(block, "bloom:10,seed=8", context=42)
    for at in range(len(block)):
        with pytest.raises(fb.DecodeError):
            fb.open(block[:at] + bytes([block[at] ^ 1]) + block[at + 1 :], context=42)
    with pytest.raises(fb.DamagedError):
        fb.open(b"")
    assert issubclass(fb.DamagedError, fb.DecodeError) and issubclass(fb.DecodeError, fb.FilterBlockError)
    assert fb.open(bytearray(block), context=42).to_bytes() == block
