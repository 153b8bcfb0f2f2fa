#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh [--quick] [--seconds N] [NAME...]: Go programs with probes on them do what they do without.
# Each is a copy of Debian's binary (programs.sh), which is taken from its package without installing
# that. A command is recorded again and again for N seconds, and prints each time what it prints
# unrecorded, with the same status. A server stays the same process, is attached to for some seconds again and
# again under load, answers the same as before, and ends well. None dies of a signal.
# --quick: what is installed, of the first of them, once each on less work; with LONG=1 4 seconds each on all.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
seconds=600 quick= less=0
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1 seconds=4; [ "${LONG:-}" ] || seconds=1 less=1; shift ;;
	--seconds) seconds=$2; shift 2 ;;
	*) break ;;
	esac
done
needs go jq curl ab
. "$tests/go/programs.sh"
work_in_own_folder

fetch() { # PACKAGE FILE TO: the file as it is installed, or else out of the package
	deb=
	if [ -x "/$2" ]; then cp "/$2" "$3" && return; fi
	[ -z "$quick" ] || return 1
	mkdir -p "$dir/debs" && (cd "$dir/debs" && apt-get download -qq "$1" >/dev/null 2>&1)
	deb=$(find "$dir/debs" -name "$1_*.deb" | head -n 1)
	[ -n "$deb" ] && dpkg-deb --fsys-tarfile "$deb" | tar xO "./$2" >"$3" && chmod +x "$3"
}
sum_up() { # of the recording rec, added to events, gaps, deaths
	local json
	json=$("$PUGMARK" verify --format json "$1" 2>/dev/null | jq -r '"\(.events) \(.gaps | length) \(.deaths | length)"')
	read -r e g d <<<"${json:-0 0 0}"
	events=$((events + e)) gaps=$((gaps + g)) deaths=$((deaths + d)) runs=$((runs + 1))
	rm -rf "$1" "$1.old"
}

command_for() { # NAME: until the time is over
	local end status
	by=
	"$1_run" >plain 2>plain.err </dev/null || { echo "plain run fails: $(head -n 1 plain.err)"; return 1; }
	[ -s plain ] || { echo 'plain run prints nothing'; return 1; }
	by="$PUGMARK record -q -o rec --"
	end=$((SECONDS + seconds))
	while :; do
		"$1_run" >out 2>err </dev/null
		status=$?
		[ $status = 0 ] || { echo "status $status: $(tail -n 3 err)"; return 1; }
		cmp -s plain out || { echo 'another output'; diff plain out | head -n 5; return 1; }
		sum_up rec
		[ $SECONDS -lt $end ] || break
	done
}

server_for() { # NAME
	local end pid recorder status
	by=
	"$1_serve"
	pid=$!
	started+=("$pid")
	for _ in {1..100}; do "$1_load" >plain 2>/dev/null && [ -s plain ] && break; sleep 0.1; done
	"$1_load" >plain 2>plain.err
	[ -s plain ] || { echo "no answer: $(tail -n 2 server.log)"; return 1; }
	"$PUGMARK" plan "./$1" >/dev/null 2>&1 # before anything is recorded, so that all of it is under load
	end=$((SECONDS + seconds))
	while :; do
		"$PUGMARK" record -q -o rec -p $pid --duration $((seconds < 6 ? seconds : 6)) >out 2>err </dev/null &
		recorder=$!
		while kill -0 $recorder 2>/dev/null; do
			"$1_load" >answer 2>/dev/null
			cmp -s plain answer || { wait $recorder; cat err; echo 'another answer'; diff plain answer | head -n 5; return 1; }
		done
		wait $recorder || [ $? = 3 ] || { cat err; return 1; }
		sum_up rec
		[ $SECONDS -lt $end ] || break
	done
	kill -0 $pid || return 1
	"$1_load" >answer 2>/dev/null
	cmp -s plain answer || { echo 'another answer afterwards'; return 1; }
	kill -TERM $pid
	wait $pid
	status=$?
	[ $status -lt 129 ] || [ $status = 143 ] || { echo "ended with status $status"; return 1; }
}

unharmed() { # NAME PACKAGE FILE
	local events=0 gaps=0 deaths=0 runs=0 e g d status
	mkdir -p "$dir/$1" && cd "$dir/$1" || return 1
	if [ "$2" != - ]; then
		fetch "$2" "$3" "$1" || { echo "skip: $1: no package $2"; skipped=$((skipped + 1)); return; }
	fi
	if declare -F "$1_set" >/dev/null && ! "$1_set"; then
		echo "does not hold: $1 is set up"; failed=$((failed + 1)); return
	fi
	if declare -F "$1_serve" >/dev/null; then server_for "$1" >why 2>&1; else command_for "$1" >why 2>&1; fi
	status=$?
	[ $deaths = 0 ] || { status=1; echo "$deaths deaths" >>why; }
	if [ $status = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "does not hold: $1 is unharmed"; sed 's/^/  | /' why err 2>/dev/null | head -n 12; fi
	printf '%-13s %5d recordings %12d events %8d gaps  %s\n' "$1" $runs $events $gaps \
		"$([ $status = 0 ] && echo unharmed || echo HARMED)"
	cd "$dir" && rm -rf "${dir:?}/$1"
}

while read -r name package file when; do
	[ -n "$name" ] || continue
	[ -z "$quick" ] || [ "$when" = quick ] || continue
	[ $# = 0 ] || [[ " $* " = *" $name "* ]] || continue
	unharmed "$name" "$package" "$file"
done <<<"$programs"
conclude
