#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# why_threads.sh: slices of one thread of several. What a thread has written itself while no other ran is
# followed; what others may have written ends the slice, and it says so. Which bytes of which request
# made a reply of redis, whose threads sleep.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3
work_in_own_folder

cat >shares.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int own, theirs, done[2];
static void *other(void *arg)
{
	theirs = atoi(arg);
	write(done[1], "", 1);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;
	pipe(done);
	theirs = atoi(argv[1]);
	pthread_create(&thread, NULL, other, argv[2]);
	read(done[0], &byte, 1);
	usleep(100000);
	own = atoi(argv[3]);
	printf("theirs %d\n", theirs);
	printf("own %d\n", own);
	return 0;
}
C
${CC:-cc} -O1 -w -g -fno-builtin-printf -o shares shares.c -lpthread || skip 'no compiler'
"$PUGMARK" record -q --level values -o rec -- ./shares 1 22 333 >said 2>err
claim 'the program ran' is "$(tr '\n' ' ' <said)" 'theirs 22 own 333 '
line=$(grep -n 'printf("theirs' shares.c | cut -d : -f 1)
"$PUGMARK" why rec "shares.c:$line" theirs >out 2>err
claim 'what another thread has written before, as records say: the slice goes on there' \
	eval "sed -n '/^in task 2/,\$p' out | grep -q 'strtol()'"
claim 'and that thread was followed from its first instruction' eval '! grep -q "entered from outside" out'
claim "not at what this one had written there before" eval '! grep -q "atoi(argv\[1\])" out'
claim 'of the first thread' grep -q 'by task 1' out
"$PUGMARK" why rec --output 'own 333' >out 2>err
claim 'a text behind one that is assumed: its place is not told for sure' \
	eval 'grep -q "some of what was written is assumed" out || grep -q "bytes 10 to 16" out'
claim 'what this thread wrote when the other had ended is followed' grep -q 'strtol()' out
"$PUGMARK" why rec --task 2 --output 'own 333' >out 2>err
claim 'a text that the task asked for has not written' is $? 1
place=shares.c:$(grep -n 'write(done' shares.c | cut -d : -f 1)
"$PUGMARK" why rec --task 2 "$place" >out 2>err
claim 'a place is looked for in the task that is asked for' grep -q "$place, time 1 of 1, by task 2" out
fails 1 'reached 0 times' why rec --task 1 "$place"
fails 1 'it has no values of that task' why rec --task 9 --output own
fails 1 'there are several tasks' why rec --crash
fails 2 "'0' is no number" why rec --task 0 --crash

# Workers that are waited for: a sum is of those that made its parts, and what scaled them of the thread
# that began them.
cat >workers.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static struct job { int from, to, id; } jobs[4];
static int sums[4], scale;
static void *work(void *arg)
{
	struct job *j = arg;
	int sum = 0;
	for (int i = j->from; i < j->to; i++)
		sum += i * scale;
	sums[j->id] = sum;
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread[4];
	scale = atoi(argv[1]);
	for (int i = 0; i < 4; i++) {
		jobs[i] = (struct job){10 * i, 10 * i + 10, i};
		pthread_create(&thread[i], NULL, work, &jobs[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	int all = sums[1] + sums[2];
	printf("all %d\n", all);
	return 0;
}
C
${CC:-cc} -O0 -w -g -o workers workers.c -lpthread
"$PUGMARK" record -q --level values -o workers.rec -- ./workers 3 >printed 2>err
claim 'the workers ran' grep -q 'all 1170' printed
line_of() { grep -n "$1" workers.c | cut -d : -f 1; }
of_task() { python3 -c 'import json, sys
print(*sorted({l["line"] for t in json.load(open("out"))["threads"] if t["task"] == int(sys.argv[1])
    for l in t["lines"] if (l["file"] or "").endswith("workers.c")}))' "$1"; }
has() { [[ " $2 " = *" $(line_of "$1") "* ]] || { echo "$1 is not in $2"; false; }; }
"$PUGMARK" why workers.rec "workers.c:$(line_of 'printf("all')" all --format json >out 2>err
claim 'the slice goes on in the worker that made the first part' has 'sum += i' "$(of_task 3)"
claim 'and in that of the second' has 'sum += i' "$(of_task 4)"
claim 'not in the others' is "$(of_task 2)$(of_task 5)" ''
claim 'from there to what the first thread had read before it began them' has 'scale = atoi' "$(of_task 1)"
claim 'nothing of it ends at others' is "$(python3 -c 'import json
o = json.load(open("out"))["of_others"]
print(o["beside"], o["untold"], o["left_out"], o["calls"])')" '0 0 0 0'
# Two that write at the same time.
cat >race.c <<'C'
#include <pthread.h>
#include <stdio.h>
static int either;
static void *work(void *arg)
{
	for (register long k = 20000000; k; k--)
		asm volatile("");
	either = (long)arg;
	return NULL;
}
int main(void)
{
	pthread_t thread[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("either %d\n", either);
	return 0;
}
C
${CC:-cc} -O1 -w -g -fno-builtin-printf -o race race.c -lpthread
"$PUGMARK" record -q --level values -o race.rec -- ./race >printed 2>err
"$PUGMARK" why race.rec "race.c:$(grep -n 'printf("either' race.c | cut -d : -f 1)" either >out 2>err
claim 'two at the same time: the slice ends' is $? 3
claim 'and says that nothing tells who was last' \
	grep -qE 'nothing says who wrote last .task 1 read it, task [23] may' out
claim 'and goes on in neither' eval '! grep -q "^in task" out'
# On one processor they take turns, and which of them was last is recorded.
"$PUGMARK" record -q --level values --one-processor -o turns.rec -- ./race >printed 2>err
"$PUGMARK" why turns.rec "race.c:$(grep -n 'printf("either' race.c | cut -d : -f 1)" either >out 2>err
claim 'two that take turns on one processor: the slice goes on in the one that wrote last' \
	is "$(grep -o '^in task [23]' out)" "in task $((2 + $(tr -dc 01 <printed)))"

# One connection, three requests.
if ! server=$(command -v redis-server); then
	echo 'skip a reply of redis: no redis-server here'
	skipped=$((skipped + 1))
	conclude
fi
cp "$(readlink -f "$server")" redis-server
"$PUGMARK" record -q --level values -o redis -- ./redis-server --port 0 --unixsocket "$dir/sock" \
	--save '' --appendonly no --pidfile "$dir/pid" >log 2>err &
started+=($!)
python3 - "$dir/sock" "$dir/pid" >talk <<'P'
import os, socket, sys, time
for _ in range(600):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        break
    except OSError:
        time.sleep(0.1)
# It listens before it has written that, and before its threads have begun: they sleep when ten looks in
# a row found them so.
asleep = 0
while not (os.path.exists(sys.argv[2]) and (pid := open(sys.argv[2]).read().strip())):
    time.sleep(0.1)
while asleep < 10:
    threads = [t for t in os.listdir(f"/proc/{pid}/task") if t != pid]
    states = {open(f"/proc/{pid}/task/{t}/stat").read().rsplit(")", 1)[1].split()[0] for t in threads}
    asleep = asleep + 1 if states == {"S"} else 0
    time.sleep(0.1)
def request(*words):
    text = "*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(w), w) for w in words)
    s.sendall(text.encode())
    return text
sent = ""
for words in (("set", "colour", "crimson"), ("append", "colour", "-dusk"), ("get", "colour")):
    at = len(sent)
    sent += request(*words)
    for word in words:
        if word in ("crimson", "-dusk"):
            n = at + sent[at:].index(word)
            print("%d to %d" % (n, n + len(word) - 1))
    reply = s.recv(1000).decode()
print(reply.split("\r\n")[1])
s.sendall(b"*2\r\n$8\r\nshutdown\r\n$6\r\nnosave\r\n")
s.recv(1000)
P
wait "${started[-1]}"
claim 'redis: the reply' is "$(sed -n 3p talk)" crimson-dusk
"$PUGMARK" why redis --output crimson-dusk >out 2>err
claim 'redis: the slice is whole' is $? 0
for word in 1 2; do
	claim "redis: it leads to the bytes of request $word" \
		grep -q "^input: bytes $(sed -n ${word}p talk) of descriptor" out
done
claim 'redis: and to no others' is "$(grep -c '^input:' out)" 2
claim 'redis: through the functions that made it' grep -q ' sdscatlen ' out
conclude
