#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_written.sh: a link that another user lays where something is to be written is not followed, at
# the end of a path nor on the way; one's own and root's are. Of plans, models, exports, pages, shares,
# and of what the cache keeps: which functions were taken out, what was tried of this kernel. What is
# read as a file is one: a FIFO in the place of a saved model, a list or a part of a recording does not
# make a command wait.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 setpriv
work_in_own_folder
printf 'int f(int x) { return x * 2; }\nint main(int c, char **v) { (void)v; int s = 0; for (int i = 0; i < 2000; i++) s += f(c + i); return s == 1; }\n' >p.c
${CC:-cc} -O1 -fno-inline -o prog p.c || skip 'no compiler for the program'
"$PUGMARK" record -q -o rec -- ./prog || skip 'nothing can be recorded here'
"$PUGMARK" encode --fsa --format json rec >model.json

stranger() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
mkdir theirs ours kept
chmod 755 .
chmod 1777 theirs
echo precious >kept/file
stranger ln -s "$dir/kept/file" theirs/link
stranger ln -s "$dir/kept" theirs/way
stranger ln -s "$dir/kept/new" theirs/dangling
ln -s "$dir/ours/real" theirs/own

untouched() { is "$(cat kept/file) $(echo kept/*)" 'precious kept/file'; }
refused() { # ARGUMENT...: %: where to
	local to
	for to in link dangling way/file way/new; do
		timeout 60 "$PUGMARK" "${@//%/theirs/$to}" >out 2>err </dev/null
		claim "a stranger's $to: ${*:1:3}" is $? 1
		claim "$to: in one line" is "$(wc -l <err)" 1
		claim "$to: nothing was written there" untouched
	done
}
refused plan --fresh -o % prog
refused cfg -e % prog
refused plan --fresh --shares 2 -o % prog
for format in perfetto sqlite ctf parquet; do
	refused export --format $format -o % rec
done
refused reduce --input p.c --while 'exit = 0' --tries 4 -o % -- ./prog
stranger ln -s "$dir/kept/file" theirs/part.001
fails 1 'belongs to another user' export --format chrome --split 1M -o theirs/part rec
claim 'a part of an export: its end is untouched' untouched
refused report --html -o % rec
claim "one's own link is followed" eval '"$PUGMARK" plan --fresh -o theirs/own prog >out && [ -s ours/real ] && [ -L theirs/own ]'
claim 'exports are private' eval '(umask 0; "$PUGMARK" export --format folded -o private rec && is "$(stat -c %a private)" 600)'
claim 'a folder of them as well' eval '(umask 0; "$PUGMARK" export --format ctf -o private.ctf rec &&
	is "$(stat -c %a private.ctf) $(stat -c %a private.ctf/metadata)" "700 600")'

# The cache: names that can be known, links of a stranger in the place of each.
cached() { # NAME
	find cache -name "$1" -type f | head -n 1
}
"$PUGMARK" record -q -o taken --max-overhead 1 -- ./prog >out 2>err
find cache -type d -exec chmod 711 {} +
for name in 'shapes-*' '*.plan'; do
	file=$(cached "$name")
	claim "the cache has $name" [ -n "$file" ]
	[ -n "$file" ] || continue
	rm "$file"
	mkdir -p "$(dirname "$file")"
	chmod 1777 "$(dirname "$file")"
	stranger ln -s "$dir/kept/file" "$file"
	timeout 60 "$PUGMARK" record -q -o again -- ./prog >out 2>err
	claim "a link as $name: its end is untouched" untouched
	rm -f "$file"
	chmod 711 "$(dirname "$file")"
done
mkdir -p cache/pugmark/taken-out
chmod 1777 cache/pugmark/taken-out
for i in 1 2; do # by now the name is known
	for name in $(cd cache/pugmark/taken-out && ls -A); do
		rm -f "cache/pugmark/taken-out/$name"
		stranger ln -s "$dir/kept/file" "cache/pugmark/taken-out/$name"
		stranger ln -s "$dir/kept/file" "cache/pugmark/taken-out/$name.new"
	done
	timeout 60 "$PUGMARK" record -q -o taken --max-overhead 1 -- ./prog >out 2>err
	claim "what was taken out ($i): nothing else was written" untouched
done
chmod 700 cache/pugmark/taken-out

# FIFOs.
quick() { timeout 60 "$PUGMARK" "$@" >out 2>err </dev/null; [ $? -lt 124 ]; }
mkfifo fifo
claim 'a FIFO as a model' quick check --model fifo rec
claim 'is said' grep -q 'not a regular file' err
claim 'a FIFO as a list of imports' quick record -q -o values --level values --imports fifo -- ./prog
claim 'is said' grep -q 'not a regular file' err
cp -r rec broken
rm broken/events
mkfifo broken/events
for command in verify dump raw 'export --format folded -o -' 'merge -q -o whole broken'; do
	# shellcheck disable=SC2086 # several words
	claim "a FIFO in a recording: $command" quick $command broken
done
conclude
