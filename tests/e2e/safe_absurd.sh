#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_absurd.sh: ELF files that no linker makes (tests/support/absurd_elf.py: 34 kinds) are planned and
# shown to the end and with little memory, or are an error that names the file. Nor do they cost more
# where others run them while root records: debug sections that inflate to gigabytes, rules for
# unwinding that are remembered millions of times, or name the register 100,000,000.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs python3 /usr/bin/time
TMPDIR=/tmp work_in_own_folder # that others can reach
chmod 755 .
stranger=54321 # of no account
cat >base.c <<'EOC'
#include <stdio.h>
#include <unistd.h>
struct s { int a; struct s *next; };
__attribute__((noinline)) int work(int x, struct s *s) { volatile int y = x; return y * 3 + s->a; }
int main(int argc, char **argv)
{
	struct s s = {1, NULL};
	int n = 0;
	(void)argv;
	for (int i = 0; i < (argc > 1 ? 6000 : 3); i++) {
		n += work(i, &s);
		if (argc > 1)
			usleep(10000);
	}
	return n < 0;
}
EOC
${CC:-cc} -O1 -gdwarf-4 -Wl,-z,noseparate-code,--build-id,--hash-style=gnu -o base base.c || skip 'no compiler for the program'
mkdir elf
python3 "$tests/support/absurd_elf.py" base elf 2>err || skip "the files cannot be made: $(tail -n 1 err)"

# FILE COMMAND...: ends, having had less than 256 MB, well or with an error that names the file.
bounded() {
	local file=$1
	shift
	(ulimit -S -t 30 && /usr/bin/time -q -f %M -o kb "$@" >out 2>err </dev/null)
	local status=$?
	[ $status -le 1 ] || [ $status = 3 ] || { echo "status $status: $(tail -n 1 err)"; return 1; }
	[ "$(tail -n 1 kb)" -lt 262144 ] || { echo "$(tail -n 1 kb) kB"; return 1; }
	[ $status != 1 ] || grep -qF "${file#elf/}" err || { echo "names no file: $(cat err)"; return 1; }
}
for file in elf/*; do
	claim "plan $file" bounded "$file" "$PUGMARK" plan "$file"
	claim "cfg $file" bounded "$file" "$PUGMARK" cfg "$file"
done

if [ "$(id -u)" != 0 ] || [ ! -e /sys/kernel/btf/vmlinux ]; then
	skipped=$((skipped + 1))
	echo 'skip: recording does not work here'
	conclude
	exit
fi
"$PUGMARK" record -q --level paths -o rec -- elf/scopes_200000_deep >out 2>err
claim 'scopes 200,000 deep: lines' bounded scopes_200000_deep "$PUGMARK" report --lines rec
claim 'sections that inflate: arguments' bounded inflates "$PUGMARK" record -q --args-of work -o rec1 -- elf/inflates
claim 'sections that inflate: lines' bounded inflates "$PUGMARK" report --lines rec1
claim 'types in a circle: arguments' bounded types_in_a_circle "$PUGMARK" record -q --args-of work -o rec2 -- elf/types_in_a_circle
claim 'types in a circle: shown' bounded rec2 "$PUGMARK" dump rec2
# Root records what somebody else runs; the first is nothing absurd, and all that is there to find its
# frames by is not compressed.
${CC:-cc} -O1 -g -gz -o elf/compressed base.c || skip 'no compiler for the program'
for kind in compressed inflates rules_remembered_2000000_times rule_of_register_100000000; do
	setpriv --reuid $stranger --regid $stranger --clear-groups elf/$kind on &
	his=$!
	started+=("$his")
	await grep -q "elf/$kind" /proc/$his/maps
	claim "$kind: recorded while it runs" bounded $kind "$PUGMARK" record -q -o "rec-$kind" -p $his --duration 0.2
	claim "$kind: which works" test -e "rec-$kind/meta.json"
	kill $his
done
claim 'sections that are compressed cost no gap' "$PUGMARK" verify rec-compressed
conclude
