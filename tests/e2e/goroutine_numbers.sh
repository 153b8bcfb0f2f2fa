#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# goroutine_numbers.sh: a Go program that says with each call of its functions which goroutine makes it, as
# its own runtime prints it (runtime.Stack). It blocks in channels, sleeps, is preempted, grows its stacks,
# locks goroutines to threads, and has a thousand short ones, which use stacks again. Told by goroutine
# (dump --by goroutine), each one's calls are what it has said, in that order, by the plan of mode best (with
# LONG=1 of full and casper too), by probes and by patched instructions, stripped as well.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go strip python3
work_in_own_folder
cat >program.go <<'GO'
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

type call struct{ goroutine, function string }

var lock sync.Mutex
var said []call

//go:noinline
func say(function string) {
	var text [64]byte
	n := runtime.Stack(text[:], false)
	goroutine := strings.Fields(string(text[:n]))[1]
	lock.Lock()
	said = append(said, call{goroutine, function})
	lock.Unlock()
}

//go:noinline
func short(i int, done *sync.WaitGroup) {
	say("main.short")
	leaf(i)
	done.Done()
}

//go:noinline
func leaf(i int) { say("main.leaf") }

//go:noinline
func bottom() int { say("main.bottom"); return 1 }

//go:noinline
func deep(n int) int {
	var room [300]byte
	room[n] = byte(n)
	if n == 0 {
		return bottom()
	}
	return deep(n-1) + int(room[n])
}

//go:noinline
func spin(n int) (x uint64) {
	say("main.spin")
	for i := 0; i < n; i++ {
		x = x*2862933555777941757 + uint64(i)
	}
	return x
}

//go:noinline
func worker(n int, in, out chan int, done *sync.WaitGroup) {
	say("main.worker")
	if n%3 == 0 {
		runtime.LockOSThread()
	}
	for v := range in {
		leaf(v)
		if v%7 == 0 {
			deep(4 + v%5) // more is not seen by another thread
		}
		if v%5 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
		if v%11 == 0 {
			spin(20000000)
		}
		out <- v
	}
	if n%3 == 0 {
		runtime.UnlockOSThread() // or its thread would end with it
	}
	done.Done()
}

func main() {
	items := 400
	if len(os.Args) > 1 {
		items = 40
	}
	runtime.GOMAXPROCS(4)
	in, out := make(chan int), make(chan int)
	var done, shorts sync.WaitGroup
	for n := 0; n < 8; n++ {
		done.Add(1)
		go worker(n, in, out, &done)
	}
	shorts.Add(items / 4 * 10)
	go func() {
		for v := 0; v < items; v++ {
			in <- v
			for k := 0; v%4 == 0 && k < 10; k++ {
				go short(k, &shorts)
			}
		}
		close(in)
	}()
	for v := 0; v < items; v++ {
		<-out
	}
	done.Wait()
	shorts.Wait()
	for _, c := range said {
		fmt.Fprintln(os.Stdout, c.goroutine, c.function)
	}
}
GO
GOCACHE=$dir/built GO111MODULE=off go build -o program program.go 2>err || skip "the program cannot be built: $(head -n 1 err)"
"$PUGMARK" cfg --list program >functions
strip -o stripped program

by_goroutine() { # PROGRAM: its calls of those functions, as `lines` tells them
	awk -v module="$1:" '
		NR == FNR { for (i = 1; i <= NF; i++) if ($i ~ /^main\.(short|leaf|bottom|spin|worker)$/) name[$1] = $i; next }
		$1 !~ /^g/ { next }
		$2 == "call" || $2 == "tail" {
			at = index($5, module) == 1 ? substr($5, length(module) + 1) : $5
			if (at in name) print substr($1, 2), name[at]
		}
		$2 == "enter" && $5 != "resumed" && $4 in name { print substr($1, 2), name[$4] }' functions lines | sort -s -n -k 1,1
}
said() { sort -s -n -k 1,1 out; }
# Without a gap, each goroutine's calls are the same. At a gap some are missing, and one that was in progress
# may be told again behind it.
tell_what_was_said() { # NAME PROGRAM
	local gaps
	"$PUGMARK" dump --by goroutine rec >lines 2>err
	by_goroutine "$2" >told
	said >want
	gaps=$(grep -c ' gap ' lines)
	echo "$1: $(wc -l <want) calls of $(cut -d ' ' -f 1 want | uniq | wc -l) goroutines, $gaps gaps"
	claim "$1: calls were said" [ "$(wc -l <want)" -ge 2500 ]
	if [ "$gaps" = 0 ]; then
		claim "$1: each goroutine's calls are those that it has said" same want told
	else
		claim "$1: but for what is at gaps, calls are told of the goroutine that makes them" \
			python3 - want told "$gaps" <<'PY'
import collections, difflib, sys
lines = [collections.defaultdict(list), collections.defaultdict(list)]
for of, name in zip(lines, sys.argv[1:3]):
    for line in open(name):
        goroutine, function = line.split()
        of[goroutine].append(function)
said, told = lines
wrong = [g for g in told if g not in said]
missing = 0
for goroutine, calls in said.items():
    for op, a, b, c, d in difflib.SequenceMatcher(None, calls, told[goroutine], False).get_opcodes():
        if op in ('insert', 'replace'):
            wrong.append((goroutine, calls[a:b], told[goroutine][c:d]))
        if op == 'delete':
            missing += b - a
if len(wrong) > int(sys.argv[3]) or missing > 8 * int(sys.argv[3]):
    sys.exit(f'{wrong[:4]}, {missing} missing')
PY
	fi
}

"$PUGMARK" record -q --ring 64 -o rec -- ./program >out 2>err
claim 'recording works' [ $? -eq 0 ]
tell_what_was_said probes program
"$PUGMARK" dump rec >threads 2>err
claim 'a switch says which goroutine goes on' \
	[ "$(grep -c ' switch [0-9]* goroutine [0-9]*$' threads)" -ge 1000 ]
claim 'all do, but for what begins behind a gap' \
	[ "$(grep -c ' switch [0-9]*$' threads)" -le "$(grep -c ' gap ' threads)" ]
claim 'goroutines go on on other threads' [ "$(grep -c '^g[0-9]* thread ' lines)" -gt "$(cut -d ' ' -f 1 lines | uniq | grep -c g)" ]
some=$(awk '$2 == "switch" && NF == 5 { print $5; exit }' threads)
"$PUGMARK" dump --goroutine "$some" rec >one 2>err
claim 'one goroutine alone is what it is among all' is "$(grep "^g$some " lines | cksum)" "$(cksum <one)"
# What is open at each return is what returns.
claim 'calls and returns of a goroutine are balanced' awk '
	$1 !~ /^g/ { next }
	$1 != who { who = $1; n = 0 }
	$2 == "gap" { n = -1 }
	n < 0 { next }
	$2 == "enter" { open[++n] = $3 ":" $4 }
	$2 == "call" && $5 != "-" { open[++n] = $5 }
	$2 == "tail" { if ($5 == "-") n--; else open[n] = $5 }
	$2 == "ret" || $2 == "unwind" { checked++; if (n == 0 || open[n--] != $3 ":" $4) { print; bad++ } }
	END { exit bad || checked < 10000 }' lines
"$PUGMARK" replay --goroutine "$some" rec >tree 2>err
claim 'replay tells it too' grep -q "^goroutine $some of process" tree
run 1 dump --goroutine 99999999 rec
claim 'a goroutine that is not there is said' grep -q 'no goroutine 99999999' err
run 2 dump --by stack rec
run 2 dump --goroutine 1 --thread 1 rec

for mode in ${LONG:+full casper}; do
	"$PUGMARK" record -q --ring 64 --mode $mode -o rec -- ./program >out 2>err
	tell_what_was_said "mode $mode" program
done

"$PUGMARK" record -q --ring 64 -o rec -- ./stripped >out 2>err
tell_what_was_said stripped stripped

"$PUGMARK" record -q --carrier patch -o rec -- ./program >out 2>err
claim 'patching works' [ $? -eq 0 ]
tell_what_was_said patched program

# Of a version that is not known DWARF says it; what neither says is said once.
python3 - <<'PY' && chmod +x unknown
whole = bytearray(open('program', 'rb').read())
version = whole.index(b'\xff Go buildinf:') + 33
whole[version : version + 6] = b'go1.99'
open('unknown', 'wb').write(whole)
PY
strip -o nothing unknown
"$PUGMARK" record -o rec -- ./unknown >out 2>err
claim 'DWARF says where the number is' is "$(grep -c 'goroutines have no numbers' err)" 0
tell_what_was_said 'by DWARF' unknown
"$PUGMARK" record -o rec -- ./nothing briefly >out 2>err
claim 'an unknown version is said' is "$(grep -c 'goroutines have no numbers' err)" 1
claim 'then no switch has a number' is "$("$PUGMARK" dump rec 2>err | grep -c ' goroutine ')" 0
run 1 dump --by goroutine rec
claim 'and nothing is told by goroutine' grep -q 'no goroutine has a number in it' err
conclude
