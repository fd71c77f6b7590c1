"""Runs SQL in DuckDB: reads a statement a line from standard input, and prints its rows as a line of JSON."""

import json
import sys

import duckdb

connection = duckdb.connect()
for statement in sys.stdin:
    print(json.dumps(connection.execute(statement).fetchall(), default=str))
