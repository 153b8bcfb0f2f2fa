#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_folders.sh: recording into a folder that belongs to somebody else. Whatever links and folders he
# lays there, nothing of anybody else is overwritten, removed or renamed; what is recorded belongs to
# who asked for it, and is for nobody else to read. The race against him is in safe_races.sh.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs setpriv
stranger=54321 other=54322 # of no account
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
${CC:-cc} -O1 -o target "$tests/programs/views.c" || skip 'no compiler for the programs'
cat >whoami.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	printf("%d %d %d %s\n", getuid(), getegid(), getgroups(0, NULL), getenv("PUGMARK_TEST"));
	return 0;
}
EOF
${CC:-cc} -O1 -o whoami whoami.c || skip 'no compiler for the programs'
as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
record() { timeout 60 "$PUGMARK" record -q "$@" >out 2>err </dev/null; }
record -o first -- ./target || skip "recording does not work here: $(cat err)"

# What is to stay as it is.
mkdir -m 755 victim
for name in plan-0.pmp meta.json meta.json.new events reserve other; do echo "precious $name" >victim/$name; done
cp -r victim as_it_was
cp -r first root_recording
cp -r first root_as_it_was
victim_is_whole() { diff -r victim as_it_was && diff -r root_recording root_as_it_was; }
theirs() { # a folder of the stranger's, empty
	rm -rf theirs
	mkdir theirs
	chown $stranger:$stranger theirs
}

theirs
as $stranger ln -s "$dir/victim" theirs/rec.pugmark-new
claim 'a link where the folder is made: recorded all the same' record -o theirs/rec -- ./target
claim 'a link where the folder is made: nothing is removed' victim_is_whole

theirs
record -o theirs/rec -- ./target
as $stranger ln -s "$dir/victim" theirs/rec.old
record -o theirs/rec -- ./target
claim 'a link where the old one goes: nothing is removed' victim_is_whole
theirs
record -o theirs/rec -- ./target
as $stranger ln -s "$dir/root_recording" theirs/rec.old
record -o theirs/rec -- ./target
claim 'nor where it leads to a recording' victim_is_whole

theirs
as $stranger ln -s "$dir/root_recording" theirs/rec
record -o theirs/rec -- ./target
claim 'a link where the recording goes: what it leads to stays' victim_is_whole
claim 'and nothing is beside it' [ ! -e root_recording.old ]
theirs
as $stranger ln -s "$dir" theirs/way
record -o theirs/way/root_recording -- ./target
claim 'a link on the way is not followed' is "$? $(grep -c 'another user' err)" '1 1'
claim 'and what it leads to stays' victim_is_whole
theirs
ln -s theirs own_link
record -o own_link/rec -- ./target
claim 'an own link on the way is' "$PUGMARK" verify theirs/rec

# The stranger's recording is his.
theirs
cp -r first theirs/rec
chown -R $stranger theirs/rec
record -o theirs/rec -- ./target
claim 'a recording of somebody else is not moved' is "$? $(ls theirs)" '1 rec'

# Whatever lies in a recording that it does not list stays.
record -o notes -- ./target
echo mine >notes/plan-7.pmp
echo mine >notes/notes.txt
record -o notes -- ./target
record -o notes -- ./target
claim 'files that a recording does not list stay' is "$(cat notes.old/plan-7.pmp notes.old/notes.txt)" $'mine\nmine'

# Whose it is, and who may read it.
umask 0
record -o open -- ./target
umask 777
record -o shut -- ./target
umask 022
for rec in open shut; do
	claim "$rec: the folder is 0700, its files 0600, whatever the umask" \
		is "$(stat -c %a $rec $rec/* | sort | uniq -c | tr -s ' ')" \
		"$(printf ' %d 600\n 1 700' "$(ls $rec | wc -l)")"
done
cp "$PUGMARK" pugmark # where others can run it
SUDO_UID=$stranger SUDO_GID=$stranger record -o sudo -- ./target
claim 'under sudo it belongs to who called sudo' is "$(stat -c %u:%g sudo sudo/* | sort -u)" $stranger:$stranger
claim 'who can read it' as $stranger ./pugmark verify sudo
claim 'and nobody else' eval '! as $other ./pugmark verify sudo'
# A file of the user's own, in a folder of his.
theirs
cp target theirs/his && chown $stranger theirs/his
claim 'sudo, a file of his: it is recorded' eval \
	'(cd theirs && SUDO_UID=$stranger SUDO_GID=$stranger SUDO_USER=him record -o rec -- ./his)'
claim 'sudo, a file of his: all of the recording is his, and nobody else may so much as look' is \
	"$(find theirs/rec -printf '%U:%G %m\n' | sort -u)" "$stranger:$stranger 600"$'\n'"$stranger:$stranger 700"
for command in verify report dump; do
	claim "sudo, a file of his: $command opens it for him" as $stranger ./pugmark $command theirs/rec
	for who in $other 65534; do
		claim "sudo, a file of his: $command opens it for nobody else ($who)" \
			eval '! as $who ./pugmark $command theirs/rec >out 2>err && grep -q "theirs/rec.*ermission denied" err'
	done
done
SUDO_UID=$stranger SUDO_GID=$stranger record -o sudo -- ./target
claim 'and the next one moves it aside' is "$(stat -c %u sudo sudo.old)" "$stranger"$'\n'"$stranger"

# Turns, a folder of recordings; and a recording that nobody keeps, in a temporary folder.
SUDO_UID=$stranger SUDO_GID=$stranger record -o turns --rotate 2 --every 0.3 --duration 1 -a ./target
claim 'under sudo a folder of turns belongs to who called sudo' is "$(stat -c '%u:%g %a' turns)" "$stranger:$stranger 700"
mkdir tmp
cp "$(readlink -f "$(command -v sleep)")" waits
TMPDIR=$dir/tmp SUDO_UID=$stranger SUDO_GID=$stranger timeout 60 "$PUGMARK" top --once -- ./waits 1 >out 2>err </dev/null &
started+=($!)
await eval 'test -e tmp/*/rec/meta.json'
claim 'under sudo top: the recording is of who called sudo, the folder that it is in is not' is \
	"$(stat -c '%u %a' tmp/* tmp/*/rec | tr '\n' ' ')" "0 711 $stranger 700 "
wait $!
claim 'under sudo top: it shows what ran' is "$? $(grep -c calls/s out)" '0 1'
claim 'under sudo top: nothing is left' is "$(ls tmp)" ''

PUGMARK_TEST=kept timeout 60 "$PUGMARK" record -q --user $stranger -o user -- ./whoami >out 2>err
claim '--user runs the program as that user' is "$(cat out)" "$stranger $stranger 0 kept"
fails 2 'goes with one after --' record -o user --user $stranger -a ./target
fails 1 "no user 'nobody-is-called-so'" record -o user --user nobody-is-called-so -- ./whoami
conclude
