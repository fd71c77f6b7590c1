"""Builds and queries beside other packages: prints the tables of README.md.

    python benches/compare.py [ROUNDS]    needs cargo, numpy, pyarrow, rbloom, fastbloom-rs, pyfusefilter and xxhash<4
    python benches/compare.py loops       needs numpy, pyarrow and rbloom: only the table of loops

Rounds are interleaved, and the least processor time of each counts. Rust's rows are of `in_rust.rs`, by the default
profile. False positives are counted, not predicted.
"""

import pathlib
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa

import filterblock


def ints(count):
    return np.random.default_rng(1).integers(0, 2**62, count)


def words(count, text):
    return pa.array([f"{text} {number:x}" for number in ints(count).tolist()])


class Filterblock:
    def __init__(self, policy):
        self.name = f"**filterblock `{policy}`**"
        self.policy = policy

    def build(self, keys):
        return filterblock.open(filterblock.build(keys, self.policy))

    def query(self, built, keys):
        return built.may_contain_many(keys)

    def size(self, built):
        return built.num_bytes

    def __str__(self):
        return self.name


class RBloom:
    """Keys are Python's objects, hashed by Python's `hash`; a query of many keys is a loop."""

    def __str__(self):
        return "rbloom, 1 %"

    def build(self, keys):
        import rbloom

        built = rbloom.Bloom(len(keys), 0.01)
        built.update(keys.tolist() if isinstance(keys, np.ndarray) else keys.to_pylist())
        return built

    def query(self, built, keys):
        keys = keys.tolist() if isinstance(keys, np.ndarray) else keys.to_pylist()
        return [key in built for key in keys]

    def size(self, built):
        return built.size_in_bits // 8


class FastBloom:
    def __str__(self):
        return "fastbloom-rs, 1 %"

    def build(self, keys):
        import fastbloom_rs

        built = fastbloom_rs.FilterBuilder(len(keys), 0.01).build_bloom_filter()
        if isinstance(keys, np.ndarray):
            built.add_int_batch(keys.tolist())
        else:
            built.add_str_batch(keys.to_pylist())
        return built

    def query(self, built, keys):
        if isinstance(keys, np.ndarray):
            return built.contains_int_batch(keys.tolist())
        return built.contains_str_batch(keys.to_pylist())

    def size(self, built):
        return len(built.get_bytes())


class Fuse8:
    def __str__(self):
        return "pyfusefilter, Fuse8"

    def build(self, keys):
        import pyfusefilter

        built = pyfusefilter.Fuse8(len(keys))
        built.populate(keys if isinstance(keys, np.ndarray) else keys.to_pylist())
        return built

    def query(self, built, keys):
        keys = keys.tolist() if isinstance(keys, np.ndarray) else keys.to_pylist()
        return [built.contains(key) for key in keys]

    def size(self, built):
        return built.size_in_bytes()


def seconds(work):
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def in_rust(policies, rows):
    """The same builds and queries in Rust: keeps the least time of each."""
    command = ["cargo", "bench", "--quiet", "--bench", "in_rust", "--", *policies]
    folder = pathlib.Path(__file__).parent.parent
    for line in subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines():
        policy, *times = line.split()
        rows[policy] = [min(pair) for pair in zip(map(float, times), rows.get(policy, [float("inf")] * 4))]


def measure(peers, keys, absent, rows):
    for peer in peers:
        row = rows.setdefault(str(peer), [float("inf"), float("inf"), 0.0, 0.0])
        took, built = seconds(lambda: peer.build(keys))
        row[0] = min(row[0], took / len(keys) * 1e9)
        took, answers = seconds(lambda: peer.query(built, absent))
        row[1] = min(row[1], took / len(absent) * 1e9)
        row[2] = np.mean(np.asarray(answers)) * 100
        row[3] = peer.size(built) * 8 / len(keys)
        some = keys[:100_000]
        assert np.asarray(peer.query(built, some)).all(), f"{peer} denies a key"


POLICIES = ("blocked:10", "ribbon:fpr=1%", "fuse:fpr=0.4%")


def ask(built, keys):
    for key in keys:
        key in built


def loops(rounds=40):
    """`key in filter` for one key of Python's after the other, 100 000 a round; the loop itself counts."""
    numbers, others = ints(1_000_000).tolist(), (-ints(1_000_000)).tolist()
    names, nobody = words(1_000_000, "user").to_pylist(), words(1_000_000, "absent user").to_pylist()
    peers = [*map(Filterblock, POLICIES), RBloom()]
    built = [(peer.build(np.array(numbers)), peer.build(pa.array(names))) for peer in peers]
    rows = [[float("inf")] * 4 for _ in peers]
    for _ in range(rounds):
        for (of_numbers, of_names), row in zip(built, rows):
            work = [(of_numbers, others), (of_numbers, numbers), (of_names, nobody), (of_names, names)]
            # The second time the keys themselves are in the cache, for the first peer as for the last.
            took = [min(seconds(lambda: ask(some, keys[:100_000]))[0] for _ in range(2)) * 1e4 for some, keys in work]
            row[:] = map(min, row, took)
    print("| `key in filter`, ns | absent `int` | present | absent `str` | present |")
    print("|---|---:|---:|---:|---:|")
    for peer, row in zip(peers, rows):
        print(f"| {peer} | " + " | ".join(f"{time:.0f}" for time in row) + " |")
        shares = " ".join(f"{ours / theirs:.2f}" for ours, theirs in zip(row, rows[-1]))
        print(f"{peer}: of rbloom's time {shares}", file=sys.stderr)


def main(rounds=3):
    policies = POLICIES
    peers = [*map(Filterblock, policies), RBloom(), FastBloom(), Fuse8()]
    numbers, names, nobody = ints(10_000_000), words(1_000_000, "user"), words(1_000_000, "absent user")
    of_ints, of_words, of_rust = {}, {}, {}
    for _ in range(rounds):
        measure(peers, numbers, -numbers[:1_000_000], of_ints)
        measure(peers, names, nobody, of_words)
        in_rust(policies, of_rust)
    print("| | bits a key | false positives | 10 M int64: build, ns a key | query, ns | 1 M strings: build | query |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for peer in peers:
        build, query, rate, bits = of_ints[str(peer)]
        times = [build, query, *of_words[str(peer)][:2]]
        print(f"| {peer} | {bits:.2f} | {rate:.2f} % | " + " | ".join(f"{time:.0f}" for time in times) + " |")
        if rust := of_rust.get(getattr(peer, "policy", None)):
            print("| the same in Rust | | | " + " | ".join(f"{time:.0f}" for time in rust) + " |")
            print(f"{peer}: of Rust's time", *(f"{ours / time:.2f}" for ours, time in zip(times, rust)), file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:] != ["loops"]:
        main(*map(int, sys.argv[1:]))
    loops()
