"""Calls with odd keys and bytes, beside plain sets of Python: nothing that was added may be denied.

    python tests/odd_calls.py SEQUENCES [SEED]    of each sort, drawn at random
    python tests/fuzz.py [OPTIONS]                drawn from the bytes of libFuzzer, below an instrumented build

A sequence takes some values, presents them to a builder in a random form (a list, an array of NumPy or Arrow of any
type, order, stride and mask, sliced and chunked, a column of pandas or Polars, with odd objects among them), and looks
up what the library has taken in other forms. A call may refuse with an exception of the documented types; what it takes
is held against it. Ends with 1, and prints the sequence, at the first key that is denied. Prints a line ``counted:``.
"""

import array
import collections
import datetime as dt
import decimal
import fractions
import io
import itertools
import pickle
import random
import re
import sys
import uuid
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import filterblock as fb

REFUSALS = (TypeError, ValueError, OverflowError, fb.FilterBlockError)
POLICIES = ["bloom:14", "blocked:14", "golomb:fpr=0.1%", "ribbon:fpr=0.1%", "fuse:fpr=0.4%", "auto:fpr=0.1%"]
EPOCH = dt.datetime(1970, 1, 1)
NEW_YORK = zoneinfo.ZoneInfo("America/New_York")  # with a summer time in 1970


class Denied(Exception):
    """A key that was added, and is denied."""


class Drawn(random.Random):
    """Draws from the bytes of an input, in their order, and at random after the last one."""

    def __init__(self, data):
        super().__init__(len(data))
        self.rest = io.BytesIO(data)

    def getrandbits(self, count):
        taken = self.rest.read(-(-count // 8))
        return int.from_bytes(taken, "little") % 2**count if taken else super().getrandbits(count)

    def random(self):
        return self.getrandbits(16) / 2**16


# Values, by what they are.


def integers(numbers):
    bits = numbers.choice([3, 7, 8, 15, 16, 31, 32, 63, 64, 100])
    low = -(2**bits) if numbers.random() < 0.6 else 0
    return [numbers.randrange(low, 2**bits) for _ in range(numbers.randrange(1, 40))]


def texts(numbers):
    letters = "ab\0 ßé名𝄞"
    return ["".join(numbers.choices(letters, k=numbers.randrange(0, 20))) for _ in range(numbers.randrange(1, 40))]


def binaries(numbers):
    return [numbers.randbytes(numbers.randrange(0, 20)) for _ in range(numbers.randrange(1, 40))]


def decimals(numbers):
    def one():
        return decimal.Decimal(numbers.randrange(-(10**9), 10**9)).scaleb(-numbers.randrange(0, 6))

    return [one() for _ in range(numbers.randrange(1, 40))]


def moments(numbers):
    unit = numbers.choice([1, 1000, 10**6, 3600 * 10**6, 86_400 * 10**6])
    return [EPOCH + dt.timedelta(microseconds=unit * numbers.randrange(-(10**4), 10**4)) for _ in range(numbers.randrange(1, 40))]


def instants(numbers):
    if numbers.random() < 0.7:
        return [moment.replace(tzinfo=dt.timezone.utc) for moment in moments(numbers)]
    # Around an hour that comes twice, or one that is skipped.
    day = dt.datetime(1970, *numbers.choice([(10, 25), (4, 26)]), tzinfo=NEW_YORK)
    return [(day + dt.timedelta(minutes=numbers.randrange(240))).replace(fold=numbers.randrange(2)) for _ in range(20)]


def days(numbers):
    return [dt.date(1970, 1, 1) + dt.timedelta(numbers.randrange(-9999, 9999)) for _ in range(numbers.randrange(1, 40))]


def times(numbers):
    return [(EPOCH + dt.timedelta(microseconds=numbers.randrange(86_400 * 10**6))).time() for _ in range(20)]


def uuids(numbers):
    return [uuid.UUID(int=numbers.getrandbits(128)) for _ in range(numbers.randrange(1, 20))]


VALUES = {
    integers: "number", decimals: "number", texts: "text", binaries: "binary", uuids: "binary", moments: "local_timestamp",
    instants: "instant", days: "date", times: "time_of_day",
}  # fmt: skip

# Forms of a list of values; `None` among them where a form has it. A form may raise what its library raises.


def numpy_array(numbers, values):
    first = values[0]
    if isinstance(first, int):
        size, code = numbers.choice("1248"), numbers.choice("iu")
        made = np.array(values, numbers.choice("<>=") + code + size)
        if made.tolist() != values:
            raise OverflowError
    elif isinstance(first, dt.datetime):
        if first.tzinfo is not None:
            raise TypeError
        made = np.array(values, numbers.choice("<>=") + f"M8[{numbers.choice(['s', 'ms', 'us', 'ns', 'D', 'h'])}]")
        if made.astype("M8[us]").tolist() != values:
            raise OverflowError
    elif isinstance(first, dt.date):
        made = np.array(values, numbers.choice("<>=") + "M8[D]")
    else:
        made = np.array(values, numbers.choice([None, object]))
        if made.tolist() != values:
            raise ValueError  # zeros at the end of texts are lost
    return made


def strided(numbers, values):
    made, step = numpy_array(numbers, values), numbers.choice([-3, -2, -1, 2, 3])
    room = np.empty(len(made) * abs(step), made.dtype)
    room[:] = made[0]
    view = room[::step]
    view[:] = made
    return view


def masked(numbers, values):
    """Between each two values is one that is masked."""
    made = numpy_array(numbers, [value for value in values for _ in "ab"])
    return np.ma.array(made, mask=[False, True] * len(values))


def view_of(numbers, values):
    made = strided(numbers, values) if numbers.random() < 0.2 else numpy_array(numbers, values)
    return memoryview(made if numbers.random() < 0.9 else made.reshape(1, -1))


def arrow_type(numbers, values):
    first = values[0]
    if isinstance(first, bool):
        return pa.bool_()
    if isinstance(first, int):
        return numbers.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64(), pa.decimal128(38, 0)])
    if isinstance(first, decimal.Decimal):
        return numbers.choice([pa.decimal128(38, 6), pa.decimal128(30, 9), pa.decimal64(18, 6), pa.decimal256(60, 6)])
    if isinstance(first, str):
        return numbers.choice([pa.string(), pa.large_string(), pa.string_view()])
    if isinstance(first, (bytes, uuid.UUID)):
        return numbers.choice([pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(16)])
    if isinstance(first, dt.datetime):
        zone = numbers.choice(["UTC", "Asia/Tokyo"]) if first.tzinfo else None
        return pa.timestamp(numbers.choice(["s", "ms", "us", "ns"]), zone)
    if isinstance(first, dt.date):
        return numbers.choice([pa.date32(), pa.date64(), pa.timestamp("s")])
    return numbers.choice([pa.time64("us"), pa.time64("ns")])


def arrow(numbers, values):
    values = [value.bytes if isinstance(value, uuid.UUID) else value for value in values]
    before, after = numbers.randrange(4), numbers.randrange(4)
    padding = [None, values[0]]
    whole = [*itertools.islice(itertools.cycle(padding), before), *values, *itertools.islice(itertools.cycle(padding), after)]
    for at in range(before, len(whole) - after):
        if numbers.random() < 0.1:
            whole[at:at] = [None]
            break
    made = pa.array(whole, arrow_type(numbers, values))[before : len(whole) - after]
    match numbers.randrange(6):
        case 0:
            return made.dictionary_encode()
        case 1:
            chunks = [made[:3], made[3:3], made[3:]]
            return pa.chunked_array(chunks)
        case 2:
            length = len(made)
            return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, length + 1), pa.int32()), made)
        case 3:
            return list(made)
        case 4:
            indices = pa.array([*range(len(made)), None], pa.int32())
            return pa.DictionaryArray.from_arrays(indices, made)
        case _:
            return made


def pandas(numbers, values):
    dtype = numbers.choice([None, object, "category", "string", "Int64", "int64", "datetime64[ns]"])
    index = numbers.sample(range(1000), len(values))
    return numbers.choice([pd.Series, lambda *of, **how: pd.Index(of[0], dtype=how["dtype"])])(values, dtype=dtype, index=index)


def polars(numbers, values):
    values = [value.bytes if isinstance(value, uuid.UUID) else value for value in values]
    # The least number of nanoseconds is no time to pandas, by which Arrow shows it.
    times = [pl.Datetime("ns")] * (-(2**63) not in values)
    dtype = numbers.choice([None, pl.Categorical, pl.Object, "Enum", pl.Int32, pl.UInt64, *times])
    dtype = pl.Enum(sorted(set(values))) if dtype == "Enum" else dtype
    return pl.Series(values, dtype=dtype)[:: 1 if dtype is pl.Object else numbers.choice([1, 1, 1, -1])]


def buffer(numbers, values):
    return array.array(numbers.choice("bhilqBHILQ"), values)


def spent(numbers, values):
    keys = iter(values)
    if numbers.random() < 0.3:
        collections.deque(keys, maxlen=0)
    return keys


class Odd:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


ODD = [1.5, True, None, Odd(), (1,), [2], {}, fractions.Fraction(5), float("nan"), 2**300, "\ud800", pd.NaT, pd.NA, np.float32(3), dt.timedelta(1)]


def with_odd(numbers, values):
    return numbers.sample([*values, *numbers.sample(ODD, numbers.randrange(1, 3))], len(values))


def whole(kind):
    return lambda numbers, values: kind(values)


FORMS = [
    whole(list), whole(tuple), whole(set), whole(collections.deque), whole(lambda values: {value: 1 for value in values}.keys()),
    whole(lambda values: {value: 1 for value in values}), whole(lambda values: [values]), whole(lambda values: {"id": values}),
    spent, numpy_array, numpy_array, strided, masked, view_of, arrow, arrow, arrow, arrow, pandas, polars, buffer, with_odd,
    lambda numbers, values: pa.table({"a": arrow(numbers, values)}), lambda numbers, values: list(numpy_array(numbers, values)),
]  # fmt: skip


def values_in(form):
    """What Python's own iteration finds in a form, as plain values: what a builder that took it has to know."""
    if isinstance(form, (pa.Array, pa.ChunkedArray)):
        return form.to_pylist()
    if isinstance(form, np.ndarray) and form.dtype.kind == "M":
        return form.astype("M8[D]" if np.datetime_data(form.dtype)[0] == "D" else "M8[us]").tolist()
    if isinstance(form, pl.Series) and form.dtype not in (pl.Object, pl.Int128):
        return form.to_arrow().to_pylist()  # Polars' own iteration cuts nanoseconds
    if isinstance(form, memoryview):
        return form.tolist() if form.format in "bhilqBHILQ" else []
    if hasattr(form, "tolist"):
        return form.tolist()
    return list(form)


def present(numbers, values):
    """The values in a form, or as they are, and what a builder that takes the form has to know."""
    form = numbers.choice(FORMS)
    try:
        made = form(numbers, values)
        # An iterator is used by the builder alone.
        return made, values if hasattr(made, "__next__") else values_in(made)
    except Exception:  # the form's library cannot
        return list(values), values


def is_there(value):
    return not (value is None or value is pd.NaT or value is pd.NA or value is np.ma.masked or value != value)


def variants(numbers, value):
    """Values that equal this one."""
    yield value
    if isinstance(value, int) and not isinstance(value, bool):
        yield decimal.Decimal(value)
        for kind in (np.int8, np.int64, np.uint64, float):
            try:
                if kind(value) == value:
                    yield kind(value)
            except OverflowError:
                pass
    elif isinstance(value, decimal.Decimal):
        yield value + decimal.Decimal(0).scaleb(-numbers.randrange(6, 12))
        if value == int(value):
            yield int(value)
    elif isinstance(value, str):
        yield type("Text", (str,), {})(value)
        if value.isprintable():  # without lone surrogates
            yield pa.scalar(value)
    elif isinstance(value, bytes):
        yield from (bytearray(value), memoryview(value), pa.scalar(value, pa.large_binary()))
    elif isinstance(value, dt.datetime):
        other = value.replace(fold=1 - value.fold)
        yield other
        if other.utcoffset() == value.utcoffset():
            yield pd.Timestamp(value)  # which moves an hour that its zone skips
        if value.tzinfo is None:
            yield from (np.datetime64(value, "us"), pa.scalar(value, pa.timestamp("ns")))
        else:
            yield value.astimezone(dt.timezone(dt.timedelta(hours=numbers.randrange(-12, 12))))
    elif isinstance(value, dt.date):
        yield np.datetime64(value)


def odd_array(numbers):
    """An array none of whose values has an entry."""
    length = numbers.randrange(0, 9)
    dtypes = ["f2", ">f4", "f8", "?", "c16", "m8[s]", "M8[M]", "M8[7s]", "i4,i4", "(2,)i4"]
    arrow_types = [pa.float32(), pa.bool_(), pa.duration("s"), pa.list_(pa.int32()), pa.month_day_nano_interval(), pa.null()]
    match numbers.randrange(3):
        case 0:
            return np.zeros(length, numbers.choice(dtypes))
        case 1:
            return pa.nulls(length + 2, numbers.choice(arrow_types))[1:-1]
        case _:
            value, dtype = numbers.choice([(1.5, pl.Float32), (True, pl.Boolean), (Odd(), pl.Object), (7, pl.Object)])
            return pl.Series([value] * length, dtype=dtype)


def equal(numbers, value):
    """The variants that have the value's precision."""
    for same in variants(numbers, value):
        if isinstance(same, decimal.Decimal) and same != value:
            continue
        if not isinstance(same, (np.datetime64, pd.Timestamp)) or pd.Timestamp(same) == pd.Timestamp(value):
            yield same


def check(numbers, some, values, what):
    """Looks up what was added: one by one, and all at once in another form. Returns the number of lookups."""
    count = 0
    for value in values:
        for same in equal(numbers, value):
            count += 1
            if same not in some:
                raise Denied(f"{what}: {same!r} of {type(same)}")
    odd = odd_array(numbers)
    try:
        mask = some.may_contain_many(odd)
    except TypeError:
        assert getattr(odd, "ndim", 1) != 1, odd
    else:
        if len(mask) != len(odd) or not mask.all():
            raise Denied(f"{what}: {odd!r} is not maybe")
    form, plain = present(numbers, values)
    try:
        mask = some.may_contain_many(form)
    except REFUSALS:
        return count
    if not hasattr(form, "__next__") and (len(mask) != len(plain) or not mask.all()):
        wanted = set(filter(is_there, (value for value in plain if not isinstance(value, (list, dict)))))
        denied = [value for value, maybe in zip(plain, mask) if not maybe and value in wanted and value in values]
        if denied or len(mask) != len(plain):
            raise Denied(f"{what}: {denied[:3]} in {type(form)} {form!r:.300}")
    return count + len(mask)


def is_named(error, form):
    """Whether a refusal names the key, where it has a place, or the array."""
    key = re.match(r"key (\d+), (.*?)…?, of type", str(error), re.DOTALL)
    if key and isinstance(form, (list, tuple)):
        return repr(form[int(key[1])]).startswith(key[2])
    return key or re.search("array|memoryview|keys are", str(error))


def sequence(numbers, build=fb.build):
    """One sequence. Returns the numbers of filters built and of lookups."""
    make = numbers.choice(list(VALUES))
    values = make(numbers)
    form, plain = present(numbers, values)
    what = f"{make.__name__} in {type(form)} {form!r:.300}"
    policy = f"{numbers.choice(POLICIES)},seed={numbers.randrange(9)}"
    try:
        block = build(form, policy, allow_empty=numbers.random() < 0.02 and len(plain) == 0)
    except (*REFUSALS, ImportError) as error:
        block = None
        assert not isinstance(error, TypeError) or is_named(error, form), error
    num_built, num_lookups = 0, 0
    if block is not None:
        some, there = fb.open(block), list(filter(is_there, plain))
        if block != fb.build(there, policy, allow_empty=True):
            raise Denied(f"another block: {what}")
        if numbers.random() < 0.1:
            some = pickle.loads(pickle.dumps(some))
        num_built, num_lookups = 1, check(numbers, some, there, what)
    if numbers.random() < 0.3:
        num_lookups += of_set(numbers, VALUES[make], values, what)
    return num_built, num_lookups


def of_set(numbers, kind, values, what):
    builder = fb.FilterSetBuilder({"c": kind}, numbers.choice([1, 100]), fpr=numbers.choice([0.1, 0.01, 1e-6]))
    form, plain = present(numbers, values)
    try:
        indexed = builder.add_file("f", 1, {"c": form})
        builder.add_file("g", 2, {})
    except REFUSALS:
        return 0
    data = builder.finish()
    if numbers.random() < 0.3:
        builder.absorb(data)
        data = builder.finish()
    fetch = numbers.choice([None, lambda start, end: data[start:end]])
    files = fb.FilterSet.fetch_index(len(data), fetch) if fetch else fb.FilterSet.open(data)
    for value in filter(is_there, plain):
        for same in equal(numbers, value):
            if not files.may_contain("c", [same], [("f", 1), ("g", 2), ("h", 3)], fetch).all():
                raise Denied(f"set, {indexed}, {what}: {same!r} of {type(same)}")
    return len(plain)


def of_policy(numbers):
    """A drawn policy builds of any number of keys and denies none, or its text is refused."""
    kind = numbers.choice(["bloom", "blocked", "golomb", "ribbon", "fuse", "auto", "range"])
    rate, cap = 0.6 * 10 ** -numbers.uniform(0, 12), numbers.randrange(60, 4000)
    settings = ["seed=7", "self_check=off", "salt_bits=6", "slots_per_key=1.2", "level=9", f"len={numbers.randrange(2**16)}"]
    size = numbers.choice([f"{numbers.uniform(1.9, 65):.3f}", f"fpr={rate}", f"max={cap}"])
    text = ",".join([f"{kind}:{size}", *numbers.sample(settings, numbers.randrange(3))])
    keys = [numbers.randbytes(8) for _ in range(numbers.choice([1, 2, 3, 10, 37, 300]))]
    try:
        some = fb.open_ranges(fb.build_ranges(keys, text)) if kind == "range" else fb.open(fb.build(keys, text), text)
        fits = all(key in some for key in keys)
    except fb.PolicyError:
        return
    except fb.BuildError:
        fits = "max=" in text
    if not fits:
        raise Denied(f"{text}: {keys}")


def of_order(numbers):
    """Ranges and partitions, beside a sorted list."""
    make, size = numbers.choice([texts, binaries]), numbers.choice([256, 300, 4096])
    values = sorted({*make(numbers), *make(numbers)})
    blocks, index = fb.build_range_partitions(values, numbers.choice(["range:3", "range:14", "range:30"]), partition_bytes=size)
    keys, index_of_keys = fb.build_partitions(values, numbers.choice(POLICIES), partition_bytes=size)
    some = fb.open_partitions(index_of_keys, lambda start, end: keys[start:end])
    filters = [fb.open_range_partitions(index, lambda start, end: blocks[start:end]), fb.open_ranges(fb.build_ranges(values))]
    for key in values:
        lower, upper = sorted([key, numbers.choice([key, *values, *make(numbers)])])
        queries = [(lower, upper, True, True), (key, None, True, False), (None, key, False, True), (None, key + key[:1], False, not key)]
        for order in filters:
            ranges = [order.may_contain_range(a, b, lower_included=c, upper_included=d) for a, b, c, d in queries]
            if not (key in some and all(ranges) and order.may_contain_prefix(key[: numbers.randrange(9)])):
                raise Denied(f"{order} of {values}: {key!r} or {lower!r} to {upper!r}")


def of_lies(numbers):
    """A column of Arrow whose offsets lie: what has no value is refused, and *maybe*."""
    kind, width = numbers.choice([(pa.string(), 4), (pa.large_string(), 8), (pa.binary(), 4), (pa.large_binary(), 8)])
    data = "".join(texts(numbers)).encode()
    offsets = [numbers.randrange(-2, len(data) + 3) for _ in range(numbers.randrange(2, 12))]
    offsets = sorted(offsets) if numbers.random() < 0.8 else offsets
    values = [data[start:end] if 0 <= start <= end <= len(data) else None for start, end in itertools.pairwise(offsets)]
    if "string" in str(kind):
        values = [text if text and text.decode(errors="ignore").encode() == text else text and None for text in values]
    try:
        column = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.array(offsets, f"i{width}")), pa.py_buffer(data)], 0)
    except ValueError:  # Arrow looks at the ends
        return
    some = fb.open(fb.build(values[::2], "bloom:14", allow_empty=True))
    if some.may_contain_many(column).tolist() != [value in some for value in values]:
        raise Denied(f"answers of {kind} of {offsets} in {data}")
    try:
        is_right = fb.build(column, "bloom:14") == fb.build(values, "bloom:14") and None not in values
    except TypeError as error:
        is_right = None in values and "of an array of type" in str(error)
    if not is_right:
        raise Denied(f"{kind} of {offsets} in {data}")


def of_bytes(numbers):
    """Bytes that were changed are an error, or *maybe*; other bytes are an error, or a filter."""
    keys, builder = sorted({*binaries(numbers)}), fb.FilterSetBuilder({"c": "binary"}, 10)
    builder.add_file("f", 1, {"c": keys})
    blocks, index = fb.build_partitions(keys)
    family = numbers.randrange(4)
    whole = [lambda: fb.build(keys, numbers.choice(POLICIES)), lambda: fb.build_ranges(keys), lambda: index, builder.finish][family]()
    read = lambda index: fb.open_partitions(index, lambda start, end: blocks[start:end])
    changed, is_ours = bytearray(whole), numbers.random() < 0.7
    changed[numbers.randrange(len(whole))] ^= numbers.randrange(1, 256)
    changed = numbers.choice([changed, whole[: numbers.randrange(len(whole))]]) if is_ours else numbers.randbytes(200)
    try:
        some = [fb.open, fb.open_ranges, read, fb.FilterSet.open][family](changed)
        answers = [some.may_contain("c", key, [("f", 1)])[0] if family == 3 else key in some for key in keys]
    except fb.DecodeError:
        return
    if is_ours and not (family == 3 and all(answers)):
        raise Denied(f"{bytes(changed)}, which was {whole}, of {keys}")


CALLS = [sequence, sequence, of_policy, of_order, of_lies, of_bytes]


def control():
    """Whether a builder that loses one key in a hundred is noticed."""

    def loses(form, policy, **how):
        return fb.build([key for number, key in enumerate(form) if number != 2], policy, **how)

    numbers = random.Random(7)
    for _ in range(2000):
        try:
            sequence(numbers, loses)
        except Denied:
            return True
        except Exception:  # a form that is not iterated like this
            continue
    return False


def main(count, seed=46):
    assert control(), "a builder that loses keys is not noticed"
    num_built, num_lookups = 0, 0
    for number in range(count):
        numbers = random.Random(f"{seed} {number}")
        try:
            for call in CALLS[2:]:
                call(numbers)
            built, lookups = sequence(numbers)
        except Denied as denied:
            sys.exit(f"sequence {number} of seed {seed}: {denied}")
        num_built, num_lookups = num_built + built, num_lookups + lookups
    assert count < 1000 or num_built > count / 2, "most forms must be taken"
    print(f"counted: {count} sequences of Python calls, {num_built} filters, {num_lookups} lookups, none denied")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
