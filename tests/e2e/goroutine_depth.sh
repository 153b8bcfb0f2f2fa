#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# goroutine_depth.sh: goroutines that wait below 15 kB of frames, and are gone on in by other threads: the
# stack of one is sent up to its end, so that the frames that return on the other thread are known: as many
# calls as the program makes, in any mode, and no gap, but in mode full at the end of a goroutine.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go nm
work_in_own_folder
cat >program.go <<'GO'
package main

import (
	"sync"
	"time"
)

//go:noinline
func step(n int) int { return n + 1 }

//go:noinline
func deep(n int) int {
	var room [300]byte
	room[n] = byte(n)
	if n == 0 {
		time.Sleep(200 * time.Microsecond)
		return 0
	}
	return deep(n-1) + step(int(room[n]))
}

//go:noinline
func works(done *sync.WaitGroup) {
	for i := 0; i < 20; i++ {
		deep(40)
	}
	done.Done()
}

func main() {
	var done sync.WaitGroup
	for i := 0; i < 12; i++ {
		done.Add(1)
		go works(&done)
	}
	done.Wait()
}
GO
export GOCACHE=$dir/go GOFLAGS=-mod=mod GO111MODULE=off GOMAXPROCS=6
go build -o program program.go 2>go.err || skip "go: $(head -n 1 go.err)"
step=$(nm program | sed -nE 's/^0*([0-9a-f]+) T main\.step$/\1/p')
for mode in full casper best; do
	claim "$mode: recorded" "$PUGMARK" record -q --mode $mode -o rec -- ./program
	claim "$mode: no gap before the end of a goroutine" \
		eval '! "$PUGMARK" verify rec | grep " gap " | { [ $mode = full ] && grep -v "runtime.goexit1" || cat; } | grep .'
	claim "$mode: each call of the program" \
		is "$("$PUGMARK" dump rec | grep -c " call program [0-9a-f]* program:$step$")" $((12 * 20 * 40))
done
conclude
