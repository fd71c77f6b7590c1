"""Sets of the filters of many files."""

import numpy as np
import pyarrow as pa
import pytest

import filterblock as fb

FILES = [(f"{number}.parquet", fb.file_identity(f"{number}.parquet", "1")) for number in range(20)]


def columns_of(number):
    return {"id": np.arange(number, 20_000, 20), "word": pa.array([f"{number} {i}" for i in range(100)])}


def builder_of(fpr=1e-6, **how):
    return fb.FilterSetBuilder({"id": "number", "word": "text"}, 1000, fpr=fpr, seed=7, **how)


def make(files=FILES, **how):
    builder = builder_of(**how)
    for number, (name, identity) in enumerate(files):
        assert builder.add_file(name, identity, columns_of(number)) == ["id", "word"]
    return builder.finish()


class Store:
    def __init__(self, data):
        self.data, self.requests = data, []

    def fetch(self, start, end):
        self.requests.append((start, end))
        return self.data[start:end]


def test_two_requests_cold_and_none_warm():
    data = make()
    store = Store(data)
    files = fb.FilterSet.fetch_index(len(data), store.fetch)
    assert files.files == FILES and files.columns == {"id": "number", "word": "text"}
    assert files.may_contain("id", 7, FILES, store.fetch)[7]
    assert len(store.requests) == 2
    mask = files.may_contain("id", 7, FILES, store.fetch)
    assert len(store.requests) == 2 and mask.sum() < 5
    # Without a function that fetches, as asynchronous engines do it.
    files = fb.FilterSet.fetch_index(len(data), store.fetch)
    assert files.may_contain("id", 7, FILES).all(), "what is not read is maybe"
    given = [(start, data[start:end]) for start, end in files.plan("id", 7, FILES)]
    assert (files.may_contain("id", 7, FILES, given=given) == mask).all()
    assert files.plan("id", 7, FILES) == [] and files.held_bytes > 0
    assert (files.may_contain("id", 7, FILES) == mask).all()
    each = files.may_contain_each("id", [7, 8], FILES, store.fetch)
    assert (each[0] == mask).all() and each[1][8]


def test_temporary_files_are_removed(tmp_path):
    assert make(scratch=tmp_path) == make() == make(scratch=str(tmp_path)) == make(max_strip_bytes=0)
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_were_not_asked_for():
    data = make()
    files = fb.FilterSet.fetch_index(len(data), lambda start, end: data[start:end], max_held_bytes=0)
    for offset, wrong in ((0, b""), (2**64 - 1, data), (7, data), (0, data[::-1]), (0, bytes(len(data)))):
        assert files.may_contain("id", 5, FILES, given=[(offset, wrong)])[5]
    assert {column for column, _ in files.take_bad_units()} == {"id"} and files.take_bad_units() == []
    assert files.held_bytes == 0 and files.plan("id", 5, FILES) != []


def test_many_keys_and_what_is_maybe():
    files = fb.FilterSet.open(make())
    keys = np.arange(0, 2000, 7)
    each = files.may_contain_each("id", keys, FILES)
    assert len(each) == len(keys) and all(mask[key % 20] for key, mask in zip(keys, each))
    assert np.mean(each) < 0.1
    assert (files.may_contain("id", keys, FILES) == np.any(each, axis=0)).all()
    assert not files.may_contain("id", 10**9, FILES).any()
    for column, key in (("id", "text"), ("id", 1.5), ("id", None), ("other", 1), ("word", 5), ("id", [1, 2.5])):
        assert files.may_contain(column, key, FILES).all()
    changed = [(name, identity + (name == "3.parquet")) for name, identity in FILES] + [("new.parquet", 1)]
    assert np.flatnonzero(files.may_contain("id", 10**9, changed)).tolist() == [3, 20]
    assert files.count(changed) == {"known": 19, "changed": 1, "unknown": 1}
    assert files.may_contain("word", "5 17", FILES)[5]


def test_files_that_are_not_indexable():
    builder = fb.FilterSetBuilder({"id": "number"}, 100)
    assert builder.add_file("a", 1, {"id": pa.array([1, None, 2])}) == ["id"]
    assert builder.add_file("b", 1, {"id": [1.5]}) == []
    assert builder.add_file("c", 1, {}) == []
    assert builder.add_file("d", 1, {"id": pa.array([None, None], pa.int64())}) == ["id"]
    assert builder.add_file("e", 1, {"id": []}, allow_empty=True) == ["id"]
    pytest.raises(fb.BuildError, builder.add_file, "a", 1, {})
    pytest.raises(ValueError, builder.add_file, "f", 1, {"other": [1]})
    pytest.raises(ValueError, fb.FilterSetBuilder, {"id": "float"}, 100)
    files = fb.FilterSet.open(builder.finish())
    assert files.may_contain("id", 9, [(name, 1) for name in "abcde"]).tolist() == [False, True, True, False, False]


def test_appended_and_compacted():
    data = make(files=FILES[:10])
    builder = builder_of()
    for number, (name, identity) in enumerate(FILES[10:], 10):
        builder.add_file(name, identity, columns_of(number))
    data += builder.finish_append(fb.FilterSet.open(data), ["3.parquet"])
    files = fb.FilterSet.open(data)
    assert np.flatnonzero(files.may_contain("id", -1, FILES)).tolist() == [3]
    assert all(files.may_contain("id", number, FILES)[number] for number in range(20))
    assert builder.absorb(data, lambda name: name != "4.parquet") == 0
    left = [file for number, file in enumerate(FILES) if number not in (3, 4)]
    compacted = builder.finish()
    assert fb.FilterSet.open(compacted).files == left and len(compacted) < len(data)
    pytest.raises(ZeroDivisionError, builder.absorb, data, lambda name: 1 / 0)
    assert builder.num_files == 0


def test_two_writers_append():
    data = make(files=FILES[:10])
    old, more = fb.FilterSet.open(data), []
    for number in (10, 11):
        builder = builder_of()
        builder.add_file(*FILES[number], columns_of(number))
        more.append(builder.finish_append(old))
    both = fb.FilterSet.open(data + more[0] + more[1])
    assert old.foreign_append is None
    assert both.foreign_append == (len(data), len(data + more[0]))
    assert both.files == FILES[:10] + FILES[11:12]
    assert both.may_contain("id", -1, FILES[:12]).tolist() == [False] * 10 + [True, False]
    known = {name for name, _ in both.files}
    builder.absorb(data + more[0] + more[1])
    builder.absorb((data + more[0])[: both.foreign_append[1]], lambda name: name not in known)
    assert sorted(fb.FilterSet.open(builder.finish()).files) == sorted(FILES[:12])


def test_what_is_not_read():
    data = make()
    pytest.raises(OSError, fb.FilterSet.fetch_index, len(data), lambda start, end: (_ for _ in ()).throw(OSError("no network")))
    pytest.raises(fb.MismatchError, fb.FilterSet.open, data, seed=8)
    pytest.raises(fb.DamagedError, fb.FilterSet.open, data[:-1])
