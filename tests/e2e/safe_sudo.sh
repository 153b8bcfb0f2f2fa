#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_sudo.sh: a user calls sudo, the real one, to record a program of his. The recording is his and
# opens for him and for nobody else. He is made up: passwd and sudoers are other files in this script's
# own mount namespace, those of the machine stay as they are. What root has run as somebody else types
# nothing into root's terminal.
set -u
if [ "${1:-}" != apart ]; then
	. "$(dirname "$0")/../support/claims.sh"
	needs_recording
	needs sudo setpriv unshare python3
	exec unshare --mount --propagation private "$0" apart
fi
. "$(dirname "$0")/../support/claims.sh"
him=54321 other=54322
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
${CC:-cc} -O1 -o target "$tests/programs/views.c" || skip 'no compiler for the program'
cp "$(readlink -f "$(command -v id)")" id
cp "$PUGMARK" pugmark # where others can run it
{
	cat /etc/passwd
	echo "pugmark-him:*:$him:$him::$dir:/bin/sh"
	echo "pugmark-other:*:$other:$other::$dir:/bin/sh"
} >passwd
echo "pugmark-him ALL=(root) NOPASSWD: $dir/pugmark" >sudoers
chmod 440 sudoers
mount --bind passwd /etc/passwd && mount --bind sudoers /etc/sudoers || skip 'no mounts here'
as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }
as $him sudo -n "$dir/pugmark" --version >out 2>err || skip "sudo does not work here: $(cat err)"
mkdir home && cp target home/his && chown -R $him:$him home
cd home || exit 1

claim 'he cannot record by himself' eval '! as $him ../pugmark record -q -o alone -- ./his'
for run in first second; do
	claim "sudo, $run: a file of his is recorded" as $him sudo -n "$dir/pugmark" record -q -o rec -- ./his
done
claim 'all of it is his, and nobody else may so much as look' is \
	"$(find rec -printf '%U:%G %m\n' | sort -u)" "$him:$him 600"$'\n'"$him:$him 700"
claim 'and of what was moved aside' is \
	"$(find rec.old -printf '%U:%G %m\n' | sort -u)" "$him:$him 600"$'\n'"$him:$him 700"
for command in verify report dump; do
	claim "$command opens it for him" as $him ../pugmark $command rec
	claim "$command opens it for nobody else" \
		eval '! as $other ../pugmark $command rec >../out 2>../err && grep -q "rec.*ermission denied" ../err'
done
claim 'and he may remove it' as $him rm -r rec rec.old
# What the program runs as, unless he says so, is what sudo made of him; --user gives him back.
as $him sudo -n "$dir/pugmark" record -q --user pugmark-him -o rec -- ../id -u >../out 2>../err
claim '--user: the program runs as him' is "$(cat ../out)" $him
claim '--user: the recording is his' is "$(stat -c %u:%a rec)" $him:700

# A terminal of root's, in which `record --user` runs what types into it; then what a shell would read.
cat >../type.c <<'EOC'
#include <sys/ioctl.h>
int main(void)
{
	for (const char *c = "whoami\n"; *c; c++)
		if (ioctl(0, TIOCSTI, c))
			return 1;
	return 0;
}
EOC
cat >../terminal.py <<'EOP'
import os, pty, select, sys
pid, terminal = pty.fork()
if not pid:
    os.spawnvp(os.P_WAIT, sys.argv[1], sys.argv[1:])
    typed = os.read(0, 100) if select.select([0], [], [], 1)[0] else b""
    open("typed", "wb").write(typed)
    os._exit(0)
try:
    while os.read(terminal, 1000):
        pass
except OSError:
    pass
os.waitpid(pid, 0)
EOP
cd ..
${CC:-cc} -O1 -o type type.c || skip 'no compiler for the program'
if [ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null)" = 0 ]; then
	skipped=$((skipped + 1))
	echo 'skip: this kernel lets nobody type into a terminal'
else
	claim 'a program can type into a terminal here' eval 'python3 terminal.py ./type && grep -q whoami typed'
	claim '--user: it is run in one' eval 'rm typed; python3 terminal.py "$PUGMARK" record -q --user $him -o rec -- ./type && test -e rec/meta.json'
	claim "--user: and cannot type into root's" eval 'test -e typed && ! grep -q whoami typed'
fi
conclude
