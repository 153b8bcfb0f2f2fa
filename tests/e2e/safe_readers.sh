#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_readers.sh: root reads what another user made as that user: without capabilities, for good,
# without sockets, and no file opens that he may not read himself, also where he swaps his recording for
# a link while it is read. What is root's own is read as before.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs setarch
work_in_own_folder
chmod 755 "$dir"
user=54321
${CC:-cc} -O1 -g -o target "$tests/programs/views.c" || skip 'no compiler for the programs'
"$PUGMARK" record -q -o own -- ./target >out 2>err || skip "recording does not work here: $(cat err)"
mkdir his && cp -r own his/rec && cp target his/ && chown -R $user:$user his

claim "root reads its own" "$PUGMARK" verify own
claim "and another user's" "$PUGMARK" verify his/rec
claim "both alike" [ "$("$PUGMARK" dump own | md5sum)" = "$("$PUGMARK" dump his/rec | md5sum)" ]

status() { # NAME FILE COMMAND...: what the kernel says of it, while nobody takes what it prints
	local name=$1 pid
	shift
	mkfifo "$name.pipe"
	"$@" >"$name.pipe" 2>"$name.err" </dev/null &
	pid=$!
	exec 7<"$name.pipe"
	for _ in $(seq 50); do
		grep -q '^Seccomp:	2' /proc/$pid/status && break
		sleep 0.1
	done 2>/dev/null
	cat /proc/$pid/status >"$name.status" 2>/dev/null
	exec 7<&-
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
}
# Long enough to fill a pipe.
${CC:-cc} -O1 -g -o loop -x c - <<'C'
__attribute__((noinline)) static void leaf(int i) { __asm__ volatile("" ::"r"(i)); }
int main(void) { for (int i = 0; i < 20000; i++) if (i % 3) leaf(i); }
C
"$PUGMARK" record -q -o long -- ./loop >out 2>err
cp -r long his/long && chown -R $user:$user his/long
for command in dump replay raw; do
	status $command "$PUGMARK" $command his/long
	claim "$command: is that user" grep -q "^Uid:	$user	$user	$user	$user$" $command.status
	claim "$command: has no capability" grep -q '^CapEff:	0000000000000000$' $command.status
	claim "$command: gets none" grep -q '^NoNewPrivs:	1$' $command.status
	claim "$command: has a filter" grep -q '^Seccomp:	2$' $command.status
done

# A plan that is a link to what only root may read.
mkdir secret && cp own/plan-0.pmp secret/ && chmod 700 secret
cp -r his/rec his/link && rm his/link/plan-0.pmp && ln -s "$dir/secret/plan-0.pmp" his/link/plan-0.pmp
chown -hR $user:$user his/link
"$PUGMARK" verify his/link >out 2>&1
claim "what he may not read is not read for him" [ $? = 1 ]

# Everybody's readers are bounded, and can do nothing but read; what a bound ends says what it read.
status own-dump "$PUGMARK" dump long
claim "root's own: a filter as well" grep -q '^Seccomp:	2$' own-dump.status
if command -v setpriv >/dev/null; then
	cp "$PUGMARK" reader && chmod 755 reader
	status user-dump setpriv --reuid $user --regid $user --clear-groups ./reader dump his/long
	claim "a user's own: a filter as well" grep -q '^Seccomp:	2$' user-dump.status
fi
limits() { # COMMAND...: its bounds, while nobody takes what it prints
	"$@" >limits.pipe 2>err </dev/null &
	local pid=$!
	exec 7<limits.pipe
	await grep -q '^Seccomp:	2' /proc/$pid/status
	cat /proc/$pid/limits
	exec 7<&-
	kill -9 $pid
	wait $pid
}
mkfifo limits.pipe
limits "$PUGMARK" replay long >limits 2>said
for bound in 'cpu time' 'data size' 'open files'; do
	claim "a bound of $bound" eval 'grep -q "^Max $bound" limits && ! grep -q "^Max $bound *unlimited" limits'
done
claim 'no core dump' grep -q '^Max core file size  *0 ' limits
"$PUGMARK" replay long >limits.pipe 2>time.err </dev/null &
reader=$!
exec 7<limits.pipe
await grep -q '^Seccomp:	2' /proc/$reader/status
kill -XCPU $reader # as the kernel does where the bound is reached
wait $reader
claim 'a bound of time that is reached is an error' is $? 1
exec 7<&-
claim 'and names the file' grep -q '^pugmark: long: to read it took more than 14400 s of a processor' time.err

# What an option names behind "=" is looked at as well: as that user root's own cannot be read.
"$PUGMARK" encode --fsa --format json own >his/model 2>err
claim "a model of root's own" "$PUGMARK" check --model=his/model own
chown $user:$user his/model
chmod 700 own
"$PUGMARK" check --model=his/model own >out 2>err
claim "behind = as well" grep -q 'Permission denied' err

# Words are taken as the commands take them: behind -- nothing is an option, and one letter's value may
# follow others in one word.
mkdir dashed && cp -r his/long dashed/-xlong && cp -r his/long dashed/-efile && chown -hR $user:$user dashed/-*
for name in -xlong -efile; do
	status "dashed$name" env -C dashed "$PUGMARK" dump -- $name
	claim "behind -- as well: $name" grep -q "^Uid:	$user	$user	$user	$user$" "dashed$name.status"
done
mkdir -m 1777 common && cp own/plan-0.pmp common/ && cp target common/
whole=pugmark-whole-$$
parts() { # in a folder in which others make files
	cd common && "$PUGMARK" plan --shares 2 -o set ./target && for k in 1 2; do
		setarch -R "$PUGMARK" record -q --plan set/share-$k.pmp -o part-$k -- ./target || return
	done
}
(parts) >out 2>err
claim "-qoNAME is written where it was asked for" eval "(cd common && '$PUGMARK' merge -qo$whole part-1 part-2) &&
	[ -d common/$whole ] && ! [ -e /$whole ]"
rm -rf "/${whole:?}"

# He takes his recording away while it is looked who owns it, and puts it back before it is opened.
needs setpriv
mkdir -m 1777 shared && cp -a his/link shared/rec
${CC:-cc} -O1 -o toggle -x c - <<'C'
#include <stdio.h>
int main(int argc, char **argv) { for (; argc > 2;) rename(argv[1], argv[2]), rename(argv[2], argv[1]); }
C
setpriv --reuid $user --regid $user --clear-groups ./toggle shared/rec shared/away &
started+=($!)
as_root=0
for _ in $(seq 60); do
	"$PUGMARK" verify "$dir/shared/rec" >out 2>&1 && as_root=$((as_root + 1))
	(cd shared && "$PUGMARK" verify rec >out 2>&1) && as_root=$((as_root + 1))
done
claim "what was away for a moment is not read as root" [ $as_root = 0 ]
kill "${started[@]}"
claim "in such a folder root's own is read" sh -c "cp -r own shared/roots && cd shared &&
	'$PUGMARK' verify roots && '$PUGMARK' dump roots --format text"

claim "root's own in a folder of his is read" sh -c "cp -r own his/roots && '$PUGMARK' verify his/roots"
claim "two owners are an error" sh -c "mkdir hers && cp -r his/rec hers/ && chown -R 54322 hers &&
	! '$PUGMARK' diff his/rec hers/rec 2>err && grep -q 'several users' err"
claim "root's is still root's" "$PUGMARK" verify own
conclude
