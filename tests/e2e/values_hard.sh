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
programs='maps 1,2,3,4,5,6 12,13 yes
aliased - 1,2,3,4 -
forks 1,2,10,11,12,13,20,21,22,30,31,32 60 -
execs 1,11 2,3,12,13 -
signals - - -
callbacks 1,2,3,4,5,6,7,8,90 - yes
jumps 1,2,3,4 - yes
throws - - -
races 1 2,3,4,5 -
ring 1 10,11,12,20,21,22 -
shared 1 10,11,12 -
generates 1 2,3,4 -
written 1 10 -'
[ -n "$long" ] || programs=$(grep -vE '^(execs|generates|jumps|written) ' <<<"$programs")

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
	timeout 100 "$PUGMARK" values rec note --limit 100000 >shown 2>err
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
conclude
