#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_carrier.sh: what a recording costs the program when patched instructions carry the events, and
# when probes do, beside the plain run, on the same work.
#
#   bench_carrier.sh [RUNS]
#
# Per program: witness events, processor time of the program alone (user; the median of RUNS) plain and
# patched, their ratio, what an event adds in ns, the ratio by probes (user time shows half of what
# these take; PROBED=0: without), and the wall time of a patched recording with its coding. Copies of Debian's programs are run, never these themselves.
set -u
here=$(dirname "$(realpath "$0")")
pugmark=${PUGMARK:-$here/../../build/pugmark}
runs=${1:-3}
[ "$(id -u)" = 0 ] || { echo 'SKIP: recording needs root here'; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export XDG_CACHE_HOME=$dir/cache

cat >work.lua <<'LUA'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
fib(30)
local t = {}
for i = 1, 100000 do t[i] = (i * 7919) % 100003 end
table.sort(t, function(a, b) return a < b end)
local s = {}
for i = 1, 30000 do s[i] = string.format('%d,%s', i, i) end
print(#table.concat(s):gsub('1', 'x'))
LUA
cat >work.py <<'PY'
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
d = {}
for i in range(60000): d[str(i * 7919 % 10007)] = d.get(str(i), 0) + 1
print(fib(21), len(d), sorted(d)[:2])
PY
cat >work.sh <<'SH'
f() { local i s=0; for ((i = 0; i < $1; i++)); do s=$((s + i % 7)); done; echo $s; }
f 60000
SH
head -c 12000000 < <(cat /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null) >data

# Each program says at its end what processor time it took, whoever started it.
cat >took.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
__attribute__((destructor)) static void told(void)
{
	char line[64];
	struct rusage use;
	int fd = open(getenv("TOOK"), O_WRONLY | O_APPEND | O_CREAT, 0600);
	getrusage(RUSAGE_SELF, &use);
	int n = snprintf(line, sizeof(line), "%s %.3f\n", program_invocation_short_name,
			 1e3 * use.ru_utime.tv_sec + 1e-3 * use.ru_utime.tv_usec);
	if (write(fd, line, n) < 0)
		_exit(1);
}
C
sed -i '1i #define _GNU_SOURCE\n#include <errno.h>' took.c
"${CC:-cc}" -O2 -shared -fPIC -o took.so took.c || exit 1
median() { sort -n | awk '{ at[NR] = $1 } END { print at[int((NR + 1) / 2)] }'; }
took() { # NAME COMMAND...: ms of user time, the median
	local name=$1
	shift
	rm -f took
	for ((k = 0; k < runs; k++)); do
		TOOK=$dir/took LD_PRELOAD=$dir/took.so "$@" >/dev/null 2>err
	done
	awk -v n="$name" '$1 == n { print $2 }' took | median
}
probed=${PROBED-1} # 0: without the runs under probes, which take long

printf '%-10s %11s %9s %9s %6s %6s %8s %7s\n' program events plain_ms patch_ms ratio ns/ev probes wall_s
one() { # NAME ARGUMENT...: a copy of the program
	local name=$1 plain patched by_probes=0 events start wall
	cp "$(readlink -f "$(command -v "$name")")" . || return
	[ "$(basename "$(readlink -f "$(command -v "$name")")")" = "$name" ] ||
		mv "$(basename "$(readlink -f "$(command -v "$name")")")" "$name"
	shift
	plain=$(took "$name" "./$name" "$@")
	start=$EPOCHREALTIME
	patched=$(took "$name" "$pugmark" record -o rec --no-times --carrier patch --on-full wait -- "./$name" "$@")
	wall=$(awk -v a="$start" -v b="$EPOCHREALTIME" -v r="$runs" 'BEGIN { printf "%.1f", (b - a) / r }')
	events=$(sed -nE 's/.*: ([0-9]+) witness events.*/\1/p' err)
	[ "$probed" = 0 ] ||
		by_probes=$(runs=1 took "$name" "$pugmark" record -o rec --no-times -- "./$name" "$@")
	awk -v n="$name" -v e="$events" -v p="$plain" -v q="$patched" -v r="$by_probes" -v w="$wall" \
		'BEGIN { printf "%-10s %11d %9.0f %9.0f %6.2f %6.2f %8.1f %7s\n", n, e, p, q, q / p,
			(q - p) * 1e6 / e, r / p, w }'
}
one gzip -c data
one lua5.4 work.lua
one bash work.sh
[ ! -x /usr/bin/python3 ] || PATH=/usr/bin:$PATH one python3 work.py
one git -C "${REPOSITORY:-$here}" log --stat -n 400
