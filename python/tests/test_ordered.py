"""Range filters and partitions: keys in an order."""

import bisect
import pickle
import random
import uuid

import numpy as np
import pyarrow as pa
import pytest

import filterblock as fb

WORDS = sorted({f"series {number % 97:02}/{number * 7919 % 100_003:06}" for number in range(20_000)})
# Subclasses of text with an order of their own.
ODD = [type("Version", (str,), {f"__{name}__": None})("9.5") for name in ("lt", "le", "gt", "ge")]


def test_ranges_beside_a_sorted_list():
    some = fb.open_ranges(fb.build_ranges(random.Random(1).sample(WORDS, len(WORDS)), "range:20"))
    assert some.num_keys == len(WORDS) and some.num_bytes == len(some.to_bytes())
    numbers, passed, empty = random.Random(46), 0, 0
    for _ in range(20_000):
        lower, upper = sorted(f"series {numbers.randrange(100):02}/{numbers.randrange(100_003):06}" for _ in "ab")
        if numbers.random() < 0.7:
            upper = lower + "~"
        lower_included, upper_included = numbers.random() < 0.5, numbers.random() < 0.5
        start = (bisect.bisect_left if lower_included else bisect.bisect_right)(WORDS, lower)
        end = (bisect.bisect_right if upper_included else bisect.bisect_left)(WORDS, upper)
        maybe = some.may_contain_range(lower, upper, lower_included=lower_included, upper_included=upper_included)
        assert maybe or start >= end, (lower, upper)
        passed, empty = passed + (maybe and start >= end), empty + (start >= end)
    assert empty > 5000 and passed < empty * 0.05
    assert all(word in some and some.may_contain_range(word, None) and some.may_contain_range(None, word + "\0") for word in WORDS)
    assert some.may_contain_prefix("series 5") and not some.may_contain_prefix("seriez") and some.may_contain_prefix("")
    assert "absent" not in some and not some.may_contain_range("t", None) and not some.may_contain_range(None, b"s")


def test_bounds():
    some = fb.open_ranges(fb.build_ranges(WORDS))
    # In reverse order: the caller's mistake, so maybe.
    assert some.may_contain_range("z", "t") and some.may_contain_range(WORDS[9], WORDS[3])
    assert some.may_contain_range(None, None)
    for odd in (5, 5.0, ["a"], object(), True, *ODD):
        assert odd in some
        for call in (
            lambda: some.may_contain_range(odd, None),
            lambda: some.may_contain_range(None, odd),
            lambda: some.may_contain_prefix(odd),
        ):
            pytest.raises(TypeError, call).match("neither text nor bytes")
    pytest.raises(TypeError, some.may_contain_prefix, None)


def test_every_form_of_ordered_keys():
    plain = fb.build_ranges(WORDS)
    for form in (iter(WORDS), [word.encode() for word in WORDS], pa.array(WORDS), np.array(WORDS), [*WORDS, None], map(type("Word", (str,), {}), WORDS)):
        assert fb.build_ranges(form) == plain
    numbers = [0, 1, 256, 65_536, 2**63, 2**64 - 256]
    encoded = [number.to_bytes(8, "big") for number in numbers]
    same = np.array(numbers, "uint64").astype(">u8").view("V8")
    assert fb.build_ranges(same) == fb.build_ranges(encoded) and fb.build(same) == fb.build(encoded)
    pytest.raises(TypeError, fb.build_ranges, same.view("S8")).match("lost the zeros")
    ids = sorted(uuid.UUID(int=number << 64) for number in range(99))
    some = fb.open_ranges(fb.build_ranges(ids))
    assert all(some.may_contain_range(key, key, upper_included=True) for key in ids)


@pytest.mark.parametrize("build", [fb.build_ranges, fb.build_partitions, fb.build_range_partitions])
def test_what_is_refused(build):
    for keys in ([], iter([]), [None], np.array([], object), pa.array([], pa.string())):
        pytest.raises(fb.BuildError, build, keys).match("no key was given")
    build([], allow_empty=True)
    for keys in ([1], ["a", 5], np.arange(3), [1.5], "text", {"a": 1}, pa.table({"a": ["b"]}), np.array(["2020"], "M8[D]"), *([odd] for odd in ODD)):
        pytest.raises(TypeError, build, keys)
    pytest.raises(TypeError, build, ["a", "b", 5, 6]).match("key 2 is neither text nor bytes")
    for policy in ("tree:10", "", "range:fpr=1%", "ribbon:fpr=1%,transform=row"):
        pytest.raises(fb.PolicyError, build, ["a"], policy)


def test_integers_have_a_rate():
    policy = "range:fpr=1%,len=1024"
    numbers = [number * 10**6 for number in range(1, 5000)]
    keys = [number.to_bytes(8, "big") for number in numbers]
    some, whole = (fb.open_ranges(fb.build_ranges(keys, policy + form)) for form in (",form=integers", ""))
    assert some.form == "integers" and some.false_positive_rate(1024) <= 0.01
    assert whole.form == "cut" and whole.false_positive_rate(10**9) == 0
    passed = 0
    for number in numbers:
        lower, upper = ((number + add).to_bytes(8, "big") for add in (5, 1000))
        assert some.may_contain_range((number - 5).to_bytes(8, "big"), upper)
        passed += some.may_contain_range(lower, upper)
        assert not whole.may_contain_range(lower, upper)
    assert passed < len(numbers) * 0.02
    other = fb.open_ranges(fb.build_ranges(WORDS + ["a"], policy))
    assert other.form == "cut" and other.false_positive_rate(1024) is None
    pytest.raises(fb.BuildError, fb.build_ranges, WORDS + ["a"], policy + ",form=integers")
    assert fb.open_ranges(fb.build_ranges([], allow_empty=True)).form is None


def test_ranges_are_checked_and_pickled():
    block = fb.build_ranges(WORDS, context=42)
    some = fb.open_ranges(block, context=42)
    same = pickle.loads(pickle.dumps(some))
    assert same.to_bytes() == block and same.may_contain_prefix("series")
    pytest.raises(fb.MismatchError, fb.open_ranges, block)
    pytest.raises(fb.MismatchError, fb.open, block, context=42)
    pytest.raises(fb.MismatchError, fb.open_ranges, fb.build(WORDS))


@pytest.mark.parametrize("secret_key", [None, bytes(range(16))])
def test_partitions(secret_key):
    blocks, index = fb.build_partitions(WORDS, partition_bytes=1024, offset=100, context=7, secret_key=secret_key)
    file, loads = bytes(100) + blocks, []

    def load(start, end):
        loads.append((start, end))
        return file[start:end]

    some = fb.open_partitions(index, load, context=7, secret_key=secret_key)
    assert some.num_entries == len(WORDS) and some.num_partitions > 10
    assert all(word in some and word.encode() in some for word in WORDS)
    assert sum(f"series 5/{number}" in some for number in range(10_000)) < 300
    assert len(loads) == len(set(loads)) == some.num_partitions, "each is loaded once"
    assert "zebra" not in some and 5 in some and None in some
    pytest.raises(fb.MismatchError, fb.open_partitions, index, load, secret_key=secret_key)
    broken = fb.open_partitions(index, lambda start, end: file[start : end - 1], context=7, secret_key=secret_key)
    with pytest.raises(fb.DecodeError):
        WORDS[0] in broken
    with pytest.raises(ZeroDivisionError):
        WORDS[0] in fb.open_partitions(index, lambda start, end: 1 / 0, context=7, secret_key=secret_key)
    swapped = fb.open_partitions(index, lambda start, end: file[100 : 100 + end - start], context=7, secret_key=secret_key)
    with pytest.raises(fb.DecodeError):
        WORDS[-1] in swapped
    pytest.raises(fb.BuildError, fb.build_partitions, ["b", "a"]).match("ascend")
    assert "a" not in fb.open_partitions(fb.build_partitions([], allow_empty=True)[1], load)


def test_ranges_in_partitions():
    blocks, index = fb.build_range_partitions(WORDS, "range:20", partition_bytes=2048, offset=64, context=7)
    file, loads = bytes(64) + blocks, []

    def load(start, end):
        loads.append((start, end))
        return file[start:end]

    some = fb.open_range_partitions(index, load, context=7)
    assert some.num_keys == len(WORDS) and some.num_partitions > 10
    numbers, passed, empty = random.Random(47), 0, 0
    for _ in range(10_000):
        lower, upper = sorted(f"series {numbers.randrange(100):02}/{numbers.randrange(100_003):06}" for _ in "ab")
        upper = lower + "~" if numbers.random() < 0.8 else upper
        is_there = bisect.bisect_left(WORDS, lower) < bisect.bisect_left(WORDS, upper)
        maybe = some.may_contain_range(lower, upper)
        assert maybe or not is_there
        assert some.may_contain_prefix(numbers.choice(WORDS)[: numbers.randrange(17)])
        passed, empty = passed + (maybe and not is_there), empty + (not is_there)
    assert empty > 5000 and passed < empty * 0.05
    assert len(loads) == len(set(loads)) <= some.num_partitions, "each is loaded once"
    assert not some.may_contain_range("t", None) and not some.may_contain_prefix("zebra")
    assert some.may_contain_range("z", "t"), "bounds in reverse order"
    pytest.raises(TypeError, some.may_contain_range, 5, None)
    for other in (lambda start, end: file[start : end - 1], lambda start, end: file[64 : 64 + end - start]):
        broken = fb.open_range_partitions(index, other, context=7)
        pytest.raises(fb.DecodeError, broken.may_contain_prefix, WORDS[-1])
    pytest.raises(fb.DecodeError, fb.open_range_partitions, index, load)
    # As an index of keys, it denies none.
    with pytest.raises(fb.DecodeError):
        WORDS[5] in fb.open_partitions(index, load, context=7)
