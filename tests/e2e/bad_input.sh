#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# bad_input.sh: what record says to wrong input and to missing rights, and what all commands make of a
# recording of which any part is missing, empty or of something else: an error that names it, or what
# can still be read, never a crash and never silence.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs gzip
child=
at_end() { [ -z "$child" ] || kill -9 "$child" 2>/dev/null; }
work_in_own_folder
chmod 755 .

fails() { # TEXT COMMAND...: as an error in one line that has TEXT
	local status=0
	"${@:2}" >out 2>err </dev/null || status=$?
	claim "${*:2} is an error" is $status 1
	claim "${*:2} says $1" grep -qF -- "$1" err
	claim "${*:2} says it in one line" is "$(wc -l <err)" 1
}
record() { "$PUGMARK" record -q -o rec "$@"; }

cp "$(command -v gzip)" prog
seq 300 >text

# --- what cannot be recorded --------------------------------------------------------------------------
fails 'no such program' record -- ./nosuch
fails 'no such program in PATH' record -- no-such-program-anywhere
fails 'not an executable file' record -- ./text
fails 'not an executable file' record -- /
printf '#!/bin/sh\necho\n' >script && chmod +x script
fails 'its interpreter (record -- /bin/sh ./script)' record -- ./script
printf '#! /usr/bin/awk  -f \n' >script
fails 'its interpreter (record -- /usr/bin/awk -f ./script)' record -- ./script
printf '#!/usr/bin/env -S awk -f\n' >script
fails "its interpreter (record -- /usr/bin/env '-S awk -f' ./script)" record -- ./script
printf 'text' >plain && chmod +x plain
fails 'not an ELF file' record -- ./plain
head -c 300 prog >prog.cut && chmod +x prog.cut
fails './prog.cut' record -- ./prog.cut
few_files() { (ulimit -n 30 && record "$@"); }
fails 'Too many open files (raise `ulimit -n`)' few_files -- ./prog
"$PUGMARK" record -o $'two\nlines' -- ./prog <text >/dev/null 2>err
claim 'what is printed of a name stays in its line' is "$(grep -vc '^pugmark: ' err)" 0
"$PUGMARK" record -q -o unread -- ./prog <text >/dev/null 2>err
for place in $(seq 80 80 "$(stat -c %s unread/events)"); do # whatever segment it is in
	printf '\377\377\377' | dd of=unread/events bs=1 seek="$place" conv=notrunc 2>/dev/null
done
fails 'of the calls that can be read: it is not complete' "$PUGMARK" encode unread
fails 'no process 4194303' record -p 4194303
fails 'kernel thread' record -p 2
status=0
record -p 1.5 >out 2>err || status=$?
claim 'a process with a fraction is wrong usage' is "$status" 2
fails 'No such file or directory' record -a ./nosuch
mkfifo pipe
fails 'not a regular file' record -a ./pipe --duration 1
touch file
fails 'file' "$PUGMARK" record -q -o file -- ./prog -c text
mkdir full && touch full/precious
fails 'is not a recording' "$PUGMARK" record -q -o full -- ./prog -c text
fails 'nosuch' "$PUGMARK" record -q -o nosuch/rec -- ./prog -c text
fails "no function" record -F nosuchfunction -- ./prog -c text
claim 'none of these has left a recording' [ ! -e rec ]
claim 'or run anything' [ ! -s out ]

# --- a plan of something else ---------------------------------------------------------------------------
"$PUGMARK" plan -o plan prog >out || exit 1
cp "$(command -v sed || command -v cat)" other
fails 'not a plan of ./other: another build-id' record --plan plan -- ./other text
head -c 1000 plan >plan.cut
fails 'cut short' record --plan plan.cut -- ./prog -c text
printf x | dd of=plan bs=1 seek=500 conv=notrunc 2>/dev/null
fails 'damaged' record --plan plan -- ./prog -c text
fails 'not a plan file' record --plan text -- ./prog -c text
fails 'No such file or directory' record --plan nosuch -- ./prog -c text
# The program is another one by now; its cached plan must not be taken.
record -- ./prog -c text >out 2>err
claim 'recording works' is $? 0
cp other prog.new && mv prog.new prog
record -- ./prog -n 2p text >out 2>err
claim 'a program that was replaced is planned anew' is $? 0
claim 'and recorded whole' "$PUGMARK" verify rec
# Another program of the same build-id, as tools that move code leave it: a probe of the one would stand
# in the middle of an instruction of the other.
printf '#include <stdio.h>\n__attribute__((noinline)) int f(int x) { EXTRA; return puts("f") + x; }\nint main(int n, char **v) { (void)v; return f(n + 1) + f(n) == 1; }\n' >twin.c
if ${CC:-cc} -O1 -Wl,--build-id=0x1122334455667788 '-DEXTRA=' twin.c -o one 2>said &&
	${CC:-cc} -O1 -Wl,--build-id=0x1122334455667788 '-DEXTRA=x=x*3+77777;x^=x>>3' twin.c -o two 2>said; then
	"$PUGMARK" plan -o plan.one one >out || exit 1
	fails 'though of the same build-id' record --plan plan.one -- ./two
	for program in one two; do
		record -- ./$program >out 2>err
		claim "$program, of the same build-id, is recorded" is $? 0
		claim "$program, of the same build-id, by a plan of its own" "$PUGMARK" verify rec
	done
	${CC:-cc} -O1 -Wl,--build-id=0x"$(printf '%080d' 7)" '-DEXTRA=' twin.c -o long
	record -- ./long >out 2>err
	claim 'a build-id of 40 bytes is one as well' is $? 0
else
	skipped=$((skipped + 1))
fi

# --- missing rights ---------------------------------------------------------------------------------------
cp "$(command -v gzip)" prog
if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016 # for the shell that is started
	hidden() { unshare -m sh -c 'mount --bind "$0" /sys/kernel/btf/vmlinux && exec "$@"' "$@"; }
	: >nothing
	# shellcheck disable=SC2016
	on_read_only() { mkdir -p kept && unshare -m sh -c 'mount -t tmpfs -o ro none kept && exec "$@"' sh "$@"; }
	fails 'kept/rec: cannot make this folder: Read-only file system' on_read_only "$PUGMARK" record -q -o kept/rec -- ./prog -c text
	# shellcheck disable=SC2016
	claim 'probes are measured where no temporary file may run' unshare -m sh -c \
		'mkdir -p noexec && mount -t tmpfs -o noexec none noexec && TMPDIR=$PWD/noexec XDG_CACHE_HOME=$PWD/noexec exec "$0" doctor' "$PUGMARK"
	for instead in nothing text; do
		fails 'BTF: missing' hidden $instead "$PUGMARK" record -q -o nobtf -- ./prog -c text
		hidden $instead "$PUGMARK" doctor >doctored 2>&1
		claim "doctor says so of $instead" grep -E '^missing +BTF' doctored
	done
fi
if command -v setpriv >/dev/null; then
	mkdir open && chmod 777 open
	drop() { setpriv --inh-caps="-all${2:-}" --bounding-set="-all${2:-}" "${@:3}" "$PUGMARK" record -q -o open/rec -- ./prog -c text; }
	fails 'CAP_BPF: no' drop all
	fails 'CAP_PERFMON: no' drop but ',+bpf'
	fails 'pugmark doctor' drop all
	claim 'CAP_BPF and CAP_PERFMON are all that it takes' drop all ',+bpf,+perfmon'
	setpriv --reuid=65533 --regid=65533 --clear-groups sleep 60 &
	started+=("$!")
	fails 'CAP_SYS_PTRACE' setpriv --inh-caps=-all,+bpf,+perfmon --bounding-set=-all,+bpf,+perfmon \
		"$PUGMARK" record -q -o open/rec -p "$!"
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$PUGMARK" "$@"; }
	if as_nobody --version >out 2>err; then
		fails 'CAP_BPF: no' as_nobody record -q -o open/rec -- ./prog -c text
		claim 'planning needs no rights' as_nobody plan -o open/plan prog
		"$PUGMARK" record -q -o rec -- ./prog -c text >out
		chown -R 65534:65534 rec # it is its owner's alone
		claim 'nor does reading' as_nobody verify rec
		chown -R 0:0 rec
		chmod 600 rec/events
		fails 'cannot read its file' as_nobody verify rec
		chmod 644 rec/events
	fi
fi

# --- what is left of a recording ----------------------------------------------------------------------------
"$PUGMARK" record -q -o rec -- ./prog -c text >out || exit 1
"$PUGMARK" dump rec >whole
lines=$(wc -l <whole)
cp prog $'a new\nline'
"$PUGMARK" record -q -o named -- $'./a new\nline' -c text >out || exit 1
claim 'a name of two lines is one word of one line' is \
	"$("$PUGMARK" dump named | awk '$3 != "a\\x20new\\x0aline"' | wc -l)" 0
claim 'there is something in it' [ "$lines" -gt 100 ]
read_all() { # DIR: each command comes to an end with a status that is meant
	local command status
	for command in verify dump replay report; do
		status=0
		timeout 20 "$PUGMARK" $command "$1" >out 2>err || status=$?
		claim "$command of $1 ends as it should, not with $status" test $status = 0 -o \
			$status = 1 -o $status = 3
		[ $status != 1 ] || claim "$command of $1 says why" [ -s err ]
	done
}
size=$(stat -c %s rec/events)
# Where segments begin: the magic number.
segments=$(LC_ALL=C grep -obUaP '\x8f\x50\x4d\x53\x45\x47' rec/events | cut -d : -f 1)
claim 'there are segments' [ "$(wc -w <<<"$segments")" -ge 2 ]
for at in $segments; do
	for cut in $at $((at + 1)) $((at + 63)) $((at + 64)) $((at + 65)); do
		[ "$cut" -lt "$size" ] || continue
		rm -rf cut && cp -r rec cut && truncate -s "$cut" cut/events
		"$PUGMARK" verify cut >out 2>err
		claim "cut at $cut: not complete" is $? 3
		"$PUGMARK" dump cut 2>/dev/null | grep -v ' gap ' >part
		claim "cut at $cut: dump says so" is "${PIPESTATUS[0]}" 3
		claim "cut at $cut: what is there was so" cmp -s part <(head -n "$(wc -l <part)" whole)
	done
done
# What is compressed in the last segment, its header whole: not what the kernel could not pass on.
rm -rf bad && cp -r rec bad
head -c 8 /dev/zero | tr '\0' x | dd of=bad/events bs=1 seek=$((size - 20)) conv=notrunc 2>/dev/null
"$PUGMARK" verify bad >out
claim 'a damaged segment is a gap' is $? 3
claim 'because of the recording' grep -q '^  gap .*: the recording is damaged or cut off, [1-9][0-9]* lost' out
claim 'and not of what was lost by recording' is "$(grep -c 'while recording' out)" 0
rm -rf bad && cp -r rec bad && truncate -s -100 bad/plan-0.pmp
fails '(copy it again from where it was recorded, or record again)' "$PUGMARK" report bad
for name in events meta.json plan-0.pmp; do
	rm -rf bad && cp -r rec bad && rm bad/$name
	read_all bad
	: >bad/$name
	read_all bad
	head -c 5000 /dev/zero >bad/$name
	read_all bad
	cp prog bad/$name
	read_all bad
	rm bad/$name && mkfifo bad/$name
	read_all bad
	rm bad/$name && mkdir bad/$name
	read_all bad
done
rm -rf bad && cp -r rec bad && rm bad/meta.json
"$PUGMARK" verify bad >out
claim 'without meta.json nothing is called complete' is $? 3
claim 'but read' is "$("$PUGMARK" dump bad 2>/dev/null | wc -l)" "$lines"
rm -rf bad && cp -r rec bad && sed -i 's/"crc"/"brc"/' bad/meta.json
"$PUGMARK" verify bad >out
claim 'a meta.json without a checksum is told' is $? 3
sed -i 's/"name": "prog"/"name": "frog"/' rec/meta.json
"$PUGMARK" verify rec >out
claim 'a meta.json that was changed is told' is $? 3
claim 'by its checksum' grep -q 'checksum' out

conclude
