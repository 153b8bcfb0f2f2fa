#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# values_patched_refused.sh: where a process cannot be given what --carrier patch needs (its address space or
# its locked memory is limited, a seccomp filter is in place, it has no libraries) system calls are seen by the
# kernel's hooks, and it is said why; a thread that another tracer has is told as well. The process lives, its output
# is what it was, and no call is made in its name that was not asked for.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
work_in_own_folder

cat >limited.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int limit(const char *kind)
{
	struct rlimit space = {64 << 20, 64 << 20}, locked = {1 << 20, 1 << 20};
	struct sock_filter all = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
	struct sock_fprog filter = {1, &all};
	if (!strcmp(kind, "space"))
		return setrlimit(RLIMIT_AS, &space);
	if (!strcmp(kind, "filter"))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	if (!strcmp(kind, "locked"))
		return setrlimit(RLIMIT_MEMLOCK, &locked) || syscall(SYS_mlockall, MCL_FUTURE);
	return 0;
}
int main(int argc, char **argv)
{
	char bytes[9];
	long n = 0;
	int fd = open("/dev/zero", O_RDONLY);
	if (limit(argv[1]))
		return 3;
	puts("ready");
	fflush(stdout);
	while (read(0, bytes, 1) < 1)
		;
	for (int i = 0; i < 1000; i++)
		n += read(fd, bytes, i % 10);
	printf("end %ld\n", n);
	return 7;
}
C
cat >tracer.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (ptrace(PTRACE_SEIZE, atoi(argv[1]), 0, 0))
		return 1;
	puts("seized");
	fflush(stdout);
	sleep(60);
	return 0;
}
C
${CC:-cc} -O1 -w -o limited limited.c && ${CC:-cc} -O1 -w -o tracer tracer.c || skip 'no compiler'
mkfifo go
exec 9<>go
refused() { # KIND WHY [PROGRAM]
	local tracer='' recorder
	: >printed
	"./${3:-limited}" "$1" <go >printed &
	target=$!
	started+=("$target")
	await grep -q ready printed
	if [ "$1" = traced ]; then
		./tracer $target >seized &
		tracer=$!
		started+=("$tracer")
		await grep -q seized seized
	fi
	timeout 60 "$PUGMARK" record --level values --carrier patch -p $target -o "of.$1" --duration 1 >err 2>&1
	recorder=$?
	[ -z "$tracer" ] || kill $tracer
	echo >&9
	wait $target
	claim "$1: the process goes on as ever" is "$? $(tail -n 1 printed)" '7 end 4500'
	claim "$1: the recorder ends" test $recorder -lt 128
	claim "$1: it is said why" grep -qE "$2" err
}
refused space 'hooks: it may not have more memory|hooks: there is no room'
refused filter 'hooks: it has a seccomp filter'
refused locked 'hooks: .*(mlockall|more memory)'
refused traced 'a debugger or strace may have it'
for how in -static -static-pie; do
	${CC:-cc} -O1 -w $how -o static limited.c 2>err && echo 'int main(void) { return 5; }' >still.c &&
		${CC:-cc} $how -o still still.c || continue
	refused "static" 'hooks: it has no libraries' static
	timeout 30 "$PUGMARK" record --level values --carrier patch -o "begun$how" -- ./still <go >out 2>err
	claim "$how, from its start: nothing waits for its input" is $? 5
	claim "$how, from its start: it is said why" grep -q 'hooks: it has no libraries' err
done
conclude
