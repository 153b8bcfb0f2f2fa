#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# check.sh: `pugmark distribute --engine slurm` on a cluster of four nodes of this host: the merged trace
# is that of one full recording, also when a node dies in the middle; what was staged is gone at the
# end; and each thing that can go wrong is said.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/cluster.sh"
needs_recording
needs "${CC:-cc}" setarch ps munged slurmctld slurmd sbatch
work_in_own_folder

cat >words.c <<'C'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN static int is_letter(int c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }
FN static int weigh(int c) { return c % 3 ? c % 7 : is_letter(c + 1); }
FN static int count(const char *path)
{
	FILE *f = fopen(path, "r");
	int n = 0, c, inside = 0;
	if (!f)
		exit(9);
	while ((c = getc(f)) != EOF) {
		if (is_letter(c) && !inside)
			n += weigh(c) + 1;
		inside = is_letter(c);
	}
	fclose(f);
	return n;
}
int main(int argc, char **argv)
{
	int n = count(argv[1]);
	if (getenv("BEGUN")) { /* says that it is in the middle, and stays there for a while */
		int fd = open(getenv("BEGUN"), O_WRONLY | O_APPEND | O_CREAT, 0600);
		dprintf(fd, "%d\n", getpid());
		close(fd);
		usleep(1500000);
	}
	if (getenv("KILLS"))
		kill(getppid(), SIGKILL); /* the recorder */
	printf("%d %d\n", n, count(argv[1]));
	return 5;
}
C
"${CC:-cc}" -O2 -o words words.c || exit 1
mkdir text tmp
seq -f 'line %g of a text' 400 >text/in
export TMPDIR=$dir/tmp

start_cluster || { cat "$dir"/cluster/slurm* | tail -n 5; skip 'no cluster can be started here'; }

told() { "$PUGMARK" dump "$1" | sed 's/^[0-9]* //'; }
full() { # NAME
	setarch -R "$PUGMARK" record -q --level paths -o "$1" -- ./words text/in >out."$1" 2>err
	told "$1" >told."$1"
}
nothing_left() { [ -z "$(find "$@" -name 'pugmark-*')" ] && [ -z "$(squeue -h)" ]; }

distribute() { # STATUS NAME OPTION...
	local status=0
	"$PUGMARK" distribute --engine slurm --machines 3 --level paths -o "$2" "${@:3}" -- ./words text/in \
		>out 2>err </dev/null || status=$?
	claim "$2: its status" is $status "$1"
	claim "$2: nothing is left of it" nothing_left "$2.shares"
}
as_full() { # NAME
	told "$1" >told
	claim "$1: its trace is that of a full recording" same told told.full
	claim "$1: what the command prints is printed once" same out out.full
	claim "$1: the table names a node for each share" is "$(grep -cE '^ +[123] .* n[1-4]' err)" 3
}
full full
distribute 5 whole --input text/in
as_full whole
claim 'whole: the nodes have kept nothing' nothing_left tmp
claim 'whole: at the first try' is "$(grep -c 'not at the first' err)" 0

# A node dies: its slurmd, and all that ran there.
export BEGUN=$dir/other
full full
BEGUN=$dir/begun
distribute 5 killed --input text/in --retries 2 &
submitted=$!
for _ in $(seq 200); do
	[ -s begun ] && break
	sleep 0.1
done
claim 'a node is killed in the middle of its run' kill_node "$(head -n 1 begun)"
wait $submitted
unset BEGUN
as_full killed
claim 'killed: one share was run again' is "$(grep -c 'not at the first' err)" 1

export KILLS=1
distribute 1 fails --input text/in --retries 0
claim 'fails: the share and the tries are named' grep -q 'share 1 was not recorded whole in 1 try' err
unset KILLS
run 1 distribute --engine slurm --machines 2 -o beyond --input "$dir/text/in" -- ./words text/in
claim 'an absolute input is refused with the reason' grep -q 'relative to this folder' err

# Asked to stop, it takes the job back.
export BEGUN=$dir/asked
"$PUGMARK" distribute --engine slurm --machines 2 -o stopped --input text/in -- ./words text/in >out 2>err </dev/null &
submitted=$!
for _ in $(seq 200); do
	[ -s asked ] && break
	sleep 0.1
done
kill -TERM $submitted
wait $submitted
claim 'stopped: its status' is $? 1
claim 'stopped: it says so' grep -q 'the job is cancelled' err
unset BEGUN
for _ in $(seq 50); do
	[ -z "$(squeue -h)" ] && break
	sleep 0.1
done
claim 'stopped: no job is left' is "$(squeue -h)" ''
for _ in $(seq 50); do # what was recorded goes on to its end
	readlink /proc/[0-9]*/exe | grep -q "^$dir/tmp/" || break
	sleep 0.1
done

conclude
