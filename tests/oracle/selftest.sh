#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# selftest.sh: can the oracle be trusted? On a small program whose every event is known beforehand
# (sample.S), calls must print exactly those (sample.expected), edges must find nothing wrong in the
# model, and must find each single error that is put into it; compare must see each difference.
set -eu -o pipefail
here=$(dirname "$(realpath "$0")")
top=$(realpath "$here/../..")
pugmark=${PUGMARK:-$top/build/pugmark}
tools=${TOOLS:-$top/build/oracle}
if ! command -v qemu-x86_64 >/dev/null; then
	echo "SKIP oracle selftest: qemu-x86_64 is not installed (package qemu-user)"
	exit 0
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/pugmark-oracle.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
fail() {
	echo "FAILED oracle selftest: $*"
	exit 1
}

cd "$tmp"
mkdir trace
${CC:-cc} -o sample "$here/sample.S" -pthread
timeout 60 qemu-x86_64 -plugin "$tools/blocktrace.so,dir=trace" ./sample || fail "sample: exit $?"
"$pugmark" cfg sample --export model
"$tools/calls" model sample trace >events 2>counts
nm -n sample >names
# What the C runtime brings along is left out: it differs between distributions.
runtime='(_start|_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux)'
awk -f "$here/names.awk" names events | grep -v -E "^[0-9]+ [a-z]+ $runtime( |\$)" >found
diff -u "$here/sample.expected" found || fail "calls prints something else"
"$tools/edges" model sample trace >result || fail "edges: $(cat result)"


# Every line of the model matters that was executed: without it, or with one thing in it changed,
# something must be missed.
first=$((16#$(awk '$3 == "leaf" { print $1 }' names)))
leaf=$(printf %x $first)
n=0
: >unseen
mutant() { # LINE NEW: the model with that line replaced, or left out if NEW is empty
	n=$((n + 1))
	[ "$1" != "$2" ] || fail "no mutant of: $1"
	awk -v old="$1" -v new="$2" '$0 == old { if (new != "") print new; next } { print }' model \
		>mutant
	if "$tools/edges" mutant sample trace >result; then
		echo "$1 -> $2" >>unseen
	elif ! grep -q ^miss result; then
		fail "edges breaks down on: $1 -> $2"
	fi
}
while read -r tag addr rest; do
	[ $((16#$addr)) -ge $first ] || continue
	line="$tag $addr $rest"
	set -- $rest
	case $tag in
	E)
		mutant "$line" ""
		;;
	S)
		mutant "$line" ""
		case $2 in
		direct) [ "$3" = $leaf ] || mutant "$line" "$tag $addr ${rest/$3/$leaf}" ;;
		import) mutant "$line" "$tag $addr ${rest/$4/wrong}" ;;
		esac
		[ "$1" = tail ] || [ "$6" = - ] || mutant "$line" "$tag $addr ${*:1:5} $(($6 + 8))"
		;;
	F)
		[ "${rest/address-taken/}" = "$rest" ] ||
			mutant "$line" "$tag $addr ${rest/address-taken/-}"
		;;
	B)
		mutant "$line" ""
		mutant "$line" "$tag $addr $(printf %x $((16#$1 + 1))) ${*:2}"
		case $2 in
		ret | call) mutant "$line" "$tag $addr $1 trap ${*:3}" ;;
		esac
		[ "${rest/setjmp-return/}" = "$rest" ] ||
			mutant "$line" "$tag $addr ${rest/setjmp-return/-}"
		;;
	esac
done < <(grep '^[BEFS] ' model)
# The two traps of the sample are never reached, and a frame that was entered from outside has no
# height to compare before its second call: what is wrong with those cannot be seen.
hidden=$(wc -l <unseen)
for trap in $(awk '$1 == "B" && $4 == "trap" { print $2 }' model); do
	grep -v -w -e "$trap" unseen >rest || true
	mv rest unseen
done
for only in handler thread; do
	addr=$(awk -v name=$only '$1 == "F" && $3 == name { print $2 }' model)
	call=$(awk -v entry="$addr" '$1 == "F" { of = $2 } $1 == "S" && of == entry { print $2 }' model)
	grep -v -E -e "^S $call call direct $leaf - - 16 -> .* 24\$" unseen >rest || true
	mv rest unseen
done
[ ! -s unseen ] || fail "edges does not see: $(cat unseen)"

# Heights hold wherever a signal comes.
mkdir storm.trace
${CC:-cc} -O1 -o storm "$here/storm.c"
timeout 60 qemu-x86_64 -plugin "$tools/blocktrace.so,dir=storm.trace" ./storm || fail "storm: exit $?"
"$pugmark" cfg storm --export storm.model
"$tools/edges" storm.model storm storm.trace >result || fail "signals: $(cat result)"
read -r signals heights < <(sed -nE '1s/.* signals ([0-9]+) .* heights ([0-9]+) .*/\1 \2/p' result)
[ "$signals" -ge 500 ] && [ "$heights" -ge 10000 ] || fail "signals: $(cat result)"

# Untraced code that jumps to a function of the module is told apart from code that calls it, and a
# ret that goes to a handler from one that returns.
mkdir hands.trace
${CC:-cc} -O1 -DLIBRARY -shared -fPIC -o libhands.so "$here/hands.c"
${CC:-cc} -O1 -o hands "$here/hands.c" -L. -lhands -Wl,-rpath,"$PWD"
timeout 60 qemu-x86_64 -plugin "$tools/blocktrace.so,dir=hands.trace" ./hands || fail "hands: exit $?"
"$pugmark" cfg hands --export hands.model
"$tools/calls" hands.model hands hands.trace >hands.events 2>counts
nm -n hands >hands.names
awk -f "$here/names.awk" hands.names hands.events >hands.named
sed -n '/handed/,/ret main/p' hands.named >found
cat >expected <<-'END'
	0 call main - handed ours
	0 ret ours
	0 call main
	0 ret ours
	0 call main
	0 ret ours
	0 call main catches
	0 call catches raises
	0 ret catches
	0 ret main
END
sed -i 's/ *$//' found
diff -u expected found || fail "calls prints something else of code that hands a call on"
# Either is right of a call that was handed on, and nothing else.
sed 's/ - handed / /' hands.events >itself
sed 's/ - handed .*/ -/' hands.events >left
for told in itself left; do
	"$tools/compare" hands.events $told >result || fail "compare: $(cat result)"
done
for wrong in 's/ - handed .*/ hands:1/' 's/ - handed .*/ - free/' '/ handed /d' '/ handed /{s/ - handed / /;p}'; do
	sed "$wrong" hands.events >other
	! "$tools/compare" hands.events other >result || fail "compare does not see $wrong"
done

# compare: each line left out, doubled or changed is a difference; other ids and orders are none.
"$tools/compare" events events >result || fail "compare: $(cat result)"
# Interleaved in another way, with other ids and with entries.
sed 's/^0 /12 enter sample 0 thread\n12 /; s/^2 /700 /' events >other
grep '^12 ' other >main
grep -v '^12 ' other | { head -n 2 main; tail -n +3 main | paste -d '\n' - /dev/fd/3; } 3<&0 |
	grep . >mixed
"$tools/compare" events mixed >result || fail "compare: $(cat result)"
events=$(wc -l <events)
for i in $(seq "$events"); do
	for change in d p 's/ [a-z]* / unknown /'; do
		sed "$i$change" events >other
		if "$tools/compare" events other >/dev/null; then
			fail "compare does not see line $i with $change"
		fi
	done
done
echo "ok: oracle selftest: $events events as expected, $((n - hidden)) errors in the model found"
