#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# parquet.sh: what `export --format parquet` writes, as DuckDB reads it, is what `--format sqlite` writes, as
# SQLite reads that: every row of every table, of a program whose every call is known, of a recording without
# times, of 64 threads, of one with gaps, and of one with several groups of rows.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/viewed.sh"
duckdb=$tests/../build/node/node_modules/@duckdb/node-bindings-linux-x64/libduckdb.so
[ -e "$duckdb" ] || skip 'no DuckDB here (make deps, which needs npm and its registry)'
needs_recording
needs python3 sqlite3
work_in_own_folder

asked() { # SQL
	python3 "$tests/support/duckdb_query.py" "$duckdb" "$1"
}
same_tables() { # NAME RECORDING STATUS
	local table
	rm -rf of.parquet of.db
	run "$3" export --format parquet -o of.parquet "$2"
	run "$3" export --format sqlite -o of.db "$2"
	for table in calls functions threads gaps events recording; do
		asked "select * from 'of.parquet/$table.parquet'" 2>err | LC_ALL=C sort >is
		claim "$1: $table: DuckDB reads it" test ! -s err
		sqlite3 of.db "select * from $table" | LC_ALL=C sort >should
		claim "$1: $table is what SQLite has" same should is
	done
}

compile_viewed
run 0 record -q -o known -- ./prog
same_tables 'every call known' known 0
claim 'DuckDB: SQL over them answers' is \
	"$(asked "select count(*) from 'of.parquet/calls.parquet' c join 'of.parquet/functions.parquet' f
		on f.id = c.function where f.name = 'leaf'")" \
	"$(sqlite3 of.db "select calls from by_function where name = 'leaf'")"
run 0 record -q -o still --no-times -- ./prog
same_tables 'without times' still 0
run 0 record -q -o crowd -- ./threads
same_tables '64 threads' crowd 0
for at in 2 3 4 5 6 7; do # what is there need not be of a thread
	rm -rf torn
	cp -r known torn
	dd if=/dev/zero of=torn/events bs=1 seek=$(($(stat -c %s torn/events) / at)) count=16 conv=notrunc 2>err
	"$PUGMARK" verify torn | grep -q '^  gap' && break
done
same_tables 'gaps' torn 3

cat >fib.c <<'C'
__attribute__((noipa)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { return fib(24) & 0; }
C
${CC:-cc} -O1 fib.c -o fib 2>err || skip "does not compile: $(head -n 1 err)"
run 0 record -q -o many -- ./fib
same_tables 'several groups' many 0
claim 'several groups: there are' is \
	"$(asked "select count(distinct row_group_id) from parquet_metadata('of.parquet/calls.parquet')")" 2

mkdir taken
fails 1 'taken' export --format parquet -o taken known
claim 'what is there stays empty' is "$(ls taken)" ''
fails 2 'parquet' export --format parquet -o - known
conclude
