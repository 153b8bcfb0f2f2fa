#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# debuginfod.sh: --debuginfod brings names and lines of a stripped program from a server (Debian's own,
# on this machine): for plan, record, report, replay and doctor. Without the option nobody is asked. Who
# asks has no privileges, and what was got is gone at the end.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs debuginfod python3
# Where nobody can come to it: who asks has no privileges.
TMPDIR=/tmp
work_in_own_folder
export TMPDIR=$dir/tmp DEBUGINFOD_CACHE_PATH=$dir/theirs
mkdir served tmp
chmod 755 .
chmod 1777 tmp
cat >steps.c <<'EOF'
#include <stdio.h>
__attribute__((noinline)) static int step(int i) { __asm__ volatile(""); return i + 1; }
__attribute__((noinline)) static int twice(int i)
{
	__asm__ volatile("");
	return step(i) + step(i);
}
int main(void)
{
	int n = 0;
	for (int i = 0; i < 10; i++)
		n += twice(i);
	printf("%d\n", n);
}
EOF
${CC:-cc} -O1 -g -Wl,--build-id -o served/full steps.c && strip -o steps served/full || skip 'no compiler for the programs'
id=$(readelf -n steps | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip 'the compiler makes no build-ids'

# The server, and before it one that writes down who asks.
python3 - "$dir/served" >asked 2>&1 <<'EOF' &
import http.server, os, socket, subprocess, sys, time, urllib.error, urllib.request
free = socket.socket(); free.bind(("127.0.0.1", 0)); port = free.getsockname()[1]; free.close()
server = subprocess.Popen(["debuginfod", "-F", "-d", ":memory:", "-p", str(port), "-I", ".*", sys.argv[1]],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("server", server.pid, flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", self.path, flush=True)
        while os.path.exists("slow"):
            time.sleep(0.05)
        try:
            answer = urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, self.path))
            body = answer.read()
            self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
            self.wfile.write(body)
        except urllib.error.HTTPError as e:
            self.send_error(e.code)
        except OSError:
            self.send_error(503)
    def log_message(self, *a): pass
ours = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("port", ours.server_port, flush=True)
ours.serve_forever()
EOF
started+=($!)
await grep -q '^port' asked || skip 'no server can be started here'
started+=("$(sed -n 's/^server //p' asked)")
export DEBUGINFOD_URLS=http://127.0.0.1:$(sed -n 's/^port //p' asked)
await python3 -c "import urllib.request; urllib.request.urlopen('$DEBUGINFOD_URLS/buildid/$id/debuginfo')" ||
	skip "Debian's server does not serve it"
asked() { grep -c "^asked /buildid/$id/debuginfo" asked; }
from=$(asked)

# Without the option.
run 0 doctor steps
claim 'without the option a stripped program has no names' grep -q ' 0 with a name' out
run 0 plan --fresh --list steps
run 0 record -q --fresh --level paths -o bare -- ./steps
run 0 report bare
claim 'nor has its recording' eval '! grep -qw twice out'
run 0 replay bare
claim 'and nobody was asked, whatever DEBUGINFOD_URLS says' is "$(asked)" "$from"

# With it.
run 0 doctor --debuginfod steps
claim 'doctor: all have names' eval '! grep -q " 0 with a name" out'
claim 'and the server was asked' eval '[ "$(asked)" -gt "$from" ]'
run 0 plan --debuginfod --fresh --list steps
claim 'plan: names' grep -qw main out
run 0 record -q --debuginfod --level paths -o named -- ./steps
run 0 report named
claim 'record: names, for all who read it' eval 'grep -w step out | grep -qw 20'
run 0 report --debuginfod bare
claim 'report: names for what was recorded without' eval 'grep -w step out | grep -qw 20'
run 0 report --debuginfod -F 'tw*' bare
claim 'report: by them, too' eval 'grep -w twice out | grep -qw 10'
run 1 report --lines named
run 0 report --debuginfod --lines named
claim 'report: lines' grep -q 'steps.c' out
run 0 replay --debuginfod bare
claim 'replay: names' grep -qw step out
claim 'what was got is gone at the end' await eval '[ -z "$(ls tmp)" ]'

# Who asks.
: >slow
"$PUGMARK" replay --debuginfod bare >out 2>err &
reader=$!
started+=($reader)
child=
has_child() { child=$(cat /proc/$reader/task/$reader/children) && child=${child%% *} && [ -n "$child" ] &&
	grep -q '^Seccomp:.2' "/proc/$child/status"; }
claim 'who asks is a child' await has_child
cp "/proc/$child/status" status 2>said
claim 'that is nobody' grep -qP '^Uid:\t65534\t65534\t65534\t65534$' status
claim 'and has no capability, nor gets one' is "$(grep -cP '^Cap(Eff|Prm|Inh|Amb):\t0+$|^NoNewPrivs:\t1$' status)" 5
rm slow
wait $reader
claim 'it goes when who asked goes' await eval '! grep -q "^State:.[^Z]" /proc/$child/status'

# What can fail.
DEBUGINFOD_URLS='' fails 1 'no server is named (set DEBUGINFOD_URLS' plan --debuginfod steps
cp steps other && printf '\0' | dd of=other bs=1 seek=$(($(stat -c %s steps) - 1)) conv=notrunc 2>said
${CC:-cc} -O1 -s -Wl,--build-id -DOTHER -o unknown -x c - <<<'int main(void) { return 0; }'
run 0 doctor --debuginfod unknown
claim 'a file that no server knows is said' grep -q 'no server of DEBUGINFOD_URLS has the debug file of unknown' err
DEBUGINFOD_URLS=http://127.0.0.1:1 run 0 doctor --debuginfod steps
claim 'no server that answers is no error' grep -q 'no server of DEBUGINFOD_URLS has the debug file of steps' err
head -c 4000 steps >cut
run 1 plan --debuginfod cut
claim 'a damaged file is an error as ever' grep -q '^pugmark: cut: ' err
claim 'nothing is left' await eval '[ -z "$(ls tmp)" ]'
conclude
