"""Prunes Parquet files with a filter set: needles in files whose minimum and maximum say nothing.

    python examples/prune_parquet.py [FILES [ROWS]]
"""

import pathlib
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import filterblock


def identity_of(path: pathlib.Path) -> int:
    """Changes with the file, but for a second write of equal length in one tick of the clock; most stores' entity tags always do."""
    state = path.stat()
    times = state.st_mtime_ns, state.st_ctime_ns
    return filterblock.file_identity(str(path.resolve()), state.st_ino, state.st_size, *times)


def write(folder: pathlib.Path, num_files: int, rows: int) -> None:
    """Files of random keys, and the set of their filters beside them."""
    numbers = np.random.default_rng(35)
    columns = {"user": "number", "name": "text"}
    builder = filterblock.FilterSetBuilder(columns, rows, fpr=0.01, seed=7, scratch=folder)
    for number in range(num_files):
        users = numbers.integers(0, 2**62, rows)
        table = pa.table({"user": users, "name": pa.array([f"name {user}" for user in users])})
        path = folder / f"{number:04}.parquet"
        pq.write_table(table, path)
        builder.add_file(path.name, identity_of(path), {name: table[name] for name in ("user", "name")})
    (folder / "filters.fbs").write_bytes(builder.finish())


class Requests:
    """Reads ranges of a file, as requests to object storage would, and counts them."""

    def __init__(self, path: pathlib.Path):
        self.file, self.length, self.count, self.bytes = path.open("rb"), path.stat().st_size, 0, 0

    def fetch(self, start: int, end: int) -> bytes:
        self.count, self.bytes = self.count + 1, self.bytes + end - start
        self.file.seek(start)
        return self.file.read(end - start)

    def __str__(self) -> str:
        text = f"{self.count} requests, {self.bytes} bytes"
        self.count = self.bytes = 0
        return text


def main(num_files: int = 50, rows: int = 20_000) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder, num_files, rows)
        paths = sorted(folder.glob("*.parquet"))
        files = [(path.name, identity_of(path)) for path in paths]
        data = sum(path.stat().st_size for path in paths)
        requests = Requests(folder / "filters.fbs")
        print(f"{num_files} files of {rows} rows: {data} bytes; the set of two columns: {requests.length} bytes")

        filters = filterblock.FilterSet.fetch_index(requests.length, requests.fetch)
        needle = pq.read_table(paths[num_files // 2], columns=["user"])["user"][rows // 2].as_py()
        by_range = 0
        for path in paths:
            statistics = pq.read_metadata(path).row_group(0).column(0).statistics
            by_range += statistics.min <= needle <= statistics.max
        mask = filters.may_contain("user", needle, files, requests.fetch)
        print(f"user = {needle}: {mask.sum()} files planned, {by_range} by minimum and maximum; cold: {requests}")

        planned = [path for path, may_contain in zip(paths, mask) if may_contain]
        found = pq.read_table(planned, filters=[("user", "=", needle)])
        assert found["user"].to_pylist() == [needle]
        filters.may_contain("user", needle, files, requests.fetch)
        print(f"the same again: {requests}")

        absent = ["name of nobody", "nor of her"]
        mask = filters.may_contain("name", absent, files, requests.fetch)
        print(f"name in {absent}: {mask.sum()} files planned; {requests}")

        # A file that has changed is read, whatever its filter says.
        pq.write_table(pa.table({"user": [1], "name": ["name of nobody"]}), paths[0])
        files[0] = (paths[0].name, identity_of(paths[0]))
        mask = filters.may_contain("name", "name of nobody", files, requests.fetch)
        assert mask[0]
        print(f"after one file was replaced: {mask.sum()} files planned")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
