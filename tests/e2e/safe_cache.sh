#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_cache.sh: what lies in the cache is not believed. A cached plan whose probes were moved by a byte
# does not reach the program; a cache that somebody else could write is not used; links in it are not
# followed when it is written.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 setpriv
stranger=54321 # of no account
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
${CC:-cc} -O1 -o target "$tests/programs/views.c" || skip 'no compiler for the program'
./target >expected
"$PUGMARK" record -q -o rec -- ./target >out 2>err || skip "recording does not work here: $(cat err)"

# Moves each probe of the plan $1 by a byte, and makes its checksum hold (docs/plan-format.md).
cat >move.py <<'EOF'
import struct, sys, zlib
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
n, at = struct.unpack_from("<I", data, 24)[0], 120
for i in range(n):
    addr, off = struct.unpack_from("<QQ", data, at + 48 * i)
    struct.pack_into("<QQ", data, at + 48 * i, addr + 1, off + 1)
struct.pack_into("<I", data, 12, zlib.crc32(data[16:]))
open(path, "wb").write(data)
EOF
plans() { find cache -name '*.plan'; }
claim 'a plan is kept' is "$(plans | wc -l)" 1
"$PUGMARK" plan --format json ./target >stats 2>err
claim 'and used again' eval 'jq -e .cached stats || grep -q "\"cached\":true" stats'
cp "$(plans)" good
python3 move.py "$(plans)"
claim 'a plan that was changed is another one' eval '! cmp -s good "$(plans)"'
"$PUGMARK" record -q -o rec -- ./target >out 2>err </dev/null
claim 'a cached plan with its probes moved: the program runs as ever' is "$? $(cmp out expected)" '0 '
claim 'and is traced whole' "$PUGMARK" verify rec
claim 'as by a plan made anew' cmp good "$(plans)"
cp good moved.plan
python3 move.py moved.plan
fails 1 'has other code' record -q -o rec --plan moved.plan -- ./target

# The key: of two files with the same build-id and the same code but other data, each has its own plan.
${CC:-cc} -O1 -Wl,--build-id=0x0123456789 -o one -x c - <<<'static const char text[] = "first"; int main(void) { return __builtin_puts(text) < 0; }'
sed s/first/other/ one >two && chmod +x two
for i in one two; do "$PUGMARK" plan ./$i >/dev/null 2>err; done
claim 'a plan is of these bytes, whatever build-id they say' is "$(plans | wc -l)" 3

# What is kept of where patches go, and of a plan file's probes, is of one file, as it is now.
kept() { find "cache/pugmark/$1" -type f 2>/dev/null; }
patched() { # FILE: whether it is patched, and runs and is traced as ever
	"$PUGMARK" record -o rec --carrier patch -- "./$1" >out 2>err </dev/null && cmp out expected &&
		grep -q 'witnesses patched' err && "$PUGMARK" verify rec
}
rm -rf cache/pugmark/placings
claim 'a program is patched' patched target
claim 'where patches go is kept' is "$(kept placings | wc -l)" 1
stat -c %i "$(kept placings)" >was
claim 'it is patched again' patched target
claim 'by what was kept' is "$(stat -c %i "$(kept placings)")" "$(cat was)"
cp "$(kept placings)" good_places
for at in 40 300 1000; do
	cp good_places "$(kept placings)"
	printf '\377' | dd of="$(kept placings)" bs=1 seek=$at conv=notrunc status=none
	cp "$(kept placings)" damaged
	claim "kept places with byte $at changed: patched as ever" patched target
	claim 'they were found anew' eval '! cmp -s "$(kept placings)" damaged'
done
head -c 100 good_places >"$(kept placings)"
claim 'kept places that were cut: patched as ever' patched target
claim 'they were found anew as well' is "$(stat -c %s "$(kept placings)")" "$(stat -c %s good_places)"
cp target copy
claim 'a copy of the program is patched' patched copy
claim 'and has places of its own' is "$(kept placings | wc -l)" 2
cp "$(kept placings | grep -v "$(basename "$(kept placings | head -n 1)")")" other_places
cp other_places "$(kept placings | head -n 1)"
claim 'kept places under the name of another: patched as ever' patched target
claim 'and the copy too' patched copy
cp good good.plan
claim 'a plan file is checked' "$PUGMARK" record -q -o rec --plan good.plan -- ./copy
claim 'which is kept' is "$(kept checked | wc -l)" 1
claim 'and believed' "$PUGMARK" record -q -o rec --plan good.plan -- ./copy
fails 1 'has other code' record -q -o rec --plan moved.plan -- ./copy
# The same file, with other code under the same build-id.
python3 - <<'EOF'
import re
data = bytearray(open("copy", "rb").read())
at = data.rfind(bytes.fromhex("f30f1efa"), 0, data.find(b".shstrtab"))
for match in re.finditer(rb"\xe8....", data[0x1000:0x2000], re.S):
    data[0x1000 + match.start()] = 0xb8
open("copy", "r+b").write(data)
EOF
fails 1 'has other code' record -q -o rec --plan good.plan -- ./copy

# Who else could have written it.
used() { "$PUGMARK" plan --format json ./target >stats 2>err && grep -q '"cached": *true' stats; }
claim 'it is used' used
chown $stranger "$(plans | head -n 1)" $(plans)
claim 'not where the file is of another' eval '! used'
rm -f $(plans)
used
chmod 777 cache/pugmark/plans
claim 'not where others may write the folder' eval '! used'
chmod 700 cache/pugmark/plans
claim 'and again' used
chmod 666 $(plans)
claim 'not where others may write the file' eval '! used'
claim 'folders are made 0700, files 0600' is \
	"$(rm -rf cache; used; find cache/pugmark | xargs stat -c %a | sort | uniq -c | tr -s ' ')" $' 1 600\n 2 700'

# Links that somebody else has laid where the cache is written.
mkdir victim
for name in costs.json plan taken; do echo "precious $name" >victim/$name; done
cp -r victim as_it_was
rm -rf cache
mkdir cache
"$PUGMARK" doctor >out 2>err
name=$(cd cache/pugmark 2>/dev/null && ls costs.json)
rm -rf cache
lay() { # the cache is a folder of the stranger's, with what he likes in it
	rm -rf theirs
	mkdir -p theirs/pugmark/plans theirs/pugmark/taken-out
	ln -s "$dir/victim/costs.json" theirs/pugmark/costs.json.new
	chown -hR $stranger theirs
	export XDG_CACHE_HOME=$dir/theirs
}
lay
"$PUGMARK" doctor >out 2>err
claim "costs are not written through a link ($name)" diff -r victim as_it_was
lay
rm -r theirs/pugmark/plans
setpriv --reuid $stranger --regid $stranger --clear-groups ln -s "$dir/victim" theirs/pugmark/plans
"$PUGMARK" plan ./target >out 2>err
claim 'plans are not written through a link' diff -r victim as_it_was
claim 'and the plan is not kept' grep -q 'not kept' out err
conclude
