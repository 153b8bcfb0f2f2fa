#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# slices.sh [NAME...]: backward and forward slices of instances of real programs, and the edges between the
# instances of each, against those of a naive slicer over QEMU's trace of the same run: every load, every
# store, to the instance.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs qemu-x86_64 gzip bc python3 unshare
work_in_own_folder
TOOLS=${TOOLS:?the built tests/value tools} ORACLE=${ORACLE:?deptrace.so}
for tool in "$TOOLS"/{slices,naive_slices,fresh_malloc.so} "$ORACLE/deptrace.so"; do
	[ -f "$tool" ] || { echo "no $tool: make slices-tools" >&2; exit 1; }
done
wanted=" $* "

# Whether the program $1 is asked for, and (else FILE...) all that it needs is here.
asked() { # NAME FILE...
	local name=$1 file
	[ "$wanted" = '  ' ] || [[ $wanted == *" $name "* ]] || return 1
	for file in "${@:2}"; do
		[ -f "$file" ] && continue
		echo "skip slices of $name: no $file here"
		skipped=$((skipped + 1))
		return 1
	done
}

# In a namespace of its own, in which what is random is the same each time, and with an allocator that
# gives no memory twice: what is read of a block before it is written is nobody's.
head -c 65536 /dev/zero >zeroes
alike() { # PROGRAM COMMAND...
	unshare -m sh -c 'mount --bind zeroes /dev/urandom && FRESH_MALLOC=$0 LD_PRELOAD=$1 && shift &&
		export FRESH_MALLOC LD_PRELOAD && exec "$@"' "$1" "$TOOLS/fresh_malloc.so" "${@:2}"
}

# What QEMU and the recording say of one command; its standard input is $2.
compare() { # NAME INPUT NUMBER PROGRAM ARGUMENT...
	local name=$1 input=$2 number=$3 program=$4
	rm -rf rec addresses trace
	alike "$program" "$PUGMARK" record -q --level values -o rec -- "./$program" "${@:5}" <"$input" >out1 2>err
	"$TOOLS/slices" rec "$number" addresses >ours 2>said1
	alike "$program" qemu-x86_64 -plugin "$ORACLE/deptrace.so,out=trace" "./$program" "${@:5}" \
		<"$input" >out2 2>err
	claim "$name: both print the same" cmp -s out1 out2
	claim "$name: the same instructions" "$TOOLS/naive_slices" trace "$program" 0 addresses
	"$TOOLS/naive_slices" trace "$program" "$number" addresses >naive 2>err
	claim "$name: there are slices" test "$(grep -c ward ours)" -gt "$number"
	claim "$name: the same slices" same <(grep ward naive) <(grep ward ours)
	claim "$name: the same edges" same <(grep edges naive) <(grep edges ours)
	echo "$name: $(head -n 1 ours), $(grep -c ward ours) slices; $(cat said1)"
	rm -rf trace
}

for i in $(seq 400); do echo "line $i of what is packed $((i * i % 977))"; done >text
if asked gzip; then
	gzip -c text >text.gz
	cp "$(command -v gzip)" packer
	compare 'gzip -c' text 100 packer -cn
	compare 'gzip -d' text.gz 100 packer -d
fi
if asked bc; then
	echo 'scale=30; a(1)*4; for (i = 0; i < 40; i++) s += i^3 % 7; s; obase=16; 2^100' >sums
	cp "$(command -v bc)" calc
	compare bc sums 100 calc -lq
fi
if asked lua "$TOOLS/lua_host"; then
	cat >words.lua <<'L'
local t, words, keys = {}, {}, {}
for i = 1, 300 do t[i] = (i * 7919) % 1000 end
table.sort(t)
for w in ("the quick brown fox jumps over the lazy dog and the dog sleeps"):gmatch("%a+") do
	words[w] = (words[w] or 0) + 1
end
for k in pairs(words) do keys[#keys + 1] = k end
table.sort(keys)
for _, k in ipairs(keys) do print(k, words[k]) end
local sum = 0
for i, v in ipairs(t) do sum = sum + v * i end
print(sum, ("x"):rep(5), string.format("%5.2f|%d|%s", sum / 7, sum % 97, tostring(nil)))
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(15), pcall(error, "no"))
L
	cp "$TOOLS/lua_host" lua
	compare lua /dev/null 100 lua words.lua
fi
if asked sqlite "$ORACLE/libsqlite"; then
	cat >some.sql <<'S'
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60)
	insert into t select i, 'name ' || (i * 37 % 101), i * i % 97 from n;
create index by_c on t(c);
select count(*), sum(c), max(b) from t where c > 20;
select b, c from t where c between 10 and 40 order by b desc limit 7;
update t set c = c + 1 where a % 7 = 0;
select group_concat(a) from (select a from t where c in (select c from t where a < 9) order by a);
S
	cp "$ORACLE/libsqlite" sqlite
	compare sqlite /dev/null 100 sqlite :memory: some.sql
fi
# The server's own reader of its snapshots: the server itself does not do the same twice.
if asked redis "$(readlink -f "$(command -v redis-server)")"; then
	python3 - >dump.rdb <<'P'
import struct, sys
def length(n):
    return bytes([n]) if n < 64 else bytes([0x40 | n >> 8, n & 255])
def text(s):
    return length(len(s)) + s.encode()
def many(kind, name, n, *makers):
    return kind + text(name) + length(n) + b''.join(text(m(k)) for k in range(n) for m in makers)
out = b'REDIS0010\xfa' + text('redis-ver') + text('7.0.0') + b'\xfe\x00\xfb' + length(300) + length(20)
for i in range(120):
    out += b'\xfc' + struct.pack('<Q', 4102444800000 + i) if i % 6 == 0 else b''
    out += b'\x00' + text('key:%d' % i)
    out += text('value %d' % (i * i % 977)) if i % 3 else b'\xc1' + struct.pack('<H', i * 7)
for i in range(20):
    out += many(b'\x01', 'list:%d' % i, i + 2, lambda k: 'e%d' % (i * k % 31))
    out += many(b'\x02', 'set:%d' % i, i + 2, lambda k: 'm%d' % (k * 13))
    out += many(b'\x04', 'hash:%d' % i, i + 2, lambda k: 'f%d' % k, lambda k: 'v%d' % (i * k))
sys.stdout.buffer.write(out + b'\xff' + bytes(8))
P
	cp "$(readlink -f "$(command -v redis-server)")" redis-check-rdb
	compare redis /dev/null 100 redis-check-rdb dump.rdb
fi
# Not here: programs that sort by qsort(). The table says that it writes the whole array, so an element
# that stays where it was has another maker than in the naive slicer: a few instances differ.
conclude
