#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# goroutines.sh: goroutines end, by thousands: their first function returns to a place in runtime.goexit
# that no call led from. Some end by runtime.Goexit, some have a panic that is recovered. The plans of modes
# casper and best tell what that of mode full tells, without a gap, and how often the program's functions
# are called is what the program has counted itself. Nor is there one where they wait for processors.
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
	"sync/atomic"
)

var leaves, fails, shorts, exits int64

//go:noinline
func leaf(i int) int {
	atomic.AddInt64(&leaves, 1)
	return i ^ 1
}

//go:noinline
func fail(deep int) {
	atomic.AddInt64(&fails, 1)
	if deep == 0 {
		panic("asked for")
	}
	fail(deep - 1)
}

//go:noinline
func short(i int, done *sync.WaitGroup) {
	atomic.AddInt64(&shorts, 1)
	defer done.Done()
	leaf(i)
	if i%4 == 1 {
		defer func() { recover() }()
		fail(i % 3)
	}
}

//go:noinline
func exit(i int, done *sync.WaitGroup) {
	atomic.AddInt64(&exits, 1)
	defer done.Done()
	defer leaf(i)
	runtime.Goexit()
}

func main() {
	var done sync.WaitGroup
	for round := 0; round < 20; round++ {
		for i := 0; i < 100; i++ {
			done.Add(2)
			go short(i, &done)
			go exit(i, &done)
		}
		done.Wait()
	}
	fmt.Println("main.leaf", leaves)
	fmt.Println("main.fail", fails)
	fmt.Println("main.short", shorts)
	fmt.Println("main.exit", exits)
}
GO
GOCACHE=$dir/built GO111MODULE=off go build -o program program.go 2>err || skip "the program cannot be built: $(head -n 1 err)"
"$PUGMARK" cfg --list program >functions
address() { awk -v name="$1" '$NF == name || $(NF - 1) == name { print $1 }' functions; }
calls() { # NAME: of the program, as the plan of mode full tells them
	awk -v callee="$(address "$1")" '$2 == "call" || $2 == "tail" { sub(/.*:/, "", $5); n += $5 == callee }
		$2 == "enter" && $5 != "resumed" { n += $4 == callee } END { print n + 0 }' 0
}

export GODEBUG=asyncpreemptoff=1
./program >plain
record_in_three_modes --ring 64 -- ./program
claim 'the program does what it does' same plain out
tell_the_same goroutines
claim 'each goroutine is told' [ "$(grep -c ' context$' 0)" -ge 6000 ]
while read -r name times; do
	claim "calls of $name" is "$(calls "$name")" "$times"
done <plain
bottom=$(address runtime.goexit.abi0)
returned=$(awk '$1 == "main.short" { print $2 }' plain) # those of main.exit never do
claim 'those that return do so to runtime.goexit' \
	[ "$(grep -c " enter program $bottom context\$" 0)" -ge "$returned" ]

# What runtime.goexit calls may be a function that is called from outside as well: its address is taken here.
mkdir taken
cat >taken/taken_amd64.s <<'S'
#include "textflag.h"
DATA ·taken(SB)/8, $runtime·goexit1(SB)
GLOBL ·taken(SB), NOPTR|RODATA, $8
S
cat >taken/main.go <<'GO'
package main

var taken uintptr

func main() {
	done := make(chan uintptr)
	for i := 0; i < 50; i++ {
		go func() { done <- taken }()
		<-done
	}
}
GO
(cd taken && GOCACHE=$dir/built GO111MODULE=off go build -o ../takes .) 2>err
claim 'a program that takes the address is built' [ -x takes ]
rm -rf rec
claim 'mode full of it: recorded' eval '"$PUGMARK" record -q --mode full --ring 64 -o rec -- ./takes >out 2>err'
claim 'mode full of it: complete' "$PUGMARK" verify rec

# Where they have to wait for processors, they are preempted in the midst of what they do, and their stacks
# move meanwhile.
for _ in 1 2; do
	(while [ $SECONDS -lt 120 ]; do :; done) &
	started+=($!)
done
for i in 1 2 3; do
	rm -rf rec
	"$PUGMARK" record -q --ring 64 -o rec -- ./program >out 2>err
	"$PUGMARK" verify rec >verified 2>err
	claim "beside other work $i: there is no gap" is "$(grep -c ' gap ' verified)" 0
done
conclude
