"""The tables and examples of README.md, row by row."""

import collections
import datetime as dt
import enum
import fractions
import pathlib
import re
import zoneinfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import filterblock as fb

README = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
LIBRARIES = {"np": np, "pa": pa, "pd": pd, "pl": pl, "dt": dt, "enum": enum, "collections": collections, "fractions": fractions, "fb": fb, "zoneinfo": zoneinfo}


def rows(heading):
    """The cells of the table below a heading; the second one is code."""
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [re.split(r" \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("|")]
    found = [[cells[0], cells[1].strip("`"), *cells[2:]] for cells in table[2:]]
    assert len(found) > 10 and all(cells[1] for cells in found)
    return found


KEYS, MISTAKES = rows("Keys"), rows("Which mistakes go unnoticed?")


@pytest.mark.parametrize("row", KEYS, ids=lambda row: row[0][:40])
def test_what_is_taken(row):
    _, code, build, query = row
    make = lambda: eval(code, dict(LIBRARIES))
    absent = fb.open(fb.build([10**9], "ribbon:fpr=0.1%,seed=7"))
    if build == "taken":
        assert fb.open(fb.build(make())).may_contain_many(make()).all()
    else:
        pytest.raises(fb.BuildError if build == "`BuildError`" else TypeError, fb.build, make())
        assert build in ("refused", "`BuildError`")
    if query == "refused":
        pytest.raises(TypeError, absent.may_contain_many, make())
    elif query == "answered":
        mask = absent.may_contain_many(make())
        assert len(mask) == 0 or not mask[0]
    else:
        assert query == "*maybe*" and absent.may_contain_many(make()).all()


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row[0][:40])
def test_mistakes_that_go_unnoticed(row):
    def between(keys, lower, upper, encode):
        some = fb.open_ranges(fb.build_ranges(map(encode, keys), "range:40"))
        return some.may_contain_range(encode(lower), None if upper is None else encode(upper))

    def set_of(keys, identity):
        builder = fb.FilterSetBuilder({"id": "number"}, 1000)
        builder.add_file("a", identity, {"id": keys})
        return fb.FilterSet.open(builder.finish())

    def set_of_replaced(file, replacement):
        keys = file["keys"]
        file.update(replacement)  # another writer
        return set_of(keys, fb.file_identity("a", file["tag"]))

    names = {
        "tokyo": zoneinfo.ZoneInfo("Asia/Tokyo"),
        "block_of_another_table": fb.build([1]),
        "changed_file": set_of([1, 2, 3], fb.file_identity("a")),
        "old": {"keys": [1, 2], "tag": "of 1, 2"},
        "new": {"keys": [7, 8], "tag": "of 7, 8"},
        "set_of": set_of,
        "set_of_replaced": set_of_replaced,
        "between": between,
    }
    assert eval(row[1], LIBRARIES | names)


def test_examples():
    """Lines with a comment state what they give."""
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names, stated = {"names": [f"name {number:06}" for number in range(5000)]}, 0
    for line in "\n".join(examples).splitlines():
        code, _, comment = line.partition("  # ")
        if "=" in code and not code.lstrip().startswith(("some.may", "series.may")) or line.startswith("import"):
            exec(code, names)
            continue
        if code.strip():
            value, expected = eval(code, names), comment.split(";")[0].strip()
            assert repr(value) == expected, line
            stated += 1
    assert len(examples) >= 3 and stated >= 5
