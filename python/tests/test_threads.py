"""Filters, sets and builders shared by threads."""

import concurrent.futures
import os
import threading
import time

import numpy as np

import filterblock as fb

# `.ci/full` sets it to a million.
LOOKUPS = int(os.environ.get("FILTERBLOCK_LOOKUPS", "20000"))
THREADS, NUM_FILES, PER_FILE = 8, 20, 100
FILES = [(f"f{number}", number + 1) for number in range(NUM_FILES)]


def in_threads(work):
    """Calls `work` with each thread's number, all at once, and raises what any of them raised."""
    barrier = threading.Barrier(THREADS)

    def begin(thread):
        barrier.wait()
        return work(thread)

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def a_set():
    # Made by threads that share the builder.
    builder = fb.FilterSetBuilder({"id": "number"}, PER_FILE, fpr=0.001)

    def add(thread):
        for number in range(thread, NUM_FILES, THREADS):
            keys = range(number * PER_FILE, (number + 1) * PER_FILE)
            assert builder.add_file(f"f{number}", number + 1, {"id": keys}) == ["id"]

    in_threads(add)
    assert builder.num_files == NUM_FILES
    return builder.finish()


def ask(files, key, *how):
    """A lookup whose answer is known, but for false positives, which are returned."""
    mask = files.may_contain("id", key, FILES, *how)
    if key < NUM_FILES * PER_FILE:
        assert mask[key // PER_FILE], f"{key} is denied"
        return int(mask.sum()) - 1
    return int(mask.sum())


def test_a_filter():
    keys = np.arange(300_000)
    some = fb.open(fb.build(keys))
    assert in_threads(lambda _: some.may_contain_many(keys).all() and 5 in some) == [True] * THREADS


def test_one_set_cold_and_warm():
    data = a_set()
    expected = [bytes(fb.FilterSet.open(data).may_contain("id", key, FILES)) for key in range(NUM_FILES * PER_FILE * 2)]
    fetched = []

    def fetch(start, end):
        fetched.append((start, end))
        time.sleep(0)  # lets another thread in
        return data[start:end]

    for round in range(3):
        files = fb.FilterSet.fetch_index(len(data), fetch)

        def look(thread):
            wrong = 0
            for number in range(thread, LOOKUPS // 3, THREADS):
                key = number * 2_654_435_761 % len(expected)
                wrong += ask(files, key, fetch)
                assert bytes(files.may_contain("id", key, FILES)) == expected[key]
            return wrong

        begun = len(fetched)
        assert sum(in_threads(look)) < LOOKUPS * NUM_FILES * 0.01
        # Threads may fetch a range at once, but none again when it is there.
        assert len(fetched) - begun <= 4 * THREADS, fetched
        assert files.plan("id", list(range(len(expected))), FILES) == []
        assert files.take_bad_units() == []


def test_a_fetch_that_uses_its_own_set():
    data = a_set()
    files = None

    def fetch(start, end):
        if files is not None:
            assert files.may_contain("id", 5, FILES)[0]
            assert files.held_bytes >= 0 and len(files.files) == NUM_FILES
            files.may_contain("id", 5, FILES, given=[(start, data[start:end])])
        return data[start:end]

    files = fb.FilterSet.fetch_index(len(data), fetch)
    in_threads(lambda thread: [ask(files, key, fetch) for key in range(thread, 2000, 50)])
    builder = fb.FilterSetBuilder({"id": "number"}, PER_FILE, fpr=0.001)
    assert builder.absorb(data, lambda name: builder.num_files == 0 and name != "f3") == 0
    assert builder.num_files == NUM_FILES - 1
    in_threads(lambda thread: builder.add_file(f"more {thread}", 1, {"id": (len(files.files) for _ in range(3))}))
    assert builder.num_files == NUM_FILES - 1 + THREADS


def test_fetches_that_fail_leave_the_set_usable():
    data = a_set()
    calls = iter(range(10**6))

    def fetch(start, end):
        if next(calls) % 2 == 0:
            raise OSError("no network")
        return data[start:end]

    files = fb.FilterSet.fetch_index(len(data), lambda start, end: data[start:end])

    def look(thread):
        failed = 0
        for key in range(thread, 2000, 20):
            try:
                ask(files, key, fetch)
            except OSError:
                failed += 1
            ask(files, key)
        return failed

    assert sum(in_threads(look)) > 0
