#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_mapped.sh: whoever may run a program that is traced, with -a, chooses what else his process maps:
# more files than a process may have open, and files of gigabytes, most of them holes. The recorder
# goes on with its sandbox, takes no more memory for it, and says that not all was looked at. What it
# plans meanwhile keeps nobody waiting: neither who ends the recording, nor who writes to its files.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/../support/sandboxed.sh"
needs_recording
needs setpriv prlimit
stranger=54321 # of no account
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
compile_plugged
${CC:-cc} -O1 -fPIC -shared -o maps.so "$tests/programs/maps.c" || skip 'no compiler for the programs'
mkdir -m 777 many large
echo "int nothing(void) { return 0; }" | ${CC:-cc} -fPIC -shared -o nothing.so -x c -
for i in $(seq 0 699); do cp nothing.so many/$i; done
for i in 0 1; do
	cp plugin.so large/$i
	truncate -s 768M large/$i
done
strangers() { # FOLDER: runs the program, with what is in there
	setpriv --reuid $stranger --regid $stranger --clear-groups \
		env MAPS_DIR="$dir/$1" LD_PRELOAD="$dir/maps.so" ./program 60000000 none &
	his=$!
	started+=("$his")
	await test -e $1/mapped
}

strangers many
prlimit --nofile=700:700 "$PUGMARK" record -o rec -a ./program --duration 0.2 >out 2>err </dev/null
claim 'many files: it is recorded, with fewer descriptors, and not complete' is $? 3
claim 'many files: there is a sandbox' eval '! grep -q sandbox err'
claim 'many files: that is said' eval '"$PUGMARK" verify rec >certificate 2>&1; grep -q "not all could be looked at" certificate'
kill $his

strangers large
# What it has of its own; what is mapped of files does not count.
"$PUGMARK" record -q -o rec -a ./program --duration 1 >out 2>err </dev/null &
recorder=$!
started+=("$recorder")
most=0
while [ -e /proc/$recorder/stat ]; do
	kb=$(awk '/^RssAnon|^RssShmem/ { sum += $2 } END { print sum + 0 }' /proc/$recorder/status 2>/dev/null)
	[ "${kb:-0}" -le $most ] || most=$kb
	sleep 0.05
	[ "$(awk '{ print $3 }' /proc/$recorder/stat 2>/dev/null)" != Z ] || break
done
wait $recorder
claim 'large files: it is recorded' is $? 0
claim "large files: they are not in its memory: $most kB" [ $most -lt 300000 ]
kill $his

# A library that is loaded later, whose analysis does not end; another one is probed.
cat >host.c <<'EOF'
#include <dlfcn.h>
#include <unistd.h>
int probed(int x);
int main(int argc, char **argv)
{
	(void)argc;
	dlopen(argv[1], RTLD_NOW);
	for (int i = 0; i < 600; i++) {
		probed(i);
		usleep(100000);
	}
	return 0;
}
EOF
echo '__attribute__((noinline)) static int step(int x) { return x * 3; } int probed(int x) { return step(x) + 1; }' >probed.c
${CC:-cc} -O1 -fPIC -shared -o libprobed.so probed.c &&
	${CC:-cc} -O1 -o host host.c -L. -lprobed -ldl -Wl,-rpath,"$dir" || skip 'no compiler for the programs'
# Large enough for its planning to be seen.
library=$(ldconfig -p | sed -nE 's/.*(libcrypto|libpython3|libgnutls|libstdc\+\+)[^ ]*\.so.* => (.*)/\2/p' | head -n 1)
cp "$(readlink -f "$library")" liblater.so || skip 'no large library here'
cp libprobed.so other.so
plans_without_end() { # the recorder $recorder, which has just been told of the library
	local task pid pids end
	rm -rf rec rec.old
	"$PUGMARK" record -q --fresh -o rec -a ./host --module libprobed.so --module 'liblater.so*' >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	await test -e rec/events
	./host ./liblater.so &
	host=$!
	started+=("$host")
	end=$((SECONDS + 20))
	while [ $SECONDS -lt $end ]; do
		for task in /proc/$recorder/task/*; do
			read -r -a pids <"$task/children"
			for pid in "${pids[@]}"; do
				has_filter "$pid" && kill -STOP "$pid" && return
			done
		done
	done 2>/dev/null
	return 1
}
claim 'what is loaded later is planned' plans_without_end
# By itself the kernel lets him write after that many seconds: before, it was given up.
claim 'who writes to what is probed goes on' \
	timeout $(($(cat /proc/sys/fs/lease-break-time) * 2 / 3)) cp other.so libprobed.so
kill -INT $recorder
wait $recorder
claim 'and it is not complete' is $? 3
claim 'which is said' eval '"$PUGMARK" verify rec >certificate 2>&1; grep -q "libprobed.so was written to while" certificate'
kill $host
claim 'another one is planned' plans_without_end
kill -INT $recorder
ended() { ! kill -0 $recorder || [ "$(cut -d ' ' -f 3 /proc/$recorder/stat)" = Z ]; }
claim 'who ends the recording does not wait for that' await ended
kill -9 $recorder 2>/dev/null
wait $recorder
kill $host
conclude
