#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_hard.sh: level values of programs that do what is hard to follow (tests/value/hard): each prints
# its truth, note(kind=K, value=V), line by line, and what `pugmark values` shows of these calls without a
# mark must be that, in its order. Each with every call watched, and (for more than a second) with probes
# that are taken away while it runs. And recordings that are cut, damaged, or of a binary that is replaced.
# LONG=1: all of them; else a sample.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
long=${LONG:-}

# NAME SURE NEVER END: notes that must be exact, notes that must not be, whether task 1 is known to its end.
# What is in neither may be either, but never exact and wrong.
programs='maps 1,2,3,4,5,6 12,13 -
aliased - 1,2,3,4 -
forks 1,2,10,11,12,13,20,21,22,30,31,32,40,41,42,43 60 -
execs 1,11 2,3,12,13 -
signals - - -
callbacks 1,2,3,4,5,6,7,8,90 - yes
jumps 1,2,3,4 - yes
throws 1,2,3 - yes
races 1 2,3,4,5 -
ring 1 10,11,12,20,21,22 -
shared 1 10,11,12 -
generates 1,2,3,4 - yes
written 1 10,11 -
fixed 1 10,11 -
overwritten 1,2 11,21,30,41 yes
listed 90 20,21,22,23 -
itself 1 10,11,12,13,14 -'
[ -n "$long" ] || programs=$(grep -vE '^(execs|races) ' <<<"$programs")

cat >judge.py <<'PY'
import collections, re, sys
name, sure, never = sys.argv[1:4]
kinds = lambda text: [int(k) for k in text.split(",")] if text != "-" else []
printed = [l.strip() for l in open("printed") if l.startswith("note(")]
tasks = collections.defaultdict(list)
for line in open("shown"):
    m = re.match(r"(\d+) \d+ (note\(kind=(\d+)~?, value=.*?\))( |$)", line)
    if m:
        tasks[m[1]].append((int(m[3]), m[2]))
exact, wrong = [], []
for notes in tasks.values():
    at = 0
    for kind, text in notes:
        if "~" in text or "?" in text:
            continue
        exact.append(kind)
        try:
            at = printed.index(text, at) + 1
        except ValueError:
            wrong.append(text)
assert printed, "nothing was printed"
assert not wrong, f"exact and wrong: {wrong[:5]}"
missing = [k for k in kinds(sure) if k not in exact]
assert not missing, f"not exact: {missing}"
known = [k for k in kinds(never) if k in exact]
assert not known, f"called exact: {known}"
print(f"{name}: {len(printed)} notes, {len(exact)} exact")
PY

try_program() { # NAME EVERY MS SURE NEVER END
	local ms=$3 status
	rm -rf rec
	HARD_MS=$ms timeout 60 "$PUGMARK" record -q --level values --check-every "$2" -o rec -- ./"$1" >printed 2>err
	status=$?
	if [ $status = 77 ]; then
		echo "SKIP $1: there is none here"
		skipped=$((skipped + 1))
		return
	fi
	claim "$1, every $2: it runs" is $status $((status & 4)) # execs and forks tell of themselves
	timeout 200 "$PUGMARK" values rec note --limit 100000 >shown 2>err
	claim "$1, every $2: it is replayed" test $? -le 3
	claim "$1, every $2: what is not marked is what was printed" python3 judge.py "$1" "$4" "$5"
	[ ! -s said ] || sed "s/^/every $2: /" said
	"$PUGMARK" verify rec >certificate 2>err
	if [ "$6" = yes ]; then
		claim "$1, every $2: up to its end" grep -qE '^values of task 1: .* up to its end' certificate
	else
		claim "$1, every $2: how far it is known is said" grep -qE '^values of task 1: .* (up to its end|a gap after)' certificate
	fi
}

while read -r name sure never end; do
	source=$tests/value/hard/$name.c compiler=${CC:-cc}
	[ -f "$source" ] || source=$tests/value/hard/$name.cc compiler=${CXX:-c++}
	"$compiler" -O1 -g -w -I "$tests/value/hard" -o "$name" "$source" -lpthread 2>err || {
		echo "SKIP $name: $(head -n 1 err)"
		skipped=$((skipped + 1))
		continue
	}
	try_program "$name" 1 0 "$sure" "$never" "$end"
	[ -z "$long" ] || case $name in maps | callbacks | jumps | throws | signals | generates | aliased)
		try_program "$name" 64 1200 "$sure" "$never" "$end"
		;;
	esac
done <<<"$programs"

# --- recordings that are not what they were ---------------------------------------------------------
needs gzip bc
cp "$(command -v gzip)" packer
cp "$(command -v bc)" calc
seq 1500 >input
echo 'scale=20; for (i = 0; i < 9; i++) sqrt(i)' >input.bc
"$PUGMARK" record -q --level values -o packed -- ./packer -c input >out 2>err
"$PUGMARK" record -q --level values -o calculated -- ./calc input.bc </dev/null >out 2>err

# Of another build: the values are those of the code that ran, which the recording has; that the file is
# another one is said, by its name.
cp -r packed other
"$PUGMARK" values other --misses --limit 5 >before 2>err
claim 'of the build that is there nothing is said' is "$(cat err)" ''
cp "$(command -v bc)" packer
"$PUGMARK" values other --misses --limit 5 >after 2>err
claim 'values are those of the build that ran' same before after
claim 'a binary that was replaced is named' grep -qE '/packer: not the file that was recorded' err
cp "$(command -v gzip)" packer

# Without a build-id the code that the recording keeps says which build it is.
cat >plain.c <<'C'
__attribute__((noinline)) int twice(int n) { return ORDER; }
int main(void) { return twice(3) != 7; }
C
cc -O0 -g -DORDER='n * 2 + 1' -Wl,--build-id=none -o plain plain.c
"$PUGMARK" record -q --level values -o plain.rec -- ./plain 2>err
run 0 values plain.rec twice
claim 'without a build-id the same file has its variables, and nothing is said of it' \
	is "$(sed 's/^1 [0-9]* //' out) $(grep -c /plain: err)" 'twice(n=3) = 7 0'
timeout 60 "$PUGMARK" gdb --serve plain.rec </dev/null 2>err >out
claim 'nor to gdb' is "$(grep -c /plain: err)" 0
cc -O0 -g -DORDER='1 + n + n' -Wl,--build-id=none -o plain plain.c
run 0 values plain.rec twice
claim 'another build is named, its variables are not shown' \
	is "$(grep -c 'n=' out) $(grep -c '/plain: not the file that was recorded' err)" '0 1'
timeout 60 "$PUGMARK" gdb --serve plain.rec </dev/null 2>err >out
claim 'nor is it given to gdb' grep -q '/plain: not the file that was recorded: gdb is not given it' err

# What is cut or has another bit, in whatever file: it is refused, or what is said is not called complete,
# or it is as it was. Of captures all is told.
cat >damage.py <<'PY'
import json, os, random, shutil, subprocess, sys
rec, times, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
pugmark = os.environ["PUGMARK"]
def look(d):
    found = []
    for args in ("verify", "--format", "json"), ("values", "--format", "json"):
        p = subprocess.run([pugmark, args[0], *args[1:], d], capture_output=True, timeout=100)
        found.append((p.returncode, p.stdout))
    return found
def unnamed(text):
    summary = json.loads(text)
    for task in summary["tasks"]:
        task["most"] = len(task["most"])
    return summary
random.seed(seed)
truth = look(rec)
assert [t[0] for t in truth] == [0, 0], truth
count = {}
for what in "cut", "bit":
    for _ in range(times):
        shutil.rmtree("hurt", ignore_errors=True)
        shutil.copytree(rec, "hurt")
        files = sorted(os.listdir(rec))
        name = random.choices(files, [os.path.getsize(f"{rec}/{f}") ** .5 for f in files])[0]
        size = os.path.getsize(f"hurt/{name}")
        with open(f"hurt/{name}", "r+b") as f:
            at = random.randrange(size)
            if what == "cut":
                f.truncate(at)
            else:
                f.seek(at)
                byte = f.read(1)[0]
                f.seek(at)
                f.write(bytes([byte ^ 1 << random.randrange(8)]))
        now = look("hurt")
        assert all(n[0] in (0, 1, 3) for n in now), (what, name, at, now)
        told = any(n[0] for n in now)
        # Values are of the captures; of plans are names alone, and where the most is not known they are told.
        silent = now[1][0] == 0 and unnamed(now[1][1]) != unnamed(truth[1][1])
        assert not silent, (what, name, at, now[1][1][:300], truth[1][1][:300])
        key = f"{what} of {name.rstrip('0123456789.pm-')}"
        all_, found = count.get(key, (0, 0))
        count[key] = all_ + 1, found + told
for key, (all_, found) in sorted(count.items()):
    print(f"{rec}: {key}: {found} of {all_} told, the others as it was")
    if "captures" in key:
        assert found == all_, key
PY
for rec in packed calculated; do
	claim "$rec: what is cut or changed is told" python3 damage.py $rec $((${long:+60} + 6)) 1
	cat said
done

# A capture that is not there, or has another bit, where all sums are right: the share that the replay finds.
hurt=${BUILD:-$tests/../build}/value/hurt
if [ -x "$hurt" ]; then
	for rec in packed calculated; do
		cp -r $rec spoilt
		claim "$rec: nothing exact is wrong where a capture is missing" "$hurt" -n $((${long:+9}0 + 10)) $rec spoilt
		sed "s/^/$rec: /" said
		rm -rf spoilt
	done
else
	echo "SKIP captures that change: no $hurt (make value-tools)"
	skipped=$((skipped + 1))
fi
conclude
