#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_changing.sh: a file that is written to while it is probed. Whoever writes waits until the probes
# are gone, what runs the new contents runs well, and the recording is not complete: of a program, of
# a library, and of a file that somebody had open for writing before.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder
cat >work.c <<'EOF'
#include <stdio.h>
#ifdef OTHER /* the same functions elsewhere, with other instructions where the first has its probes */
int padding(int x) { for (int i = 0; i < x; i++) x ^= i * 77 + printf(""); return x; }
#endif
__attribute__((noinline)) int step(int x) { return x % 3 ? x * 7 + 1 : x / 3; }
#ifdef OTHER
__attribute__((noinline)) int more(int x) { return padding(x) + step(x); }
#endif
__attribute__((noinline)) int work(int x)
{
	int sum = 0;
	for (int i = 0; i < x; i++)
#ifdef OTHER
		sum += step(i) + (i % 5 ? 0 : more(i));
#else
		sum += step(i);
#endif
	return sum;
}
#ifndef LIBRARY
int main(void) { printf("%s %d\n", WHO, work(50) != 0); return 0; }
#endif
EOF
cat >main.c <<'EOF'
#include <stdio.h>
int work(int x);
int main(void) { printf("used %d\n", work(50) != 0); return 0; }
EOF
cc=${CC:-cc}
$cc -O1 -DWHO='"first"' -o up work.c && $cc -O0 -DOTHER -DWHO='"other"' -o other work.c &&
	$cc -O1 -fPIC -shared -DLIBRARY -o libup.so work.c &&
	$cc -O0 -fPIC -shared -DLIBRARY -DOTHER -o libother.so work.c &&
	$cc -O1 -o main main.c -L. -lup -Wl,-rpath,"$dir" || skip 'no compiler for the programs'
cp up first
cp libup.so libfirst.so

begin() { # ARGUMENT...: recording to rec, in the background
	rm -rf rec rec.old
	"$PUGMARK" record -q -o rec "$@" >out 2>err </dev/null &
	recorder=$!
	started+=("$recorder")
	for _ in $(seq 100); do [ -e rec/events ] && break; sleep 0.1; done
	sleep 0.3
}
finish() {
	kill -INT $recorder
	wait $recorder
	recorded=$?
	"$PUGMARK" verify rec >certificate 2>&1
	verified=$?
}
runs_well() { # PROGRAM TEXT: eight times
	local status
	for _ in 1 2 3 4 5 6 7 8; do
		./"$1" >ran
		status=$?
		is "$status $(cat ran)" "0 $2" || return
	done
}
tells() { # NAME FILE
	claim "$1: the recording is not complete" is $verified 3
	claim "$1: which is said" grep -q "note .*$2 was written to while it was probed" certificate
	claim "$1: and by the recorder's status" is $recorded 3
}

begin -a ./up
claim 'a program: it runs' runs_well up 'first 1'
# By itself the kernel breaks a lease after that many seconds: before, it was given up.
patience=$(($(cat /proc/sys/fs/lease-break-time) * 2 / 3))
timeout $patience cp other up
claim 'a program: who writes to it goes on' is $? 0
claim 'a program: what runs then runs well' runs_well up 'other 1'
finish
tells 'a program' up
claim 'a program: what came before is there' [ "$(grep -c '^thread' certificate)" -ge 8 ]

begin --no-program --module libup.so -a ./main
claim 'a library: it runs' runs_well main 'used 1'
timeout $patience cp libother.so libup.so
claim 'a library: who writes to it goes on' is $? 0
claim 'a library: what runs then runs well' runs_well main 'used 1'
finish
tells 'a library' libup.so

# Open for writing before: there is no lease to be had.
cp libfirst.so libup.so
exec 7<>libup.so
begin --no-program --module libup.so -a ./main
claim 'no lease: it runs' runs_well main 'used 1'
cat libother.so >&7
exec 7>&-
sleep 0.5
claim 'no lease: what runs later runs well' runs_well main 'used 1'
finish
tells 'no lease' libup.so

# Who has it mapped for writing, and has written to it, writes again without a time of it; who owns it
# sets the time that it had, and another mode. The program of another user is what runs it.
cat >writes.py <<'EOF'
import mmap, os, sys, time
path, manner = sys.argv[1:]
fd = os.open(path, os.O_RDWR)
memory = mmap.mmap(fd, 0)
at = memory.find(b"MARKER")
memory[at] = memory[at]
was = os.fstat(fd)
while not os.path.exists("go"):
    time.sleep(0.01)
if manner == "mapped":
    memory[at] = ord("L")
else:
    os.pwrite(fd, b"L", at)
    os.utime(fd, ns=(was.st_atime_ns, was.st_mtime_ns))
    os.fchmod(fd, 0o700)
open("gone", "w")
EOF
echo 'const char marker[] = "MARKER";' >>work.c
$cc -O1 -fPIC -shared -DLIBRARY -o libmarked.so work.c || skip 'no compiler for the library'
for manner in mapped dated; do
	rm -f go gone
	cp libmarked.so libup.so
	python3 writes.py libup.so $manner 2>said &
	started+=($!)
	await grep -q 'rw-s.*libup.so' /proc/$!/maps
	begin --no-program --module libup.so -a ./main
	claim "$manner: it runs" runs_well main 'used 1'
	touch go
	claim "$manner: it is written to" await test -e gone
	claim "$manner: which is in the file" grep -q LARKER libup.so
	finish
	tells "$manner" libup.so
done

# A file of an overlay: who writes to the one below it breaks no lease. Its owner sets the time that it
# had. As root mounts it here, so does any user in a namespace of his own.
mkdir -p layers/lower layers/upper layers/work merged
cp libmarked.so layers/lower/libup.so
cat >beneath.py <<'EOF'
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
was = os.fstat(fd)
os.pwrite(fd, b"L", open(sys.argv[1], "rb").read().find(b"MARKER"))
os.utime(fd, ns=(was.st_atime_ns, was.st_mtime_ns))
EOF
if mount -t overlay overlay -o lowerdir=layers/lower,upperdir=layers/upper,workdir=layers/work merged 2>said; then
	at_end() { umount -l "$dir/merged" 2>/dev/null; }
	$cc -O1 -o merged/main main.c -L. -lup -Wl,-rpath,"$dir/merged"
	begin --no-program --module libup.so -a ./merged/main
	claim 'an overlay: it runs' runs_well merged/main 'used 1'
	claim 'an overlay: it is written to, below' python3 beneath.py layers/lower/libup.so
	finish
	tells 'an overlay' libup.so
	umount merged
else
	skipped=$((skipped + 1))
	echo "skip an overlay: $(head -n 1 said)"
fi

# What does not change a file does not end its recording.
cp first up
begin -a ./up
runs_well up 'first 1' >ran2
ln up link
mv up moved
cp other up
claim 'another file of the same name' runs_well moved 'first 1'
finish
claim 'links and names change nothing' is "$recorded" 0
claim 'and the recording is complete' is $verified 0
conclude
