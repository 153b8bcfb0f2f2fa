#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# switch.sh: `pugmark switch --engine slurm` on a cluster of four nodes of this host: the answer is that
# of runs here, whichever node makes them, also when a node dies; what was staged is gone at the end;
# and without Slurm it says what to install.
set -u
. "$(dirname "$0")/../support/claims.sh"
. "$(dirname "$0")/cluster.sh"
needs_recording
needs "${CC:-cc}" python3 ps munged slurmctld slurmd sbatch
work_in_own_folder
at_end() { # a node that was killed has left the empty folders of its runs, which last seconds
	sleep 6
	find /tmp -maxdepth 1 -name 'pugmark-again-*' -empty -newer "$dir/sums.c" -not -newermt '-6 seconds' -exec rmdir {} +
}

cat >sums.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[64];
	int sum = 0, odd = 0, n, add;
	FILE *other = fopen("text/add", "r");
	if (!other || fscanf(other, "%d", &add) != 1)
		return 9;
	FILE *written = fopen("written", "w");
	fputs("here\n", written);
	fclose(written);
	while (fgets(line, sizeof(line), stdin)) {
		n = atoi(line);
		if (n > 4) /* should be 5 */
			sum += add;
		if (n & 1)
			odd++;
		sum += n;
	}
	if (argc > 1)
		usleep(300000);
	printf("%d %d\n", sum, odd);
	return odd;
}
C
"${CC:-cc}" -O0 -g -o sums sums.c || exit 1
mkdir text tmp
echo 100 >text/add
printf '3\n5\n2\n8\n1\n' >input
export TMPDIR=$dir/tmp
"$PUGMARK" record -q --level values -o rec -- ./sums <input >printed 2>err
claim 'it prints what is wrong' is "$(cat printed)" '219 3'
echo '119 3' >want
rm written

run 1 switch rec --until 'stdout = want' --engine slurm --shared /nowhere/at/all -- ./sums
claim 'a folder that is not there is named' grep -q /nowhere/at/all err
PATH=$dir "$(command -v "$PUGMARK")" switch rec --until 'exit = 7' --engine slurm -- "$dir/sums" <input >out 2>err
claim 'without Slurm one line says what to install' grep -q 'apt-get install slurm-client' err
claim 'and no more' is "$(wc -l <err)" 1

start_cluster || { cat "$dir"/cluster/slurm* | tail -n 5; skip 'no cluster can be started here'; }
nothing_left() { [ -z "$(find . tmp -maxdepth 1 -name 'pugmark-*')" ] && [ -z "$(squeue -h)" ] && [ ! -e written ]; }
answer() { # FILE: without how many were tried, which differs where the first one ends it
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
print(a["critical"], a.get("others"), a["closer"], a["tried"] if len(sys.argv) > 2 else "")' "$@"
}
both() { # OPTION...: here and there
	"$PUGMARK" switch rec --format json "$@" -- ./sums <input >here 2>err
	"$PUGMARK" switch rec --format json "$@" --engine slurm --machines 3 --input text/add -- ./sums <input >there 2>err
}
both --until 'stdout = want' --all
claim 'all critical jumps, and those that come closer' is "$(answer there all)" "$(answer here all)"
claim 'which are some' grep -q '"critical":{' there
claim 'nothing is left' nothing_left
both --until 'stdout = want'
claim 'the first one is the first one in order' is "$(answer there | cut -d[ -f1)" "$(answer here | cut -d[ -f1)"
both --until 'exit = 2' --until 'stdout ~ ^[0-9]* 2$' --order each --all
claim 'by expressions and status' is "$(answer there all)" "$(answer here all)"
"$PUGMARK" switch rec --until 'exit = 2' --all --format json --engine slurm --machines 2 -- ./sums <input >there 2>err
claim 'without its input the program fails on the nodes, so no jump is critical' grep -q '"critical":null' there

# A node dies in the middle: its tries are made again.
"$PUGMARK" switch rec --until 'stdout = want' --all --format json -- ./sums slowly <input >here 2>err
"$PUGMARK" switch rec --until 'stdout = want' --all --format json --engine slurm --machines 3 --input text/add \
	--retries 2 -- ./sums slowly <input >there 2>err &
submitted=$!
for _ in $(seq 200); do
	[ -n "$(squeue -h -t R)" ] && break
	sleep 0.1
done
sleep 0.5
task=$(pgrep -f "switch --task $dir/pugmark" | head -n 1)
claim 'a node is killed in the middle of its tries' kill_node "$task"
wait $submitted
claim 'the answer is the same' is "$(answer there all)" "$(answer here all)"
rm -rf tmp/pugmark-* # what the dead node had

# Asked to stop, it takes the job back.
"$PUGMARK" switch rec --until 'exit = 77' --engine slurm --machines 2 --input text/add -- ./sums slowly <input >out 2>err &
submitted=$!
for _ in $(seq 200); do
	[ -n "$(squeue -h -t R)" ] && break
	sleep 0.1
done
kill -TERM $submitted
wait $submitted
claim 'stopped: its status' is $? 1
claim 'stopped: it says so' grep -q 'the job is cancelled' err
for _ in $(seq 100); do
	nothing_left && break
	sleep 0.1
done
claim 'stopped: nothing is left' nothing_left
conclude
