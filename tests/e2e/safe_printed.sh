#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# safe_printed.sh: a program whose file, functions, source, library, arguments and threads have names
# that move a terminal's cursor, turn the direction of writing, end a string, or are no text: whatever
# command prints of it, in whatever format, has no such byte.
set -u
. "$(dirname "$0")/../support/claims.sh"
needs_recording
needs python3 objcopy protoc ${CC:-cc}
work_in_own_folder

# ESC, C1 as a byte and as a character, an override, no UTF-8, quotes, a tag, a command, a line feed.
h=$'h\x1b[31m\x9b\xc2\x9b1m\xe2\x80\xaer\xff\xfe"\'<script>$(touch pwned)`id`&\\;{}|\x7f\nINJECTED'
comm=$'\x1b[31m\xc2\x9b\xe2\x80\xae\xff\xfe"'
cat >main.c <<'EOF'
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
struct HOSTILEtype { int HOSTILEmember; } HOSTILEglobal;
int HOSTILElibrary(int);
#line 1 "HOSTILEsource.c"
__attribute__((noinline)) int HOSTILEfunction(int HOSTILEargument)
{
	struct HOSTILEtype local = {HOSTILEargument};
	HOSTILEglobal = local;
	return HOSTILElibrary(HOSTILEargument) + HOSTILEglobal.HOSTILEmember;
}
__attribute__((noinline)) int greets(const char *HOSTILEtext) { return *HOSTILEtext; }
__attribute__((noinline)) int outer(int n) { return n ? outer(n - 1) + HOSTILEfunction(n) : 0; }
void *thread(void *name) { prctl(PR_SET_NAME, name); return (void *)(long)outer(3); }
int main(int argc, char **argv)
{
	pthread_t id;
	prctl(PR_SET_NAME, argv[1]);
	greets(argv[1]);
	if (argc > 2)
		return !outer(4);
	pthread_create(&id, NULL, thread, argv[1]);
	pthread_join(id, NULL);
	return !outer(2);
}
EOF
cat >other.c <<'EOF'
int HOSTILElibrary(int);
__attribute__((noinline)) static int inner(int n) { return n * 3; }
int HOSTILElibrary(int n) { return inner(n) + 1; }
EOF
# Symbols by objcopy, what DWARF says by its bytes.
name_all() { # OBJECT
	local options=() word
	for word in function global library; do
		options+=(--redefine-sym "HOSTILE$word=$h$word")
	done
	objcopy "${options[@]}" "$1" && python3 - "$1" <<'EOF'
import sys
path = sys.argv[1]
data = open(path, "rb").read()
open(path, "wb").write(data.replace(b"HOSTILE", b"\x1b\xe2\x80\xae\xff\"<"))
EOF
}
cc=${CC:-cc}
# shellcheck disable=SC2016
library=$'lib\x1b[31m\xc2\x9b1m\xe2\x80\xaer\xff\xfe"<script>$(touch pwned)INJECTED.so'
program=$'prog\x1b[31m\xc2\x9b1m\xe2\x80\xaer\xff\xfe"\'<script>$(touch pwned)INJECTED'
$cc -g -O1 -fno-inline -fPIC -c main.c && $cc -g -O1 -fno-inline -fPIC -c other.c && name_all main.o && name_all other.o &&
	$cc -shared -o "$library" other.o -Wl,-soname,"$library" &&
	$cc -o "$program" main.o "./$library" -lpthread -Wl,-rpath,"$dir" || skip 'no such names by this compiler'
python3 - "$library" "$program" <<'EOF' || skip 'the names were lost'
import sys
for path in sys.argv[1:]:
    assert b"h\x1b[31m" in open(path, "rb").read()
EOF
rec=$'rec\x1b[31m\xe2\x80\xae\xff'

coproc PRINTED { exec "$tests/support/printed.py"; }
started+=("$PRINTED_PID")
printed() { # KIND FILE: it has no such byte
	local line
	echo "$1 $2" >&"${PRINTED[1]}"
	while read -r line <&"${PRINTED[0]}"; do
		case $line in none) return 0 ;; found) return 1 ;; *) echo "$line" ;; esac
	done
	return 1
}
echo plain >out
claim 'what has none is told' printed text out
for byte in '\x1b[31m' '\xc2\x9b' '\xe2\x80\xae' '\xff'; do
	printf "a$byte" >out
	claim "$byte is found" eval '! printed text out'
done

n=0
shows() { # KIND ARGUMENT...: what the command prints, there or as an error
	local kind=$1 status=0
	shift
	"$PUGMARK" "$@" >out 2>err </dev/null || status=$?
	n=$((n + 1))
	case $status in 0 | 3 | 4) ;; *) echo "status $status"; cat err; return 1 ;; esac
	printed "$kind" out && { [ ! -s err ] || printed text err; }
}
errs() { # ARGUMENT...
	"$PUGMARK" "$@" >out 2>err </dev/null && return 1
	n=$((n + 1))
	printed text err && { [ ! -s out ] || printed text out; }
}
all() { # KIND ARGUMENT...
	claim "$1: ${*:2}" shows "$@"
}

record() { # ARGUMENT...
	"$PUGMARK" record "$@" >out 2>err </dev/null
	[ $? -lt 4 ] && [ -e "$2/meta.json" ] && printed text err
}
claim 'record says no such byte' record -o "$rec" --module "$library" --args 2 -- "./$program" "$comm"
claim 'nor for paths' record -o "$rec-paths" --level paths -- "./$program" "$comm"
claim 'nor for values' record -o values --level values -- "./$program" "$comm" "$h" # of one thread
claim 'nor by patching' record -o patched --carrier patch --no-times -- "./$program" "$comm"
claim 'nor of arguments' record -o told --args-of '*' --handle stdio -- "./$program" "$comm" "$h"
cp -r "$rec" again

f=$h
f+=function
all text cfg "$program"
for format in text json; do
	all $format cfg --format $format "$program"
	all $format cfg --format $format --list "$program"
	all $format cfg --format $format -F "$f" "$program"
	all $format cfg --format $format -c -F "$f" "$program"
	all $format cfg --format $format -g "$program"
	all $format plan --fresh --format $format "$program"
	for show in --stats --list --check; do
		all $format plan --format $format $show "$program"
	done
	all $format plan --format $format --explain "$f" "$program"
	all $format verify --format $format "$rec"
	all $format replay --format $format "$rec"
	all $format replay --paths --format $format "$rec-paths"
	all $format report --format $format "$rec"
	all $format report --distribution --format $format "$rec"
	all $format report --slowest 5 --format $format "$rec"
	all $format diff --format $format "$rec" values
	all $format values --format $format values
	all $format values --format $format values "$f"
done
all text cfg -d "$f" "$program"
all text report --callers '*' "$rec"
all text report --callees '*' "$rec"
all text cfg -c -d "$f" "$program"
all text cfg -e - "$program"
all text plan --dot --explain "$f" "$program"
all text report --lines --binary "$program" "$rec-paths"
all text report --coverage --binary "$program" "$rec-paths"
all text replay --runs "$rec"
all text dump "$rec"
all ndjson dump --format ndjson "$rec"
all text raw "$rec"
all html report --html -o - "$rec"
for selection in --strings '--class *' '--object *' --dag '--n-level 2' '--intervals 3' --callees; do
	for encoding in '' --grammar-rle --fsa; do
		for format in text json xml; do
			# shellcheck disable=SC2086 # several words
			"$PUGMARK" encode ${selection/ *} ${selection#--*[a-z]} $encoding --format $format "$rec" >out 2>err </dev/null
			[ $? = 0 ] || [ -s out ] || continue # which go together is encode.sh's
			n=$((n + 1))
			claim "$format: encode $selection $encoding" printed $format out
		done
	done
done
all text encode --dag --format dot "$rec"
all text encode --strings --fsa --format dot "$rec"
if command -v dot >/dev/null; then
	all xml encode --dag --format svg "$rec"
fi
all json encode --fsa --format json "$rec"
cp out model.json
for format in text json; do
	all $format check --format $format --model model.json "$rec"
	all $format check --format $format --model model.json values
done
# The texts of the file `exported` in place of it, a line each: its numbers are any bytes.
texts_of_perfetto() {
	protoc --proto_path="$tests/support" --decode=Trace "$tests/support/perfetto.proto" <exported >decoded &&
		python3 - <<'EOF' >exported
import codecs, re, sys
for text in re.findall(rb'"((?:[^"\\]|\\.)*)"', open("decoded", "rb").read()):
    sys.stdout.buffer.write(codecs.escape_decode(text)[0] + b"\n")
EOF
	claim 'perfetto: its texts are read' grep -q outer exported
}
for format in perfetto:binary chrome:json speedscope:json folded:text pprof:binary callgrind:text sqlite:binary; do
	rm -f exported
	claim "export ${format%:*}" "$PUGMARK" export --format "${format%:*}" -o exported "$rec"
	[ "${format%:*}" != pprof ] || { gzip -dc exported >plain && mv plain exported; } # packed bytes are any
	[ "${format%:*}" != perfetto ] || texts_of_perfetto
	claim "export ${format%:*}: no such byte" printed "${format#*:}" exported
done
claim 'export parquet' "$PUGMARK" export --format parquet -o exported.parquet "$rec"
for table in exported.parquet/*; do
	claim "export parquet: $table" printed binary "$table"
done
for format in text json; do
	for options in '--request outer' '--request outer --slowest 3' '--outliers' \
		'--sort calls' '--slowest 3 --longer 0'; do
		# shellcheck disable=SC2086 # several words
		"$PUGMARK" report $options --format $format "$rec" >out 2>err </dev/null
		n=$((n + 1))
		claim "$format: report $options" eval 'printed $format out && { [ ! -s err ] || printed text err; }'
	done
	all $format report --when 'outer > 1ns' --format $format "$rec"
	all $format diff --time --format $format "$rec" again
	all $format diff --match --format $format "$rec" again
done
printf '%s 1\n*greets 1\nouter *1\n' "$(tr -d ' \n' <<<"$f")" >handle$'\x1b[31m\xe2\x80\xae"<'
for format in text json xml; do
	all $format encode --handle handle$'\x1b[31m\xe2\x80\xae"<' --format $format told
	all $format encode --handle handle$'\x1b[31m\xe2\x80\xae"<' --fsa --format $format told
done
all json encode --handle handle$'\x1b[31m\xe2\x80\xae"<' --fsa --format json told
cp out objects.json
sed 's/"arcs":\[\[/"arcs":[["other",0,1],[/; s/\["[^"]*greets/["x/g' out >other.json
for format in text json; do
	all $format check --format $format --model objects.json told
	claim "check of objects that deviate: $format" eval '"$PUGMARK" check --format $format --model other.json told >out 2>err; printed $format out'
	all $format replay --format $format told # with arguments
	all $format report --format $format told
done
all html report --html --request outer -o - told
for format in perfetto:binary chrome:json sqlite:binary; do
	rm -f exported
	claim "arguments: export ${format%:*}" "$PUGMARK" export --format "${format%:*}" -o exported told
	[ "${format%:*}" != perfetto ] || texts_of_perfetto
	claim "arguments: export ${format%:*}: no such byte" printed "${format#*:}" exported
done
all text top --once "$rec"
all text top --once -- "./$program" "$comm"
all html report --html --request outer --against "$rec-paths" -o - "$rec"
all json report --request outer --format json "$rec"
claim 'export ctf' "$PUGMARK" export --format ctf -o exported.ctf "$rec"
sed 1d exported.ctf/metadata | tr -d '\t' >metadata
claim 'export ctf: the metadata' printed text metadata
for stream in exported.ctf/stream_*; do
	claim "export ctf: $stream" printed binary "$stream"
done

for form in dot:text svg:xml html:html; do
	all "${form#*:}" why --format "${form%:*}" values "$f"
done
for format in text json; do
	all $format doctor --format $format "$program"
	all $format why --format $format values "$f"
	all $format then --format $format values "$f"
	all $format match --format $format values values
	all $format wet --format $format values
done
claim 'merge: parts that are none' errs merge -o whole "$rec" again
claim 'distribute: no such option' errs distribute "--$h" -- "./$program" "$comm"
claim 'gdb: not of level values' errs gdb --serve "$rec"

# What is wrong, and with what.
for command in cfg plan verify replay report dump encode values gdb raw; do
	claim "no such file: $command" errs $command "nowhere/$h"
	claim "no such format: $command" errs $command --format "$h" "$rec"
	claim "no such option: $command" errs $command "--$h" "$rec"
	claim "no such function: $command" errs $command -F "none$h" --function "none$h" --only "$h" "$program"
done
claim 'no such program' errs record -o rec2 -- "./none$h"
claim 'no such module' record -o rec2 --module "none$h" -- "./$program" "$comm"
claim 'no such folder' errs record -o "none$h/rec2" -- "./$program" "$comm"
claim 'no such user' errs record -o rec2 --user "$h" -- "./$program" "$comm"
claim 'no ELF file' eval 'echo text >"$h"; errs plan "$h"'
claim 'no recording' errs verify "$h"
claim 'no model' errs check --model "$h" "$rec"
claim 'no plan' errs plan --check --plan "$h" "$program"
claim 'nothing was run' eval '[ ! -e pwned ]'
claim "enough was printed ($n)" [ $n -gt 100 ]
conclude
