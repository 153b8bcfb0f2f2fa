#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cgo_linked_in.sh: C that Go's own linker has linked in, as it does where only Go's library has C in it. No
# call frame information tells of it; Go's table has its functions, but no heights, and what it calls of the C
# library are slots whose symbols are said to be data. Its functions end where the table says, its calls are
# of the C library's functions, and there is no gap in any mode.
set -u
export GODEBUG=asyncpreemptoff=1 # what preemption does is tried by preempted.sh
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go gcc
work_in_own_folder
cat >program.go <<'GO'
package main

import (
	"fmt"
	"os"
	"os/signal"
	"os/user"
	"sync"
	"syscall"
)

//go:noinline
func work(n int) int { return len(make([]int, n*100)) }

func main() {
	u, err := user.LookupId("0")
	if err != nil || u.Username != "root" {
		os.Exit(3)
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	<-c
	signal.Stop(c)
	var g sync.WaitGroup
	sum := make([]int, 4)
	for i := range sum {
		g.Add(1)
		go func(i int) {
			defer g.Done()
			for k := 0; k < 100; k++ {
				sum[i] += work(k % 7)
			}
		}(i)
	}
	g.Wait()
	fmt.Println(sum[0] == sum[3])
}
GO
export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GO111MODULE=off CGO_ENABLED=1
go build -ldflags '-linkmode=internal -s' -o program program.go >said 2>&1 || skip "go cannot link it: $(tail -n 1 said)"

claim 'no call of a C function is of code that is not known' eval '! "$PUGMARK" cfg --function x_cgo_sigaction program | grep -F noreturn'
claim 'it calls the C library by name' eval '"$PUGMARK" cfg --function x_cgo_sigaction program | grep -qF "sigaction (import)"'
for mode in best casper full; do
	claim "$mode: it runs as without a recorder" is "$("$PUGMARK" record -q --mode $mode -o rec.$mode -- ./program 2>err)" true
	claim "$mode: no gap" "$PUGMARK" verify rec.$mode
done
conclude
