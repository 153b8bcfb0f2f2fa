#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# cgo.sh: C that calls back into Go, by way of the C library and from there again: the trace has each of
# these calls inside of the one that it came out of, on whichever stack that lies, and also where the
# goroutine's stack has grown, and so moved, in between. There is no gap in any mode.
set -u
export GODEBUG=asyncpreemptoff=1 # what preemption does is tried by preempted.sh
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go gcc
work_in_own_folder
cat >program.go <<'GO'
package main

/*
#include <stdlib.h>
extern int goCompare(void *, void *);
extern int goDeep(int);
static int compare_in_c(const void *a, const void *b) { return goCompare((void *)a, (void *)b); }
static void sort_in_c(int *v, int n) { qsort(v, n, sizeof(int), compare_in_c); }
static int again_in_c(int n) { return goDeep(n) + 1; }
*/
import "C"
import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

var compared, deep, grown int64

//export goCompare
func goCompare(a, b unsafe.Pointer) C.int {
	return compare(*(*C.int)(a), *(*C.int)(b))
}

//go:noinline
func compare(x, y C.int) C.int {
	atomic.AddInt64(&compared, 1)
	if x < y {
		return -1
	}
	return 1
}

//go:noinline
func grow(n int) int {
	var room [300]byte
	room[n] = byte(n)
	atomic.AddInt64(&grown, 1)
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n])
}

//export goDeep
func goDeep(n C.int) C.int {
	atomic.AddInt64(&deep, 1)
	sum := grow(int(n) * 8)
	if n > 0 {
		sum += int(C.again_in_c(n - 1))
	}
	return C.int(sum)
}

//go:noinline
func work(n int) int {
	v := make([]C.int, 12)
	for i := range v {
		v[i] = C.int((i*7919 + n*31) % 101)
	}
	C.sort_in_c((*C.int)(unsafe.Pointer(&v[0])), C.int(len(v)))
	return int(v[0]) + int(C.again_in_c(C.int(n%4)))
}

func main() {
	var all sync.WaitGroup
	var sum [4]int
	for g := range sum {
		all.Add(1)
		go func(g int) {
			for i := 0; i < 10; i++ {
				sum[g] += work(g*10 + i)
			}
			all.Done()
		}(g)
	}
	all.Wait()
	fmt.Println(compared, deep, grown, sum)
}
GO
GOCACHE=$dir/built GO111MODULE=off go build -o program program.go 2>err || skip "the program cannot be built: $(head -n 1 err)"
read -r compared deep grown sums < <(./program)
"$PUGMARK" cfg --list program | awk '{ for (i = 5; i <= NF && $i ~ /^\[/; i++); print $1, $i }' >names

# Which calls each of the program's functions is inside of, from the goroutine on, and how often.
inside() { # DUMP
	awk 'FILENAME == ARGV[1] { if ($2 ~ /^(main\.(work|compare|grow|goDeep)|goCompare|goDeep)$/) name[$1] = $2; next }
		function begun(what,   i, path) {
			sub(/.*:/, "", what)
			open[++n] = what
			if (!(what in name))
				return
			for (i = 1; i <= n; i++)
				path = path (open[i] in name ? "/" name[open[i]] : "")
			count[path]++
		}
		$2 == "tail" { n-- }
		$2 ~ /^(call|tail)$/ && $5 != "-" { begun($5) }
		$2 == "enter" { begun($4) }
		$2 ~ /^(ret|unwind)$/ && n { n-- }
		{ if ($1 != line) n = 0; line = $1 }
		END { for (path in count) print path, count[path] }' names "$1" | sort
}

record_in_three_modes -- ./program
claim 'the program does what it does' is "$(cat out)" "$compared $deep $grown $sums"
for module in 0 1 2; do
	"$PUGMARK" dump --module $module --by goroutine rec >dump 2>err
	claim "plan $module: there is no gap" is "$(grep -c ' gap ' dump)" 0
	inside dump >$module
	claim "plan $module: each comparison is inside of the sort that makes it" is \
		"$(grep '/main.compare ' $module)" "/main.work/goCompare/main.compare $compared"
	claim "plan $module: so is each deeper call" is \
		"$(awk '$1 ~ /main.goDeep$/ { n += $2; ok += $1 ~ /^\/main.work(\/goDeep\/main.goDeep)+$/ ? $2 : 0 }
			END { print n, ok }' $module)" "$deep $deep"
	claim "plan $module: and what makes the stack grow there" is \
		"$(awk '$1 ~ /main.grow$/ { n += $2 } END { print n }' $module)" "$grown"
done
claim 'all plans tell the same' eval 'cmp -s 0 1 && cmp -s 0 2'
conclude
