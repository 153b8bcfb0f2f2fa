#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# preempted_returns.sh: functions of Go that are called by a pointer and mostly return before anything shows are
# preempted in their midst, and go on on another thread. Nothing tells where in them, but the next event is of
# what has called them: they have returned, and there is hardly a gap in that function (one where a second event of the preempted one comes).
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go
export GOMAXPROCS=6 # threads that take goroutines from each other
work_in_own_folder
cat >program.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

func main() {
	text := []byte(`{"a":"` + strings.Repeat("text ", 40) + `"}`)
	end := time.Now().Add(3 * time.Second)
	var all sync.WaitGroup
	ok := make([]bool, 8)
	for i := range ok {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			ok[i] = true
			for time.Now().Before(end) {
				ok[i] = ok[i] && json.Valid(text)
			}
		}(i)
	}
	all.Wait()
	fmt.Println(ok)
}
GO
GOCACHE=$dir/built GO111MODULE=off go build -o program program.go 2>err || skip "the program cannot be built: $(head -n 1 err)"
claim 'the program does what it does' is "$("$PUGMARK" record -q -o rec -- ./program 2>err)" '[true true true true true true true true]'
"$PUGMARK" verify rec >certificate
"$PUGMARK" dump rec >told
claim 'functions were preempted' [ "$(grep -c ' resumed$' told)" -gt 20 ]
claim 'hardly a gap in what calls them' [ "$(grep -c '^ *gap .*checkValid' certificate)" -lt 6 ]

# The function calls one by a pointer for each byte of the text, 208, and each time is told.
"$PUGMARK" cfg --function encoding/json.checkValid program >model
entry=$(awk '$1 == "part" { sub(/\.\..*/, "", $2); print $2; exit }' model)
site=$(awk '$2 == "call" && /indirect/ { print $1; exit }' model)
"$PUGMARK" dump --by goroutine rec | awk -v entry="program:$entry" -v site="$site" '
	$2 == "gap" { delete in_it[$1] }
	$2 == "call" && $5 == entry {
		if ($1 in in_it)
			count[n[$1]]++
		in_it[$1] = 1
		n[$1] = 0
	}
	$2 == "call" && $4 == site { n[$1]++ }
	END { for (i in count) print i }' >counts
claim 'each call of it is told whole' is "$(cat counts)" 208
conclude
