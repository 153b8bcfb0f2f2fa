#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bench_programs.sh: what it costs to record programs that end by themselves, and what comes of it.
#
#   bench_programs.sh [NAME...]    gzip-c gzip-d lua sqlite3 git-log; without one: all
#
# ROUNDS=5 rounds; in each the program runs alone, recorded in modes best, casper and full, and, built
# with -pg from the distribution's source, under uftrace. Medians; casper and full are recorded in
# three rounds at most where that takes over 5 s. Once the program runs under bpftrace that counts a
# uprobe on every function entry. To end, bpftrace takes a tenth of a second a probe: with more than
# BPFTRACE_PROBES=3000 it has those functions alone that the run calls, and says so (NO_BPFTRACE=1
# leaves it out). What a way adds is measured twice: as processor time of the program itself, and as
# wall time of the whole command that a user waits for. For the shares of witness events, one run is
# recorded by the plans of all modes at once.
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 1
pieces='gzip-c gzip-d lua sqlite3 git-log'
. tests/bench/lib.sh
. tests/bench/five_loads.sh
. tests/bench/with_pg.sh
needs_recording
modes='full branch casper best'
timed_modes='best casper full'

# Sets pg as well: the -pg build, or none and why.
set_up() { # NAME
	pg='' pg_why='built from no source here'
	set_up_load "$1" || return
	case $1 in
	lua) lua_with_pg "$tmp/lua-pg" && pg=$tmp/lua-pg || pg_why='no source package' ;;
	sqlite3) sqlite_with_pg "$tmp/sqlite-pg" && pg=$tmp/sqlite-pg || pg_why='no source package or tclsh' ;;
	esac
}
by_plan() { # MODE: sets by
	by=(--plan "$tmp/plan.$1")
	[ "$traced" = "$program" ] || by=(--mode "$1")
}

# --- one round of each way to run; each appends "wall cpu rss" to $tmp/t.WAY -------------------------
run_alone() { "$measure" 1 "$program" "${args[@]}" >>"$tmp/t.alone"; }
run_recorded() { # MODE [WAY OPTIONS...]
	local way=${2:-$1} by
	by_plan "$1"
	# shellcheck disable=SC2016 # the inner shell's
	"$measure" 1 bash -c '"$0" "$@" >'"$tmp/inner" "$PUGMARK" record -q -o "$tmp/rec.$way" "${@:3}" \
		"${what[@]}" "${by[@]}" -- "$measure" 1 "$program" "${args[@]}" \
		>"$tmp/outer" || return
	cat "$tmp/inner" >>"$tmp/t.$way"
}
run_bpftrace() { # WAY
	# shellcheck disable=SC2016 # the inner shell's
	BPFTRACE_MAX_PROBES=100000 "$measure" 1 bash -c '"$0" "$@" >'"$tmp/bpftrace.out 2>$tmp/bpftrace.err" \
		bpftrace --unsafe "$tmp/entries.bt" -c "$measure 1 $program ${args[*]}" \
		>>"$tmp/t.$1-outer" || return
	grep -E '^[0-9.]+ [0-9.]+ [0-9]+$' "$tmp/bpftrace.out" >>"$tmp/t.$1"
	awk '/^@hits/ { print $2 }' "$tmp/bpftrace.out" >>"$tmp/t.$1-hits"
}
# Needs a recording, rec.best. Sets probed.
against_bpftrace() { # NAME
	local way=bpftrace max=${BPFTRACE_PROBES:-3000}
	[ -z "${NO_BPFTRACE:-}" ] && command -v bpftrace >/dev/null || return 0
	probed=$(bpftrace_program "$traced" "$tmp/entries.bt") || return
	if [ "$probed" -gt "$max" ]; then
		way=bpftrace-called
		record "$1" bpftrace probes_not_placed "$probed" probes
		printf '%s bpftrace not run on all %s entries (BPFTRACE_PROBES=%s has it so), which takes it %s s to end; but ' \
			"$1" "$probed" "$probed" $((probed / 10))
		called_in "$tmp/rec.best" "$traced" >"$tmp/entries.called"
		probed=$(bpftrace_program "$traced" "$tmp/entries.bt" "$tmp/entries.called") || return
		printf 'on the %s that the run calls\n' "$probed"
	fi
	run_bpftrace $way || echo "$1 bpftrace FAILED: $(head -c 300 "$tmp/bpftrace.err")"
}
run_pg() { (cd "$tmp" && "$measure" 1 "$pg" "${args[@]}" >>"$tmp/t.pg"); }
run_uftrace() {
	rm -rf "$tmp/uftrace.data"
	# shellcheck disable=SC2016 # the inner shell's
	"$measure" 1 bash -c '"$0" "$@" >'"$tmp/inner" uftrace record --force -d "$tmp/uftrace.data" \
		"$measure" 1 "$pg" "${args[@]}" >>"$tmp/t.uftrace-outer" 2>"$tmp/uftrace.err" || return
	cat "$tmp/inner" >>"$tmp/t.uftrace"
}

counts_of() { "$PUGMARK" dump --module "$1" --count "$2"; } # events E witnesses W gaps G

shares() { # NAME
	local i=0 e w g line
	local twins=()
	for mode in branch casper best; do twins+=(--twin "$mode"); done
	"$PUGMARK" record -q -o "$tmp/rec.all" "${what[@]}" --mode full "${twins[@]}" -- \
		"$program" "${args[@]}" >/dev/null || return
	line="$1"
	for mode in $modes; do
		read -r _ e _ w _ g < <(counts_of $i "$tmp/rec.all")
		share[$mode]=$(calc "100 * $w / $e" 4)
		record "$1" "$mode" events "$e" events
		record "$1" "$mode" witness_share "${share[$mode]}" %
		record "$1" "$mode" gaps "$g" gaps
		line="$line $mode ${share[$mode]} %$([ "$g" = 0 ] || echo " ($g GAPS)"),"
		i=$((i + 1))
	done
	calls=$(calc "$e / 2" 10)
	printf '%s\n' "${line%,} of $e call and return events"
	# What the counts of earlier runs make of it: of one, of that and one planned by it, and of one
	# that was recorded with every block.
	profiled "$1" profile "$tmp/rec.best" &&
		profiled "$1" profile-of-two "$tmp/rec.best" "$tmp/rec.profile" || return
	[ "$traced" = "$program" ] || return 0
	"$PUGMARK" record -q -o "$tmp/rec.paths" --binary "$program" --level paths -- "$program" \
		"${args[@]}" >/dev/null && profiled "$1" profile-of-paths "$tmp/rec.paths"
}
profiled() { # NAME MODE RECORDING...: recorded by their counts
	local e w g by=() recording
	for recording in "${@:3}"; do by+=(--profile "$recording"); done
	"$PUGMARK" record -q -o "$tmp/rec.$2" "${what[@]}" "${by[@]}" -- "$program" "${args[@]}" \
		>/dev/null || return
	read -r _ e _ w _ g < <(counts_of 0 "$tmp/rec.$2")
	record "$1" "$2" witness_share "$(calc "100 * $w / $e" 4)" %
	printf '%s best, %s: %s %% of %s, %s gaps\n' "$1" "$2" "$(calc "100 * $w / $e" 4)" "$e" "$g"
}

added() { # WAY [BASE]: medians of processor seconds beyond the program's own
	calc "$(median "$tmp/t.$1" 2) - $(median "$tmp/t.${2:-alone}" 2)" 5
}

rounds_of() { # MODE
	[ "$1" != best ] && [ -s "$tmp/t.$1-outer" ] && [ "$rounds" -gt 3 ] &&
		awk '{ exit !($1 > 5) }' "$tmp/t.$1-outer" && echo 3 || echo "$rounds"
}

times() { # NAME
	local i mode way probed waited by
	rm -f "$tmp"/t.*
	for mode in $timed_modes; do
		by_plan "$mode"
		if [ "${by[0]}" = --plan ]; then
			"$PUGMARK" plan --mode "$mode" -o "$tmp/plan.$mode" "$program" >/dev/null || return
		else
			run_recorded "$mode" warm-up || return # its plan is in the cache then
		fi
	done
	for i in $(seq "$rounds"); do
		run_alone || return
		for mode in $timed_modes; do
			[ "$i" -le "$(rounds_of "$mode")" ] || continue
			run_recorded "$mode" || return
			cat "$tmp/outer" >>"$tmp/t.$mode-outer"
		done
		run_recorded best plain --no-times || return
		if [ -n "$pg" ] && command -v uftrace >/dev/null; then
			run_pg && run_uftrace || echo "$1 uftrace FAILED: $(head -c 300 "$tmp/uftrace.err")"
		fi
	done
	for mode in casper full; do
		[ "$(rounds_of $mode)" = "$rounds" ] || echo "$1 $mode: in $(rounds_of $mode) of $rounds rounds, being dear"
	done
	against_bpftrace "$1" || return
	record "$1" none cpu_seconds "$(median "$tmp/t.alone" 2)" s
	printf '%s added to %s s: ' "$1" "$(median "$tmp/t.alone" 2)"
	for way in $timed_modes plain bpftrace bpftrace-called; do
		[ -s "$tmp/t.$way" ] || continue
		record "$1" "$way" added_cpu_seconds "$(added "$way")" s
		record "$1" "$way" wall_seconds "$(median "$tmp/t.$way" 1)" s
		printf '%s %s s, ' "$way" "$(added "$way")"
	done
	ls "$tmp"/t.bpftrace* >/dev/null 2>&1 && printf '(on %s entries) ' "$probed" || printf 'bpftrace not run, '
	if [ -s "$tmp/t.uftrace" ]; then
		record "$1" uftrace added_cpu_seconds "$(added uftrace)" s
		record "$1" uftrace added_to_pg_cpu_seconds "$(added uftrace pg)" s
		record "$1" uftrace disk_bytes "$(du -sb "$tmp/uftrace.data" | cut -f 1)" bytes
		printf 'uftrace %s s (%s s of it by tracing)\n' "$(added uftrace)" "$(added uftrace pg)"
	else
		printf 'uftrace not run: %s\n' "$pg_why"
	fi
	printf '%s added to the wall time of the whole command, %s s: ' "$1" "$(median "$tmp/t.alone")"
	for way in best casper full bpftrace bpftrace-called uftrace; do
		[ -s "$tmp/t.$way-outer" ] || continue
		waited=$(calc "$(median "$tmp/t.$way-outer") - $(median "$tmp/t.alone")" 5)
		record "$1" "$way" command_added_wall_seconds "$waited" s
		printf '%s %s s, ' "$way" "$waited"
	done
	for way in bpftrace bpftrace-called; do
		[ -s "$tmp/t.$way-hits" ] || continue
		record "$1" $way hits "$(median "$tmp/t.$way-hits")" hits
		printf '%s hits of %s' "$(median "$tmp/t.$way-hits")" $way
	done
	printf '\n'
}

sizes() { # NAME
	local way bytes lost e cpu start
	for way in best plain; do
		bytes=$(stat -c %s "$tmp/rec.$way/events")
		lost=$(field "$tmp/rec.$way/meta.json" lost)
		record "$1" "$way" bytes_per_call "$(calc "$bytes / $calls")" bytes
		record "$1" "$way" lost_events "${lost:-null}" events
		printf '%s %s: %s bytes on disk a call, %s lost\n' "$1" $way "$(calc "$bytes / $calls")" "$lost"
	done
	read -r _ e _ < <(counts_of 0 "$tmp/rec.plain")
	read -r _ cpu _ < <("$measure" "$rounds" "$PUGMARK" verify "$tmp/rec.plain")
	record "$1" best recovery_speed "$(calc "$e / $cpu / 1e6")" Mevents/s
	# What it takes to open the plan and build the tables: the same with next to no events.
	rm -rf "$tmp/rec.start"
	cp -r "$tmp/rec.plain" "$tmp/rec.start"
	truncate -s 1500 "$tmp/rec.start/events"
	read -r _ start _ < <(ANY_STATUS=1 "$measure" "$rounds" "$PUGMARK" verify "$tmp/rec.start")
	record "$1" best recovery_start "$start" s
	record "$1" best recovery_speed_once_started "$(calc "$e / ($cpu - $start) / 1e6")" Mevents/s
	record "$1" best collector_peak_memory "$(calc "$(median "$tmp/t.best-outer" 3) / 1024")" MB
	printf '%s recovered at %s M events a second of one core, of which %s s to start: %s once started; collector %s MB\n' "$1" \
		"$(calc "$e / $cpu / 1e6")" "$start" "$(calc "$e / ($cpu - $start) / 1e6")" \
		"$(calc "$(median "$tmp/t.best-outer" 3) / 1024")"
}

failed=0
declare -A share
# shellcheck disable=SC2086 # they are words
[ $# -gt 0 ] || set -- $pieces
for name in "$@"; do
	if ! set_up "$name"; then
		printf '%s: cannot be set up here %s\n' "$name" "$(head -n 3 "$tmp/gcc.log" 2>/dev/null)"
		continue
	fi
	calls=1
	{ times "$name" && shares "$name" && sizes "$name"; } || {
		failed=1
		printf '%s: FAILED\n' "$name"
	}
done
exit $failed
