"""Mistakes: refused, *maybe*, or in the README's table of those that go unnoticed."""

import array
import collections
import copy
import ctypes
import datetime as dt
import decimal
import enum
import fractions
import itertools
import mmap
import os
import pathlib
import pickle
import re
import runpy
import subprocess
import sys
import textwrap
import zoneinfo

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import filterblock as fb

POLICY = "ribbon:fpr=0.1%,seed=7"
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


def spent(keys, count=None):
    # An iterator of which all, or some, were taken before.
    return (keys := iter(keys), collections.deque(itertools.islice(keys, count), maxlen=0))[0]


class Bar:
    """Of a progress: a generator, and how many it gives."""

    __init__ = lambda self: setattr(self, "keys", iter([1, 2]))
    __iter__, __next__, __len__ = lambda self: self, lambda self: next(self.keys), lambda self: 2


WITH_LENGTH = [Bar, lambda: np.array([1, 2]).flat]


def is_refused(keys, match=None):
    """Whether neither filters nor sets take the keys."""
    pytest.raises(TypeError, fb.build, keys, POLICY).match(match or "")
    return True


# What was not added.


def test_no_filter_of_nothing():
    nothing = [[], (), set(), np.array([]), np.array([], "int64"), pa.array([]), pa.array([], pa.string()), pl.Series([]), pd.Series([]), {}.keys()]
    for keys in [*nothing, [None], pa.nulls(3), np.ma.masked_all(3, "int64"), memoryview(np.array([], "int64"))]:
        pytest.raises(fb.BuildError, fb.build, keys).match("no key was given")
        assert fb.build(keys, allow_empty=True) == fb.build([], allow_empty=True)
    for make in (iter, spent, lambda keys: (key for key in keys), lambda keys: map(str, keys)):
        pytest.raises(fb.BuildError, fb.build, make([]) if make is not spent else spent([1, 2]))
    for make in WITH_LENGTH:
        for keys in (spent(make()), spent(make(), 1)):
            pytest.raises(fb.BuildError, fb.build, keys, allow_empty=True).match("fewer than their len")
        assert fb.open(block := fb.build([1, 2])).may_contain_many(spent(make(), 1)).tolist() == [True]
        assert fb.open(fb.build([3])).may_contain_many(spent(make(), 1)).all()
        assert fb.build(make()) == block


def test_no_set_of_nothing():
    builder = fb.FilterSetBuilder({"user": "number"}, 1000)
    pytest.raises(fb.BuildError, builder.finish)
    odd = [spent([1, 2]), [], np.array([], "int64"), *(spent(make(), 1) for make in WITH_LENGTH)]
    for number, keys in enumerate(odd):
        assert builder.add_file(f"odd {number}", 1, {"user": keys}) == []
    assert builder.add_file("f", 1, {"user": [1]}) == ["user"]
    files = fb.FilterSet.open(builder.finish())
    known = [*((f"odd {number}", 1) for number in range(len(odd))), ("f", 1)]
    assert files.may_contain("user", 2, known).tolist() == [True] * len(odd) + [False]
    for again in (builder.finish, lambda: builder.finish_append(files)):
        pytest.raises(fb.BuildError, again)
    assert fb.FilterSet.open(builder.finish(allow_empty=True)).files == []
    # A query of nothing finds nothing in a filter; of an iterator that may have been used, it is maybe.
    spent_again = (spent(make(), count) for make in WITH_LENGTH for count in (1, 2))
    for keys in (spent([1, 2]), spent(np.nditer(np.array([1, 2]))), *spent_again):
        assert files.may_contain("user", keys, known).all()
        assert all(mask.all() for mask in files.may_contain_each("user", keys, known))
    arrays = np.array([], "u1"), pa.array([]), pl.Series([]), pd.Series([])
    for none in ([], (), {}.keys(), range(0), frozenset(), array.array("q"), *arrays):
        assert files.may_contain("user", none, known[-1:]).tolist() == [False]
    assert all(files.may_contain("user", Kind(), known[-1:])[0] for Kind in (collections.UserList, collections.deque))


def test_sizes_that_no_filter_has():
    for keys_per_file, fpr in [(1000, fpr) for fpr in (0, -1, 0.6, 1e-10, float("nan"), float("inf"))] + [(2**60, 0.01)]:
        pytest.raises(fb.PolicyError, fb.FilterSetBuilder, {"id": "number"}, keys_per_file, fpr=fpr).match("a rate")
    # A wrong guess costs bytes, and no key.
    for keys_per_file in (0, 1, 10**6):
        builder = fb.FilterSetBuilder({"id": "number"}, keys_per_file)
        builder.add_file("f", 1, {"id": range(5000)})
        files = fb.FilterSet.open(builder.finish())
        assert all(mask[0] for mask in files.may_contain_each("id", range(5000), [("f", 1)]))
        assert np.mean(files.may_contain_each("id", range(5000, 10_000), [("f", 1)])) < 0.02


def test_a_builder_after_an_error():
    builder = fb.FilterSetBuilder({"id": "number"}, 1000)
    builder.add_file("a", 1, {"id": [1]})
    data = builder.finish()
    for fail in (lambda: builder.absorb(data), lambda: builder.finish_append(fb.FilterSet.open(data))):
        builder = fb.FilterSetBuilder({"id": "number"}, 1000)
        builder.add_file("a", 1, {"id": [2]})
        pytest.raises(fb.BuildError, fail).match("already")
        # Nothing is left that could be taken for the whole.
        for call in (builder.finish, lambda: builder.num_files, lambda: builder.add_file("c", 1, {})):
            pytest.raises(fb.BuildError, call).match("begin anew")
    pytest.raises(FileNotFoundError, fb.FilterSetBuilder, {"id": "number"}, 1000, scratch="/no/such/folder")


def test_columns_that_change_while_they_are_taken():
    columns = {"id": None, "word": ["a"]}

    def numbers():
        columns.clear()
        yield 5

    columns["id"] = numbers()
    builder = fb.FilterSetBuilder({"id": "number", "word": "text"}, 1000)
    assert builder.add_file("f", 1, columns) == ["id", "word"] and not columns


# Keys that are not what they seem.


def test_subclasses_of_arrays():
    for length in (10**6, 2):
        kind = type("Odd", (np.ndarray,), {"__len__": lambda self: length})
        some = fb.open(fb.build(np.arange(5).view(kind), POLICY))
        assert some.num_entries == 5 and all(number in some for number in range(5))
        assert some.may_contain_many(np.arange(5).view(kind)).tolist() == [True] * 5
    absent = fb.open(fb.build([7], POLICY))
    for name in ("__eq__", "__array_ufunc__"):
        Quantity = type("Quantity", (np.ndarray,), {name: None})
        Derived = type("Derived", (Quantity,), {})
        Producer = type("Producer", (), {"__array_interface__": np.arange(5).__array_interface__})
        assert fb.build(Producer()) == fb.build(range(5))
        Producer.__eq__, Column = None, type("Column", (pd.Series,), {"__eq__": None})
        for keys in (np.arange(5).view(Quantity), np.arange(5).view(Derived), Producer(), Column(range(5))):
            assert is_refused(keys, "of type (Quantity|Derived|Producer|Column)")
            assert absent.may_contain_many(keys).tolist() == [True] * 5
    with_spaces = np.char.array(["a  ", "b"])  # shows "a"
    assert all(key in fb.open(fb.build(with_spaces, POLICY)) for key in [with_spaces[0], "b"])
    assert fb.open(fb.build(["a", "b"], POLICY)).may_contain_many(with_spaces).all()


def test_one_key_is_not_many():
    Proxy = type("Proxy", (collections.UserList,), {"__class__": str})
    odd = [Proxy("abc"), Proxy(), collections.UserString(""), collections.UserString("abc"), mmap.mmap(-1, 8)]
    odd += [ctypes.create_string_buffer(b"abc", 3), pa.py_buffer(b"abc")]
    for key in ("text", b"bytes", bytearray(b"abc"), memoryview(b"abc"), memoryview(np.zeros((2, 2), "uint8")), *odd):
        assert is_refused(key, "is one key|2 dimensions")
        with pytest.raises(TypeError):
            fb.open(fb.build([1])).may_contain_many(key)
    some = fb.open(fb.build([b"abc"], POLICY))
    for key in (b"abc", bytearray(b"abc"), memoryview(b"abc"), memoryview(b"a_b_c")[::2]):
        assert key in some
        assert fb.build([key], POLICY) == some.to_bytes()
    for key in (b"abd", bytearray(b"abd"), memoryview(b"abd")):
        assert key not in some
    for many, keys in ((Name, ["red"]), (array.array("B", b"ab"), list(b"ab"))):
        assert fb.build(many, POLICY) == fb.build(keys, POLICY)
    builder = fb.FilterSetBuilder({"b": "binary", "t": "text"}, 1000)
    builder.add_file("f", 1, {"b": [b"abc"], "t": ["abc"]})
    files = fb.FilterSet.open(builder.finish())
    for key, expected in ((bytearray(b"abc"), True), (bytearray(b"abd"), False), (memoryview(b"abd"), False)):
        assert files.may_contain("b", key, [("f", 1)]).tolist() == [expected]
    for key, column in itertools.product([*odd, memoryview(array.array("b"))], "bt"):
        assert files.may_contain(column, key, [("f", 1)])[0]


def test_mappings_and_tables_name_their_columns():
    ids = list(range(1000))
    tables = [
        {"id": ids, "name": ids},
        collections.OrderedDict(id=ids, name=ids),
        pa.table({"id": ids, "name": ids}),
        pa.record_batch({"id": ids, "name": ids}),
        pd.DataFrame({"id": ids, "name": ids}),
        pl.DataFrame({"id": ids, "name": ids}),
    ]
    builder = fb.FilterSetBuilder({"id": "number"}, 1000)
    builder.add_file("f", 1, {"id": ids})
    files = fb.FilterSet.open(builder.finish())
    for table in tables:
        assert is_refused(table, re.escape("[id, name]"))
        for call in (
            lambda: fb.open(fb.build([1])).may_contain_many(table),
            lambda: builder.add_file("f", 1, {"id": table}),
            lambda: files.may_contain("id", table, [("f", 1)]),
        ):
            pytest.raises(TypeError, call).match("one column")
        assert fb.build(table["id"], POLICY) == fb.build(ids, POLICY)
    assert fb.build({5: "a", 6: "b"}.keys(), POLICY) == fb.build({5, 6}, POLICY) == fb.build(frozenset([5, 6]), POLICY)


def test_dimensions_order_and_format_of_buffers():
    numbers = np.arange(6)
    for view in (
        memoryview(numbers.reshape(2, 3)),
        memoryview(numbers)[::2],
        memoryview(numbers)[::-1],
        memoryview(numbers.astype(">i8")),
        memoryview(numbers.astype("float64")),
        memoryview(numbers.astype("bool")),
        memoryview((ctypes.c_int64.__ctype_be__ * 3)()),
        memoryview(np.array(5)),
        memoryview(b"abcd").cast("B", (2, 2)),
    ):
        assert is_refused(view, "a memoryview of format")
        with pytest.raises(TypeError):
            fb.FilterSetBuilder({"id": "number"}, 1000).add_file("f", 1, {"id": view})
    assert {fb.build(memoryview(array.array(code, range(6)))) for code in "bhilqHILQ"} == {fb.build(range(6))}
    for keys in (numbers.reshape(2, 3), np.array(5), np.int64(5), np.str_("five")):
        assert is_refused(keys)


def test_masked_values_are_null():
    absent = fb.open(fb.build([7], POLICY))
    for keys in ([1, 2, 3], ["a", "b", "c"], np.array([1, "b", 3], object)):
        masked = np.ma.array(keys, mask=[False, True, False])
        assert absent.may_contain_many(masked).tolist() == [False, True, False] and fb.build(masked) == fb.build([keys[0], keys[2]])
    days = np.ma.array(np.array([0, 1, "NaT"], "M8[D]"), mask=[False, True, False])
    assert fb.build(days, POLICY) == fb.build([dt.date(1970, 1, 1)], POLICY)
    assert absent.may_contain_many(days).tolist() == [False, True, True]


def test_arrays_without_entries_name_their_type():
    record = np.array([(1, 2)], [("a", "i4"), ("b", "i4")])
    for keys, name in (
        (np.array([1.5]), "float64"),
        (np.array([True]), "bool"),
        (np.array([1j]), "complex128"),
        (np.array([1], "m8[s]"), "timedelta64"),
        (np.array([1], "M8[h]"), r"datetime64\[h\]"),
        (np.array([1], "M8[25s]"), r"datetime64\[25s\]"),
        (np.array([5], ml_dtypes.bfloat16), "bfloat16"),  # of the kind of plain bytes
        (np.array([5], ml_dtypes.int4), "int4"),
        (np.zeros(2, "V0"), "V0"),
        (record, "'a'"),
        (record.view(np.recarray), "'a'"),
        (pa.array([1.5]), "double"),
        (pa.array([True]), "bool"),
        (pa.array([[1]]), "list"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([dt.timedelta(1)]), "duration"),
        (pa.array([b""], pa.binary(0)), "fixed_size_binary"),
        (pa.DictionaryArray.from_arrays([0, 9], ["a"], safe=False), "dictionary"),
        (pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(["a", "b"]).dictionary_encode()), "run_end_encoded"),
        (pa.chunked_array([[1.5], [2.5]]), "double"),
        (pa.array([decimal.Decimal("1.5")], pa.decimal256(50, 1)), "decimal256"),
        (pl.Series([1.5]), "double"),
        (pl.Series([object(), object()], dtype=pl.Object), "Object"),
        (pl.Series([2**100]), "Int128"),
        (pl.Series([[1]]), "list"),
        (pd.Series([1.5]), "double"),
        (pd.Series([True]), "bool"),
        (pd.Series(pd.period_range("2020", periods=2)), "period"),
        (pd.MultiIndex.from_tuples([(1, 2)]), "MultiIndex"),
    ):
        assert is_refused(keys, name)
        some = fb.open(fb.build([10**9], POLICY))
        assert some.may_contain_many(keys).all() and len(some.may_contain_many(keys)) == len(keys)
        assert fb.FilterSetBuilder({"id": "number"}, 1000).add_file("f", 1, {"id": keys}) == []


DATES = pa.array([1, 10**17], pa.int64()).cast(pa.date64())  # neither has a whole number of days that fits


def test_keys_without_entries_are_named():
    class Odd:
        def __repr__(self):
            return "odd" * 100

    for keys, match in (
        ([1, 2, 3.5], "key 2, 3.5, of type float"),
        ([True], "key 0, True, of type bool"),
        ([1, [2]], r"key 1, \[2\], of type list"),
        (["a", ("b",)], "key 1, .'b',., of type tuple"),
        ([Odd()], "key 0, (odd){20}…, of type .*Odd"),
        ([2**200], "of type int"),
        ([decimal.Decimal("NaN")], "NaN.* of type decimal.Decimal"),
        (["\ud800"], "of type str"),
        *(([key], "of type") for key in (dt.time(1, tzinfo=dt.timezone.utc), memoryview(array.array("b", b"ab")), np.str_("a\0"))),
        (np.array([1, 2.5, "c"], object), "key 1, 2.5"),
        (np.array([0] * 4500 + [2**40], "M8[D]"), "key 4500, .*of type numpy.datetime64"),
        (DATES, "key 0 of an array of type date64"),
        (pd.Series(DATES, dtype=pd.ArrowDtype(DATES.type)), "key 0 of an array of type date64"),
    ):
        assert is_refused(keys, match)


def test_producers_that_fail():
    for error, raised in ((MemoryError, MemoryError), (KeyboardInterrupt, KeyboardInterrupt), (OSError, TypeError)):
        fail = lambda *_: (_ for _ in ()).throw(error)
        pytest.raises(raised, fb.build, type("Producer", (), {"__arrow_c_stream__": fail, "__len__": lambda self: 3})())
        if raised is error:
            pytest.raises(raised, fb.build, type("Interrupted", (Bar,), {"__len__": fail})())


def test_buffers_that_are_too_short():
    """As a damaged file of Arrow states them; pyarrow does not look."""
    for column in (pa.array([1, None, 3] * 33), pa.array(["a", None, "b"] * 33), pa.array([b"a"] * 99, pa.large_binary())):
        with pa.ipc.new_stream(sink := pa.BufferOutputStream(), pa.schema([("a", column.type)])) as writer:
            writer.write_batch(pa.record_batch([column], ["a"]))
        read = lambda data: pa.ipc.open_stream(data).read_all()["a"].chunk(0)
        whole = sink.getvalue().to_pybytes()
        sizes = [buffer.size.to_bytes(8, "little") for buffer in read(whole).buffers()[:2] if buffer]
        assert fb.build(read(whole)[1:], POLICY) == fb.build(column, POLICY)
        for size in sizes:
            changed = whole.replace(size, bytes([size[0] - 1]) + size[1:], 1)
            for short in (read(changed), read(changed)[1:]):
                pytest.raises(ValueError, fb.build, short).match("ends before")


# Values that are equal, and values that are not.


Colour, Name, Id = enum.IntEnum("Colour", {"RED": 5}), enum.StrEnum("Name", {"RED": "red"}), type("Id", (int,), {})


class Caseless(str):
    def __eq__(self, other):
        return self.lower() == str(other).lower()

    def __hash__(self):
        return hash(self.lower())


class Modulo(int):
    def __eq__(self, other):
        return int(self) % 10 == int(other) % 10

    def __hash__(self):
        return hash(int(self) % 10)


# Those of which no filter is built.
WITHOUT = (float, complex, bool, np.floating, np.bool_, np.ndarray, fractions.Fraction, Caseless, Modulo, pa.DoubleScalar)
GROUPS = [
    [5, Colour.RED, Id(5), np.int8(5), np.uint64(5), np.longlong(5), np.intc(5), decimal.Decimal("5.00"), 5.0, pa.scalar(5), pa.scalar(5, pa.uint64())],
    [fractions.Fraction(5), 5 + 0j, np.float32(5), np.array(5), pa.scalar(5.0), 5],
    [1, True, np.True_, 1.0],
    ["red", Name.RED, np.str_("red"), Caseless("RED"), Caseless("red"), pa.scalar("red"), pl.Series(["red"])[0]],
    [b"ab", bytearray(b"ab"), memoryview(b"ab"), np.bytes_(b"ab"), pa.scalar(b"ab"), memoryview(array.array("b", b"ab"))],
    [15, Modulo(5), Modulo(15), Modulo(25)],
    [2**100, decimal.Decimal(2**100), 10**0 * 2**100],
    [10**30, decimal.Decimal("1E+30"), decimal.Decimal("1.0E+30")],
    [10**40, decimal.Decimal("1E+40")],
    [-5, decimal.Decimal("-5.0"), np.int16(-5), pa.scalar(decimal.Decimal("-5.00"))],
    [0, decimal.Decimal("-0.00"), decimal.Decimal("0E+20"), 0.0, False],
    [dt.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"), np.datetime64("2020-01-01T00:00:00"), np.datetime64("2020-01-01")],
    [pa.scalar(dt.datetime(2020, 1, 1)), dt.datetime(2020, 1, 1)],
    [dt.date(2020, 1, 1), np.datetime64("2020-01-01"), np.datetime64("2020-01-01T00", "ns"), pa.scalar(dt.date(2020, 1, 1))],
    [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-01T09", tz="Asia/Tokyo")],
    [pa.scalar(dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)],
    # An hour that comes twice: Python compares times of one zone without their folds.
    [dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)] + [pd.Timestamp(f"2026-10-25T0{hour}:30", tz="UTC").tz_convert(BERLIN) for hour in (0, 1)],
    [pd.Timestamp("2020-01-01T00:00:00.000000001"), np.datetime64("2020-01-01T00:00:00.000000001")],
    [dt.time(1, 2, 3), pa.scalar(dt.time(1, 2, 3))],
    [float("nan"), decimal.Decimal("NaN")],
]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: repr(group[0]))
def test_equal_values_have_equal_entries_or_none(group):
    built = 0
    for stored in group:
        try:
            some = fb.open(fb.build([stored], POLICY))
        except TypeError:
            assert isinstance(stored, WITHOUT) or stored != stored or stored == 10**40 or getattr(stored, "fold", 0) or getattr(stored, "format", "") == "b"
            continue
        built += 1
        assert [query for query in group if query not in some] == []
        assert some.may_contain_many(group).all()
    assert built or group[0] != group[0] or group[0] == 10**40


def test_missing_values_are_null():
    for missing in (None, pd.NaT, pd.NA, np.datetime64("NaT")):
        assert fb.build([5, missing], POLICY) == fb.build([5], POLICY)
        assert missing in fb.open(fb.build([5], POLICY))
    assert pd.Timestamp("2020-01-01", tz="UTC") not in fb.open(fb.build([dt.date(2020, 1, 1)], POLICY))


def test_columns_of_pandas_and_polars():
    texts = ["red", None, "green", "red"]
    plain = fb.build(["red", "green"], POLICY)
    for column in (
        pd.Series(texts),
        pd.Series(texts, dtype="category"),
        pd.Series(texts, index=[9, 8, 8, 7]),
        pd.Categorical(texts),
        pl.DataFrame({"a": texts})["a"],
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1]), pa.array(["green", "red", None], pa.string_view())),
        pa.DictionaryArray.from_arrays([9, 1, 3, 0, 1, 9], pa.array(["green", "red", "x", None], pa.string_view()).cast("string"), safe=False)[1:5],
    ):
        assert fb.build(column, POLICY) == plain, column
        assert fb.open(plain).may_contain_many(column).all()
        assert fb.open(fb.build(["blue"], POLICY)).may_contain_many(column).tolist() == [False, True, False, False]
    numbers = fb.build([1, 3], POLICY)
    for column in (
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="int32[pyarrow]"),
        pl.Series([decimal.Decimal(1), None, decimal.Decimal("3.00")]),
    ):
        assert fb.build(column, POLICY) == numbers, column
    moments = [pd.Timestamp("2020-01-01T12:00"), pd.NaT]
    for column in (pd.Series(moments), pd.Series(moments, dtype=object), pd.DatetimeIndex(moments), pl.Series([moments[0], None])):
        assert fb.build(column, POLICY) == fb.build([dt.datetime(2020, 1, 1, 12)], POLICY), column
    class Derived(pd.Series):
        pass

    for kind in (pd.Series, Derived):  # Arrow would make dates of both
        mixed = kind([dt.date(2020, 1, 1), dt.datetime(2020, 1, 2, 3)], dtype=object)
        assert mixed[1] in fb.open(fb.build(mixed, POLICY))
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16))], pa.binary(16)))
    assert uuids[0].as_py() in fb.open(fb.build(uuids, POLICY)) and uuids[0] in fb.open(fb.build(uuids, POLICY))
    assert is_refused(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 0], pa.int8())), "bool8")


# Identities, policies, keys, contexts.


def test_identities(tmp_path):
    identity = fb.file_identity("a", 100, "tag")
    assert identity == fb.file_identity(b"a", np.int64(100), bytearray(b"tag"))
    Same = type("Same", (int,), {"__repr__": lambda self: "same"})
    assert len({fb.file_identity("a", Same(2**200 + i)) for i in range(9)}) == 9
    not_parts = ("a", None), ("a", 1.5), ("a", True), ("a", ["b"]), ("a", object()), (None,), ("a", np.bool_(True))
    for error, wrong in ((TypeError, not_parts), (ValueError, ((), ("a", ""), ("a", b""), (bytearray(),)))):
        for parts in wrong:
            pytest.raises(error, fb.file_identity, *parts).match("part")
    # Files of one name, length and time, of which one replaces another.
    identity_of = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "examples/prune_parquet.py"))["identity_of"]
    paths = [tmp_path / name for name in ("a", "b", "c/a")]
    paths[2].parent.mkdir()
    for path in paths:
        path.write_bytes(b"rows")
        os.utime(path, ns=(1, 1))
    identities = [identity_of(paths[0]), identity_of(paths[2]), identity_of(paths[1].replace(paths[0]))]
    assert len(set(identities)) == 3


@pytest.mark.parametrize("transform", ["prefix:4", "row", "row+column", "whole-key+prefix:4", "custom:200:0", "delimited:/"])
def test_other_transforms_are_no_policies_here(transform):
    policy = f"ribbon:fpr=1%,transform={transform}"
    for call in (
        lambda: fb.build(["key"], policy),
        lambda: fb.open(fb.build(["key"]), policy),
    ):
        pytest.raises(fb.PolicyError, call).match("transform")


def test_secret_keys():
    key, other = bytes(range(16)), bytes(16)
    block = fb.build([1, 2, 3], secret_key=key)
    assert block != fb.build([1, 2, 3])
    for some in (fb.open(block, secret_key=key), fb.open(block, "ribbon:fpr=1%", secret_key=bytearray(key))):
        assert all(number in some for number in (1, 2, 3)) and 10**6 not in some
        pytest.raises(TypeError, pickle.dumps, some).match("secret")
    for secret_key in (None, other):
        pytest.raises(fb.MismatchError, fb.open, block, secret_key=secret_key)
    pytest.raises(fb.MismatchError, fb.open, fb.build([1]), secret_key=key)
    pytest.raises(ValueError, fb.build, [1], secret_key=b"short").match("16 bytes, not 5")
    pytest.raises(TypeError, fb.build, [1], secret_key="drawn at random!")
    pytest.raises(fb.PolicyError, fb.build, [1], "bloom:10,seed=7", secret_key=key).match("seed")
    builder = fb.FilterSetBuilder({"id": "number"}, 1000, secret_key=key)
    builder.add_file("f", 1, {"id": [1, 2]})
    data = builder.finish()
    assert fb.FilterSet.open(data, secret_key=key).may_contain("id", [1], [("f", 1)]).all()
    pytest.raises(fb.MismatchError, fb.FilterSet.open, data)
    assert not fb.FilterSet.fetch_index(len(data), lambda a, b: data[a:b], secret_key=key).may_contain("id", [], []).any()
    pytest.raises(fb.PolicyError, fb.FilterSet.open, data, seed=7, secret_key=key).match("seed=7")


def test_pickles_and_copies():
    some = fb.open(fb.build(range(1000), context=42), context=42)
    for same in (pickle.loads(pickle.dumps(some)), copy.copy(some), copy.deepcopy(some)):
        assert same.to_bytes() == some.to_bytes() and all(number in same for number in range(1000))
    data = bytearray(pickle.dumps(some))
    data[data.index(some.to_bytes()[-9:])] ^= 1
    pytest.raises(fb.DamagedError, pickle.loads, data)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_lack_of_memory_is_an_error():
    program = """
        import resource, sys
        import filterblock as fb, numpy as np
        keys = np.arange(20_000_000)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        raised = 0
        def refused(call):
            try:
                call()
            except MemoryError as error:
                return "no memory for" in str(error)
        for more in (100, 200, 300):  # for some of the hashes, for the hashes, for a part of what a finish takes
            resource.setrlimit(resource.RLIMIT_AS, (used + (more << 20), -1))
            for kind in ("bloom:10", "ribbon:fpr=1%", "fuse:fpr=1%"):
                raised += refused(lambda: fb.build(keys, kind)) is True
            builder = fb.FilterSetBuilder({"id": "number"}, 1000)
            raised += refused(lambda: builder.add_file("f", 1, {"id": keys})) is True
            assert 5 in fb.open(fb.build(keys[:1000]))
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
        assert builder.add_file("f", 1, {"id": keys[:1000]}) == ["id"]
        some = fb.FilterSet.open(builder.finish())
        resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 29), -1))
        for look_up in (some.may_contain, some.may_contain_each):
            raised += refused(lambda: look_up("id", keys, [("f", 1)] * 100)) is True
        print(raised)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 14
