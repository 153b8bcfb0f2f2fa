#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_apart.sh: the analysis of a file runs in a child that is nobody and may do nothing; if it dies,
# that is an error of the file, and a recording that runs goes on. The traced command gets no ambient
# capability. No debug file is asked for over a network.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/sandboxed.sh"
needs_recording
needs python3 setpriv
work_in_own_folder
large=$(readlink -f "$(command -v gdb || command -v python3)")
chmod 755 . # for another user
cp "$large" large || skip 'no large program here'
cp "$(readlink -f "$(command -v cat)")" cat

# The child that analyses, while it does: a child of the recorder's that has a filter, and has used
# TICKS (hundredths of a second) of a processor.
find_child() { # RECORDER [TICKS]
	local task pids pid fields end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ] && [ -e "/proc/$1" ]; do
		for task in "/proc/$1/task/"*; do
			read -r -a pids <"$task/children"
			for pid in "${pids[@]}"; do
				has_filter "$pid" && read -r -a fields <"/proc/$pid/stat" || continue
				[ "${fields[13]:-0}" -ge "${2:-0}" ] && child=$pid && return
			done
		done
	done 2>/dev/null
	return 1
}
"$PUGMARK" record -q --fresh -o rec -- ./large --version >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
child=
claim 'the analysis has a child of its own' find_child $recorder
cp "/proc/$child/status" status 2>err
claim 'which is nobody' grep -qP '^Uid:\t65534\t65534\t65534\t65534$' status
claim 'in no group' grep -qP '^Groups:\t *$' status
for set in Inh Prm Eff Amb; do
	claim "without capabilities ($set)" grep -qP "^Cap$set:\t0+$" status
done
claim 'nor new ones' grep -qP '^NoNewPrivs:\t1' status
claim 'with another network' eval '[ "$(readlink /proc/$child/ns/net)" != "$(readlink /proc/self/ns/net)" ]'
claim 'with four files and no device but /dev/null' eval '! ls -l /proc/$child/fd | grep -vE "/dev/null|socket:|memfd:|total|large|\.so|\.debug|/proc|ld.so.cache"'
claim 'and bounds' eval 'grep -qE "^Max core file size +0 " /proc/$child/limits && grep -qE "^Max open files +512 " /proc/$child/limits &&
	! grep -qE "^Max (cpu time|address space) +unlimited" /proc/$child/limits'
kill -SEGV "$child"
wait $recorder
claim 'it dies: the status is an error' is $? 1
claim 'of that file, and says so' grep -q 'large: its analysis died of SIGSEGV' err
claim 'in one line' is "$(wc -l <err)" 1

# `plan` shows what was found there, and its child is the same; that of shares as well.
cp "$(readlink -f "$(command -v bash)")" medium
for command in 'plan --fresh' 'plan --shares 2 -o set' 'distribute --machines 2 -o whole --'; do
	# shellcheck disable=SC2086 # several words
	"$PUGMARK" $command ./medium >out 2>err </dev/null &
	planner=$!
	started+=("$planner")
	child=
	claim "$command: the analysis has a child of its own" find_child $planner
	kill -STOP "$child" # it is soon over
	cp "/proc/$child/status" status 2>said
	claim "$command: which is nobody, without capabilities" is "$(grep -cP '^Uid:\t65534\t65534|^Cap(Eff|Prm):\t0+$' status)" 3
	kill -SEGV "$child"
	kill -CONT "$child"
	wait $planner
	claim "$command: it dies: the status is an error" is $? 1
	claim "$command: of that file" grep -q 'medium: its analysis died of SIGSEGV' err
done
# Behind the plan comes what else is found in a file: it has a child of its own, the second one. It may
# be over before it is stopped: then once more.
has_stopped() { # PID: or it has ended before
	for _ in $(seq 200); do
		case $(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$1/status") in
		T) return ;;
		Z | '') return 1 ;;
		esac
		sleep 0.01
	done 2>/dev/null
	return 1
}
stop_second() { # OPTION...: the recorder $recorder, whose second child $child is stopped
	local first try
	for try in {1..20}; do
		"$PUGMARK" record -q -o rec "$@" -- ./medium -c : >out 2>err </dev/null &
		recorder=$!
		started+=("$recorder")
		child=
		find_child $recorder
		first=$child
		while [ "$child" = "$first" ] && find_child $recorder; do :; done
		[ "$child" = "$first" ] || ! kill -STOP "$child" || ! has_stopped "$child" || return 0
		wait $recorder
	done 2>/dev/null
	return 1
}
for options in '--level values' '--carrier patch --no-times'; do
	# shellcheck disable=SC2086 # several words
	claim "$options: it has a child of its own" stop_second $options
	claim "$options: which is nobody, without capabilities" is \
		"$(grep -cP '^Uid:\t65534\t65534|^Cap(Eff|Prm):\t0+$' "/proc/$child/status")" 3
	kill -SEGV "$child"
	kill -CONT "$child"
	wait $recorder
	claim "$options: it dies: the status is an error" is $? 1
	claim "$options: of that file" grep -q 'medium: its analysis died of SIGSEGV' err
done
"$PUGMARK" plan -o cat.plan cat >out 2>err
claim 'plan: what it writes is a plan' "$PUGMARK" plan --check --plan cat.plan cat
claim 'plan: and is shown' grep -q '^  probes ' out

# A module that is loaded while the recording runs: what dies is its analysis alone.
cat >host.c <<'EOF'
#include <dlfcn.h>
#include <unistd.h>
__attribute__((noinline)) int step(int i) { return i + 1; }
int main(int argc, char **argv)
{
	int n = 0;
	(void)argc;
	for (int i = 0; i < 150; i++) {
		if (i == 50)
			dlopen(argv[1], RTLD_NOW);
		n = step(n);
		usleep(20000);
	}
	return n != 150;
}
EOF
${CC:-cc} -O1 -o host host.c -ldl || skip 'no compiler for the program'
library=$(ldconfig -p | sed -nE 's/.*(libcrypto|libpython3|libgnutls|libstdc\+\+)[^ ]*\.so.* => (.*)/\2/p' | head -n 1)
cp "$(readlink -f "$library")" liblater.so
"$PUGMARK" record -q --fresh -o rec2 --module 'liblater.so*' -- ./host "$dir/liblater.so" >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
for _ in $(seq 500); do
	target=$(for task in "/proc/$recorder/task/"*; do cat "$task/children"; done 2>/dev/null)
	target=${target%% *}
	grep -q liblater "/proc/${target:-0}/maps" 2>/dev/null && break
	sleep 0.01
done
child=
if find_child $recorder 20; then # the program, which is planned again too, takes less
	kill -SEGV "$child"
	wait $recorder
	claim 'while it records: it goes on, and the program ends well' is $? 0
	"$PUGMARK" verify rec2 >certificate 2>&1
	claim 'and the recording says of the module that it is not traced' \
		grep -q 'note .*liblater.so was loaded, and cannot be traced: its analysis died of SIGSEGV' certificate
	claim 'all else is there' eval '"$PUGMARK" report rec2 2>err | grep -w step | grep -qw 150'
else
	wait $recorder
	skipped=$((skipped + 1))
	echo 'skip a module that is loaded later: its analysis was over too soon'
fi

# What the traced command has.
setpriv --inh-caps +net_raw,+sys_admin --ambient-caps +net_raw,+sys_admin "$PUGMARK" record -q -o rec3 -- \
	./cat /proc/self/status >status 2>err
claim 'the recorder had ambient capabilities' eval 'setpriv --inh-caps +net_raw --ambient-caps +net_raw \
	grep -qP "^CapAmb:\t0*2000$" /proc/self/status'
claim 'the traced command has none' grep -qP '^CapAmb:\t0+$' status
"$PUGMARK" record -q -o rec3 --user nobody -- ./cat /proc/self/status >status 2>err
claim 'as another user it has none at all' eval '[ "$(grep -cP "^Cap(Inh|Prm|Eff|Amb):\t0+$" status)" = 4 ]'

# A server for debug files, which writes down who asks.
python3 - >asked 2>&1 <<'EOF' &
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", self.path, flush=True)
        self.send_error(404)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
EOF
started+=($!)
for _ in $(seq 100); do grep -q port asked && break; sleep 0.05; done
url=http://127.0.0.1:$(sed -n 's/port //p' asked)
strip -o stripped host
DEBUGINFOD_URLS=$url "$PUGMARK" plan --fresh stripped >out 2>&1
DEBUGINFOD_URLS=$url "$PUGMARK" record -q -o rec4 --level paths -- ./stripped "$dir/none" >out 2>&1 &
started+=($!)
DEBUGINFOD_URLS=$url "$PUGMARK" cfg stripped >out 2>&1
wait $!
DEBUGINFOD_URLS=$url "$PUGMARK" report --lines rec4 >out 2>&1
claim 'the server answers' python3 -c "import urllib.request, urllib.error
try: urllib.request.urlopen('$url/here')
except urllib.error.HTTPError: pass"
claim 'nobody else has asked it' is "$(grep asked asked)" 'asked /here'
conclude
