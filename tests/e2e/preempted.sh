#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# preempted.sh: goroutines that a signal preempts in the midst of a loop, and that another thread resumes:
# there the trace goes on in the function that was interrupted, with all calls that lead to it, by the plan
# of each mode. Goroutines that ask the time, wait, write and grow their stacks are preempted anywhere, on the
# runtime's own stack too, and come back to threads that they have left: there is no gap.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go
work_in_own_folder
cat >program.go <<'GO'
package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

var sums [16]uint64

//go:noinline
func leaf(x uint64) uint64 {
	return x ^ x>>7
}

//go:noinline
func work(n int, until time.Time) (x uint64) {
	for x = uint64(n); time.Now().Before(until); x = leaf(x) {
		for i := uint64(0); i < 1000000; i++ {
			x = x*2862933555777941757 + i
		}
	}
	return x
}

//go:noinline
func outer(n int, until time.Time) uint64 {
	return leaf(work(n, until)) + 1
}

func main() {
	runtime.GOMAXPROCS(4)
	var done sync.WaitGroup
	until := time.Now().Add(600 * time.Millisecond)
	for n := range sums {
		done.Add(1)
		go func(n int) {
			defer done.Done()
			sums[n] = outer(n, until)
		}(n)
	}
	done.Wait()
	fmt.Println("done", len(sums))
}
GO
GOCACHE=$dir/built GO111MODULE=off go build -o program program.go 2>err || skip "the program cannot be built: $(head -n 1 err)"
"$PUGMARK" cfg --list program >functions
address() { awk -v name="$1" '$NF == name || $(NF - 1) == name { print $1 }' functions; }
preempted=$(address runtime.asyncPreempt.abi0) work=$(address main.work) outer=$(address main.outer)
claim 'functions have names' is "$(printf '%s\n' $preempted $work $outer | grep -c .)" 3
resumed() { # MODULE: how many are, in the loop, and how many of them with what has called the loop's function
	awk -v inner="$preempted" -v work="$work" -v outer="$outer" '
		$2 != "enter" || $5 != "resumed" { one = two = ""; next }
		$4 == inner && one == work { n++; called += two == outer }
		{ two = one; one = $4 }
		END { print n + 0, called + 0 }' "$1"
}
lost() { # MODULE: how many of those that were resumed in the loop end in a gap
	awk -v inner="$preempted" -v work="$work" '
		$2 == "enter" && $4 == inner { resumed = $5 == "resumed" && before == work }
		ended && $2 == "gap" { n++ }
		{ ended = resumed && $2 == "ret" && $4 == inner; before = $2 == "enter" ? $4 : "" }
		END { print n + 0 }' "$1"
}

for tries in 1 2 3 4 5 6; do
	record_in_three_modes --ring 64 -- ./program
	claim 'recording works' [ $? -eq 0 ] || break
	for module in 0 1 2; do "$PUGMARK" dump --module $module rec >$module 2>err; done
	[ "$(grep -c " enter program $preempted resumed$" 0)" = 0 ] || break
done
claim 'the program does what it does' is "$(cat out)" 'done 16'
for module in 0 1 2; do
	all=$(grep -c " enter program $preempted resumed$" $module)
	read -r inside called < <(resumed $module)
	claim "plan $module: another thread resumed some, in run $tries" [ "$all" -gt 0 ]
	claim "plan $module: most of $all were in the loop, which is told" [ $((2 * inside)) -ge "$all" ]
	claim "plan $module: so is what has called that" is "$called" "$inside"
	# A signal may have come between the witness of a call and the call: nothing tells that.
	claim "plan $module: it goes on there without a gap, but for one" [ "$(lost $module)" -le 1 ]
done

mkdir anywhere && cat >anywhere/program.go <<'GO'
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

var kept [16][]byte

//go:noinline
func earlier(until time.Time) bool {
	return time.Now().Before(until)
}

//go:noinline
func deep(n int) int {
	var room [200]byte
	room[n] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return deep(n-1) + int(room[n])
}

func main() {
	runtime.GOMAXPROCS(4)
	until := time.Now().Add(1500 * time.Millisecond)
	var all sync.WaitGroup
	var lock sync.Mutex
	null, _ := os.OpenFile("/dev/null", os.O_WRONLY, 0)
	for n := range kept {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			for i := 0; earlier(until); i++ {
				lock.Lock()
				kept[n] = make([]byte, 1000+i%5000)
				lock.Unlock()
				null.Write(kept[n])
				if i%50 == 0 {
					deep(n % 10)
					time.Sleep(time.Microsecond)
				}
			}
		}(n)
	}
	all.Wait()
	fmt.Println("done", len(kept))
}
GO
(cd anywhere && GOCACHE=$dir/built GO111MODULE=off go build -o ../anywhere.out program.go 2>err) ||
	skip "the program cannot be built: $(head -n 1 anywhere/err)"
gaps=0 moves=0 runs=0 events=0
for _ in 1 2 3; do
	rm -rf rec
	"$PUGMARK" record -q --ring 64 -o rec -- ./anywhere.out >out 2>err
	claim 'it does what it does' is "$(cat out)" 'done 16'
	"$PUGMARK" verify rec >verified 2>err
	found=$(grep -c '^  gap ' verified)
	gaps=$((gaps + found)) runs=$((runs + (found > 0)))
	events=$((events + $(sed -nE 's/^(complete|[0-9]+ gaps?): ([0-9]+) events.*/\2/p' verified)))
	moves=$((moves + $("$PUGMARK" dump rec 2>err | grep -c ' resumed$')))
done
claim "goroutines come from other threads: $moves frames" [ "$moves" -gt 100 ]
# There were 6 to 16 a run; of 32 runs beside other work none has one (docs/limits.md has what may be left:
# where the plan has no one decision for the place at which another thread goes on, which takes two gaps).
claim "preempted anywhere: of three runs, $events events, two have no gap" [ "$runs" -le 1 ]
claim "and no more than one in 100,000 events: $gaps" [ $((gaps * 100000)) -le "$events" ]
conclude
