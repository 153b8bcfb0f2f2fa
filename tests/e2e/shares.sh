#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shares.sh: recordings under each share of a plan are merged to the trace of one full recording, line
# for line: of gzip and of a program with threads, forks and callbacks, at levels calls and paths, for
# every grouping. Runs that were not the same are told as such, what is no set of parts is refused, and
# `distribute` makes a run again that failed.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs "${CC:-cc}" gzip setarch
work_in_own_folder

cat >threads.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define FN __attribute__((noipa))
FN static int leaf(int i) { return i % 3 ? i ^ 5 : i + 7; }
FN static int deep(int n) { return n < 2 ? leaf(n) : n % 2 ? deep(n - 1) + leaf(n) : deep(n / 2); }
FN static int by_size(const void *a, const void *b) { return leaf(*(int *)a) - leaf(*(int *)b); }
static int (*const ways[])(int) = {leaf, deep};
static void *thread(void *arg)
{
	long sum = 0;
	for (long i = 0; i < 50; i++)
		sum += ways[(i + (long)arg) % 2](i);
	return (void *)sum;
}
int main(void)
{
	int values[40], status;
	pthread_t t[3];
	for (int i = 0; i < 40; i++)
		values[i] = i * 37 % 41;
	qsort(values, 40, sizeof(int), by_size);
	for (long i = 0; i < 3; i++) {
		pthread_create(&t[i], NULL, thread, (void *)i);
		pthread_join(t[i], NULL);
	}
	pid_t child = fork();
	if (!child)
		_exit(deep(values[3] + 9) & 7);
	waitpid(child, &status, 0);
	printf("%d %d\n", values[7], deep(60));
	return 0;
}
C
# Random in each run: which functions run, and in what order; what they do is hot, so it is shared out.
cat >differs.c <<'C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define FN __attribute__((noipa))
static volatile int grid[8][8][8];
#define WORK(name, test, step)                                                                     \
	FN static int name(int seed)                                                               \
	{                                                                                          \
		int sum = seed;                                                                    \
		for (int i = 0; i < 8; i++)                                                        \
			for (int j = 0; j < 8; j++)                                                \
				for (int k = 0; k < 8; k++) {                                      \
					if (grid[i][j][k] test)                                    \
						grid[i][j][k] = sum step k;                        \
					else                                                       \
						sum += j;                                          \
					if (sum > 1000)                                            \
						sum -= grid[k][j][i];                              \
				}                                                                  \
		return sum;                                                                        \
	}
WORK(one, < 3, +)
WORK(two, > 3, ^)
WORK(three, != 5, -)
int main(void)
{
	struct timespec now;
	int sum = 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	unsigned seed = now.tv_nsec ^ getpid();
	for (int i = 0; i < 12; i++) {
		int r = rand_r(&seed) >> 8 & 3;
		sum += r == 0 ? one(i) : r == 1 ? two(i) : three(i);
	}
	return sum == 12345;
}
C
cp "$(command -v gzip)" gz
"${CC:-cc}" -O2 -pthread -o threads threads.c || exit 1
"${CC:-cc}" -O2 -o differs differs.c || exit 1
head -c 20000 "$PUGMARK" >input

# Without the thread's own number, which is another in each run.
told() { "$PUGMARK" dump "$1" | sed 's/^[0-9]* //'; }

record_parts() { # M COMMAND...
	for k in $(seq "$1"); do
		setarch -R "$PUGMARK" record -q --plan set/share-"$k".pmp -o part-"$k" -- "${@:2}" \
			>out 2>err || return
	done
}
parts() { seq -f part-%g "$1"; }

merged_is_full() { # LEVEL M GROUPING COMMAND...
	local what="$4, level $1, $2 shares, $3"
	rm -rf set part-* whole*
	run 0 plan --level "$1" --shares "$2" --grouping "$3" -o set "$4"
	run 0 plan --check --plan set "$4"
	claim "$what: is proved" grep -q 'every run can be put together' out
	claim "$what: is recorded under each share" record_parts "$2" "${@:4}"
	run 0 merge -o whole $(parts "$2")
	run 0 verify whole
	told whole >told.whole
	claim "$what: the merge is the trace of a full recording" same told.whole told.full
}
# How many shares, by which grouping: of four each program takes one at each level, and with LONG=1 all.
turn=0
groupings() {
	set -- 2-best 3-fine 3-function 4-optimized
	[ "${LONG:-}" ] || set -- "${!turn}"
	echo "$@"
}
for level in calls paths; do
	for program in './gz -c input' ./threads; do
		setarch -R "$PUGMARK" record -q --level $level -o full -- $program >out 2>err
		told full >told.full
		turn=$((turn + 1))
		claim "a full recording of $program tells something" test "$(wc -l <told.full)" -gt 200
		for grouping in $(groupings); do
			merged_is_full $level ${grouping//-/ } $program
		done
	done
done

# All of it by one command; a run that fails is made again, and what cannot be recorded is an error.
setarch -R "$PUGMARK" record -q --level paths -o full -- ./gz -c input >out 2>err
told full >told.full
cp input given
"$PUGMARK" distribute --machines 3 --level paths -o whole -- ./gz -c <given >out 2>err
claim 'distribute: its status is that of the command' is $? 0
claim 'distribute: the command ran with its output' same out <(./gz -c <given)
claim 'distribute: its table has three runs' test "$(grep -cE '^ +[123] ' err)" = 3
setarch -R "$PUGMARK" record -q --level paths -o full -- ./gz -c <given >out 2>err
told full >told.full
told whole >told.whole
claim 'distribute: the merge is the trace of a full recording' same told.whole told.full
run 1 distribute --machines 2 -o whole2 -- ./nothing-there
run 2 distribute --machines 2 --engine cloud -- ./gz
run 2 distribute -- ./gz

# A run whose recorder is killed is made again, as often as allowed.
cat >kills.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static int step(int i) { return i & 1 ? i : i + 3; }
int main(int argc, char **argv)
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += step(i);
	if (!unlink(argv[1])) /* only once */
		kill(getppid(), SIGKILL);
	return sum == argc;
}
C
"${CC:-cc}" -O2 -o kills kills.c || exit 1
touch once
run 1 distribute --machines 2 --level paths --retries 0 -o again -- ./kills once
claim 'no retry: the share and its tries are named' grep -q 'under share 1 was not recorded whole in 1 try' err
touch once
run 0 distribute --machines 2 --level paths --retries 1 -o again -- ./kills once
claim 'a retry: the run is made again' is "$(grep -c '^ *1 .*not at the first try' err)" 1
claim 'a retry: of that share alone' is "$(grep -c 'not at the first try' err)" 1
setarch -R "$PUGMARK" record -q --level paths -o full -- ./kills once >out 2>err
told full >told.full
told again >told.again
claim 'a retry: the merge is the trace of a full recording' same told.again told.full

# A cluster (tests/slurm has one): what can be said without.
status=0
PATH=$dir/nothing "$PUGMARK" distribute --machines 2 --engine slurm -- ./gz -c >out 2>err || status=$?
claim 'without Slurm it fails' is $status 1
claim 'and one line says what to install' grep -qx "pugmark: Slurm's sbatch is not installed here.*apt-get install.*" err
run 2 distribute --machines 2 --input given -- ./gz
claim '--input is for slurm' grep -q 'go with --engine slurm' err
run 2 distribute --task part-1 --job 0
mkdir job
sum=$(printf x | sha256sum | cut -d' ' -f1)
echo other >job/"$sum"
printf 'program\0%s words\0' "$sum" >job/job
export SLURM_ARRAY_TASK_ID=1
fails 1 'not the list that was submitted' distribute --task job --job "$sum"
fails 1 'it has another sum' distribute --task job --job "$(sha256sum <job/job | cut -d' ' -f1)"
unset SLURM_ARRAY_TASK_ID

# A folder that is no set of shares.
mv set/share-2.pmp kept
run 1 plan --check --plan set ./threads
claim 'a missing share is told' grep -q 'share-2.pmp: this share is missing' err
cp set/share-1.pmp set/share-2.pmp
run 1 plan --check --plan set ./threads
claim 'a share in the place of another is told' grep -q 'not share 2' err
mv kept set/share-2.pmp

# What is to be merged, and what was, has its events in columns, which is version 4; nothing else has.
written_as() { grep -o '"version": [0-9]*' "$1/meta.json"; }
claim 'a part has its events in columns' is "$(written_as part-1)" '"version": 4'
claim 'what is merged has its events in columns' is "$(written_as whole)" '"version": 4'
claim 'a recording of all has not' is "$(written_as full)" '"version": 3'

# What is no set of parts.
run 1 merge -o whole part-1 part-2
claim 'a missing part is told' grep -q 'of 4, and 2 recordings are given' err
run 1 merge -o whole part-1 part-2 part-3 part-3
claim 'a part that is given twice is told' grep -q 'once more' err
run 1 merge -o whole full
claim 'a recording of all is no part' grep -q 'not recorded under a share' err
run 1 dump part-1
claim 'a part alone is not taken for a trace' grep -q 'pugmark merge' err
cp -r part-1 other-1
rm -rf set
run 0 plan --level paths --shares 4 --grouping fine -o set ./threads
record_parts 4 ./threads
run 1 merge -o whole other-1 part-2 part-3 part-4
claim 'a part of another set is told' grep -q 'another set of shares' err
setarch -R "$PUGMARK" record -q --plan set/share-2.pmp -o part-2 -- ./threads more >out 2>err
run 1 merge -o whole $(parts 4)
claim 'other arguments are told' grep -q 'another command' err

# Runs that were not the same run.
run 0 plan --level paths --shares 2 --grouping fine -o differ ./differs
told_apart=0 pairs=4
[ -z "${LONG:-}" ] || pairs=10
for i in $(seq $pairs); do
	for k in 1 2; do
		"$PUGMARK" record -q --plan differ/share-$k.pmp -o part-$k -- ./differs >out 2>err
	done
	"$PUGMARK" merge -o whole part-1 part-2 >out 2>err
	status=$?
	"$PUGMARK" dump whole | grep -q ' gap diverged ' && [ $status = 3 ] &&
		grep -q 'part, in' err && told_apart=$((told_apart + 1))
done
claim 'runs that differ are told apart, each time' is $told_apart $pairs
conclude
