#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# goroutine_views.sh: report and export, told by goroutine: of each goroutine they count the calls that
# dump --by goroutine has, and those are as many as the program makes. Goroutines that ran on one thread
# are apart in each format.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs go jq python3
work_in_own_folder
cat >program.go <<'GO'
package main

import "runtime"

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func work(n int, out chan int) {
	s := 0
	for i := 0; i < n; i++ {
		s = leaf(s)
		runtime.Gosched()
	}
	out <- s
}

func main() {
	runtime.GOMAXPROCS(1)
	out := make(chan int)
	for n := 1; n <= 6; n++ {
		go work(10*n, out)
	}
	for n := 1; n <= 6; n++ {
		<-out
	}
}
GO
GOCACHE=$dir/go GO111MODULE=off go build -o program program.go 2>go.err || skip "go: $(tail -n 1 go.err)"
"$PUGMARK" record -q -o rec -F 'main.*' -- ./program >out 2>err
"$PUGMARK" dump --by goroutine --format ndjson rec >events
jq -r 'select(.event == "call" and .function == "main.leaf") | .goroutine' events | sort -n | uniq -c |
	awk '{ print $2, $1 }' >want
claim 'six goroutines call it' is "$(awk '{ print $2 }' want | sort -n | tr '\n' ' ')" '10 20 30 40 50 60 '

all=$("$PUGMARK" report --format json rec | jq '.functions[] | select(.function == "main.leaf").calls')
claim 'report: by goroutine all are what they are by thread' is \
	"$("$PUGMARK" report --by goroutine --format json rec | jq '.functions[] | select(.function == "main.leaf").calls')" "$all"
while read -r goroutine n; do
	claim "report: goroutine $goroutine" is "$("$PUGMARK" report --goroutine "$goroutine" --format json rec |
		jq '.functions[] | select(.function == "main.leaf").calls')" "$n"
done <want
slowest=$("$PUGMARK" report --by goroutine --slowest 3 -F main.work --format json rec | jq -c '[.slowest[].goroutine] | map(type)')
claim 'report: the slowest calls say whose they are' is "$slowest" '["number","number","number"]'
"$PUGMARK" report --by goroutine --html -o page.html rec >out 2>err
claim 'report: the page is by thread, and says so' grep -q 'no --by goroutine' err

"$PUGMARK" export --by goroutine --format chrome -o chrome.json rec
jq -r '[.traceEvents[] | select(.name == "thread_name")] as $names | .traceEvents[] |
	select(.ph == "B" and .name == "main.leaf") | .tid as $t | $names[] | select(.tid == $t).args.name' chrome.json |
	sed -n 's/.* goroutine //p' | sort -n | uniq -c | awk '{ print $2, $1 }' >chrome
claim 'chrome: each goroutine has its calls' cmp chrome want
"$PUGMARK" export --by goroutine --format speedscope -o speedscope.json rec
claim 'speedscope: a profile each' is "$(jq '[.profiles[].name | select(test("goroutine"))] | length' speedscope.json)" \
	"$(jq -r .goroutine events | grep -vc null >/dev/null; jq -r 'select(.goroutine) | .goroutine' events | sort -u | wc -l)"
"$PUGMARK" export --by goroutine --format sqlite -o rec.sqlite rec
python3 - >sqlite <<'P'
import sqlite3
for row in sqlite3.connect("rec.sqlite").execute(
        "SELECT t.goroutine, count(*) FROM calls c JOIN threads t ON c.thread = t.id JOIN functions f"
        " ON c.function = f.id WHERE f.name = 'main.leaf' GROUP BY 1 ORDER BY 1"):
    print(*row)
P
claim 'sqlite: each goroutine has its calls' cmp sqlite want
"$PUGMARK" export --by goroutine --format perfetto -o rec.pftrace rec
"$PUGMARK" export --by goroutine --format ctf -o ctf rec
while read -r goroutine _; do
	claim "perfetto: a track of goroutine $goroutine" grep -qa "goroutine $goroutine" rec.pftrace
	claim "ctf: streams of goroutine $goroutine" eval "cat ctf/stream_* | grep -qa 'g$goroutine'"
done <want
"$PUGMARK" export --by goroutine --format folded --weight calls -o folded rec
claim 'folded: all calls' is "$(awk '/main.leaf [0-9]*$/ { n += $NF } END { print n }' folded)" 210
"$PUGMARK" export --goroutine 4294967296 --format folded -o none rec 2>err
claim 'one that is not there is an error' is $? 1
conclude
