# SPDX-License-Identifier: LGPL-2.1-or-later
"""duckdb_query.py LIBRARY SQL: prints what DuckDB answers, a row a line, values with | between, as
sqlite3 does; an error goes to stderr, with status 1."""
import ctypes
import sys


class Result(ctypes.Structure):
    _fields_ = [("of_duckdb", ctypes.c_uint64 * 8)]


duck = ctypes.CDLL(sys.argv[1])
duck.duckdb_result_error.restype = ctypes.c_char_p
duck.duckdb_row_count.restype = duck.duckdb_column_count.restype = ctypes.c_uint64
duck.duckdb_value_varchar.restype = ctypes.c_void_p
duck.duckdb_value_varchar.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
database, connection, result = ctypes.c_void_p(), ctypes.c_void_p(), Result()
at = ctypes.byref(result)
if duck.duckdb_open(None, ctypes.byref(database)) or duck.duckdb_connect(database, ctypes.byref(connection)):
    sys.exit("DuckDB does not start")
if duck.duckdb_query(connection, sys.argv[2].encode(), at):
    sys.exit(duck.duckdb_result_error(at).decode())
for row in range(duck.duckdb_row_count(at)):
    values = []
    for column in range(duck.duckdb_column_count(at)):
        text = duck.duckdb_value_varchar(at, column, row)
        values.append(ctypes.string_at(text).decode() if text else "")
        if text:
            duck.duckdb_free(ctypes.c_void_p(text))
    print("|".join(values))
