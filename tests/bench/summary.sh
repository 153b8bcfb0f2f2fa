#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# summary.sh: the numbers of a run of the benchmarks beside what was asked for. `summary.sh FILE`,
# FILE with one JSON object a line. What falls short is printed as short, and makes the exit status 1.
set -u
jq -rs '
def all($metric; $mode): [.[] | select(.metric == $metric and .mode == $mode)];
def value($w; $metric; $mode): [.[] | select(.workload == $w and .metric == $metric and .mode == $mode)] | last | .value;
def geomean: map(log) | add / length | exp;
def show: . * 10000 | round / 10000 | tostring;
def verdict($what; $value; $bound; $ok):
	if $value == null then "not measured  \($what) (asked: \($bound))"
	else (if $ok then "ok     " else "SHORT  " end) + "\($what): \($value | show) (asked: \($bound))" end;
def under($what; $value; $bound): verdict($what; $value; "under \($bound)"; $value != null and $value < $bound);
def over($what; $value; $bound): verdict($what; $value; "over \($bound)"; $value != null and $value > $bound);
def ratios($metric; $a; $b): . as $in | [all($metric; $a)[].workload] | unique | map(. as $w |
	{w: $w, r: (($in | value($w; $metric; $a)) as $x | ($in | value($w; $metric; $b)) as $y |
		if $x != null and $y != null and $y > 0 then ($x / $y) else null end)}) | map(select(.r));
. as $in |
(all("witness_share"; "best") | map(.value)) as $shares |
if ($shares | length) > 0 then
	under("witness events, % of calls and returns, geometric mean"; $shares | geomean; 25) else empty end,
($in | ratios("witness_share"; "best"; "casper")[] | under("  beside casper, \(.w)"; .r; 0.6667)),
(all("witness_share"; "profile") | map(.value) | if length > 0 then
	under("planned by one earlier recording (--profile), geometric mean"; geomean; 25) else empty end),
($in | ratios("witness_share"; "profile"; "casper")[] | under("  beside casper, \(.w)"; .r; 0.6667)),
(($in | ratios("added_cpu_seconds"; "best"; "full")) + ($in | ratios("added_cpu_per_request"; "best"; "full")) |
	if length > 0 then (map(.r) | under("time added, of that of full, geometric mean"; geomean; 0.06)),
		(.[] | "          \(.w): \(.r | show)") else empty end),
(["command_added_wall_seconds", "waited for, whole command"], ["added_cpu_seconds", "time added to the program"] |
	. as [$metric, $what] |
	($in | ratios($metric; "best"; "bpftrace") | if length > 0 then
		(map(.r) | under("\($what), of that of bpftrace, geometric mean"; geomean; 0.025)),
			(.[] | "          \(.w): \(.r | show)") else empty end),
	($in | ratios($metric; "best"; "bpftrace-called")[] |
		under("\($what), of that of bpftrace on what is called alone, \(.w)"; .r; 0.025)),
	($in | ratios($metric; "best"; "uftrace")[] | under("\($what), of that of uftrace, \(.w)"; .r; 1))),
(all("probes_not_placed"; "bpftrace")[] |
	"not run  bpftrace on all functions of \(.workload): BPFTRACE_PROBES=\(.value) has it run"),
(["call", "call_no_times", "jcc_flags", "push_return_address"][] as $kind |
	$in | all("cost_over_empty"; $kind)[] | under("one hit, of a hit of an empty program, \($kind)"; .value; 1.15)),
(all("bytes_per_call"; "best")[] | under("bytes on disk a call, \(.workload)"; .value; 0.5)),
(all("bytes_per_call"; "plain")[] | under("bytes on disk a call, --no-times, \(.workload)"; .value; 0.1)),
(all("recovery_speed"; "best")[] | over("recovery, M events a second of one core, \(.workload)"; .value; 20)),
([all("collector_peak_memory"; "best")[].value] | if length > 0 then under("collector memory, MB"; max; 64) else empty end),
(all("event_rate"; "none")[] | over("M events a second, two threads"; .value; 0.999999)),
($in | all("recovery_start"; "best")[] | "          \(.workload): \(.value * 1000 | show) ms of it to start, then " +
	((.workload) as $w | $in | value($w; "recovery_speed_once_started"; "best") | show) + " M events a second"),
([.[] | select(.metric == "lost_events") | .value // 0] | if length > 0 then under("events lost"; add; 1) else empty end)
' "$1" | tee "$1.summary"
grep -q '^SHORT' "$1.summary"
short=$?
rm -f "$1.summary"
[ $short != 0 ]
