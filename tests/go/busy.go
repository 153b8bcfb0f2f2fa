// SPDX-License-Identifier: LGPL-2.1-or-later

// busy.go: keeps Go's runtime busy, and prints what does not depend on how: goroutines that write
// pointers while the garbage is collected all the time (the write barriers, one function a register),
// that run loops without a call (preempted by signals), that grow and shrink their stacks, that wait
// for each other, panic and recover.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"sync"
)

type node struct {
	a, b, c, d, e, f, g, h *node
	value                  int
}

// Eight pointers at once: each is in another register when it is written.
//
//go:noinline
func spread(n, a, b, c, d, e, f, g, h *node) {
	n.a, n.b, n.c, n.d, n.e, n.f, n.g, n.h = a, b, c, d, e, f, g, h
}

//go:noinline
func tree(depth int) *node {
	n := &node{value: depth}
	if depth > 0 {
		l, r := tree(depth-1), tree(depth-1)
		spread(n, l, r, l, r, n, l, r, n)
	}
	return n
}

func (n *node) sum() int {
	if n.a == nil {
		return n.value
	}
	n.a, n.b = n.b, n.a
	return n.value + n.a.sum() + n.b.sum()
}

//go:noinline
func spin(rounds int) uint64 {
	x := uint64(88172645463325252)
	for i := 0; i < rounds; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func deep(n int) int {
	var room [64]int
	room[n%64] = n
	if n == 0 {
		return 0
	}
	return deep(n-1) + room[n%64] - n + 1
}

func rescued(n int) (out int) {
	defer func() {
		if r := recover(); r != nil {
			out = r.(int)
		}
	}()
	panic(n)
}

func fault(p *node) (out int) {
	defer func() {
		if recover() != nil {
			out = 1
		}
	}()
	return p.value
}

func work(id int) string {
	words := map[string]int{}
	for i := 0; i < 200; i++ {
		words[strconv.Itoa(i*id%97)]++
	}
	keys := make([]string, 0, len(words))
	for k := range words {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return fmt.Sprint(id, tree(6).sum(), spin(300000), deep(300+id), rescued(id), fault(nil), len(keys))
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	debug.SetGCPercent(1)
	runtime.GOMAXPROCS(4)
	for round := 0; round < rounds; round++ {
		results := make([]string, 8)
		ch := make(chan int)
		var wg sync.WaitGroup
		for i := range results {
			wg.Add(1)
			go func(i int) {
				defer wg.Done()
				results[i] = work(i)
				ch <- i
			}(i)
		}
		total := 0
		for range results {
			total += <-ch
		}
		wg.Wait()
		fmt.Println(round, total, results)
	}
}
