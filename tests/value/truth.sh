#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# truth.sh: recordings of level values of real programs, against the processor that executes the same
# again (recorded.c): seven programs, one that is linked statically, and ten by lot of those below. What is traced are copies.
#
#   truth.sh [--quick | NAME...]     N: instructions of each; SEED: of the lot; KEEP: folder, kept
#
# Asked: nothing wrong; the replay comes to the end, and of all instructions up to there at least
# 99.9 % are exact.
set -u
TOOLS=${TOOLS:?} PUGMARK=${PUGMARK:?}
n=${N:-1000000} asked=99.9 seed=${SEED:-1} chosen=
case ${1:-} in
--quick) n=${N:-5000} chosen='gzip lua sqlite3' ;;
?*) chosen=$* ;;
esac
work=${KEEP:-$(mktemp -d)} || exit 1
mkdir -p "$work/lib" "$work/bin"
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0 skipped=0 compared=0

head -c 200000 "$(command -v bash)" >binary
seq 1 3 9000 | sed 's/\([0-9]\)\(.\)$/\2 line \1,x=\1.5 /' >text
tac text >other
gzip -c <binary >binary.gz
printf 'local t={} for i=1,3000 do t[i]=(i*7919)%%101+i/3 end table.sort(t) print(#t,("%%.3f"):format(math.sin(t[7])),("x"):rep(99):gsub("x","yz"))' >in.lua
printf 'scale=40; a(1)*4; for(i=0;i<300;i++) s+=sqrt(i); s\n' >in.bc
{
	printf 'create table t(a,b);'
	for i in {1..200}; do printf 'insert into t values(%d,%d.5);' "$i" $((i * i)); done
	printf 'select sum(a),avg(b),group_concat(a),max(b)/3.0 from t group by a%%3 order by 2;'
} >in.sql
repository() {
	git init -q repo
	for i in 1 2 3 4 5 6; do
		head -n $((i * 100)) text >repo/file
		git -C repo add file
		GIT_COMMITTER_DATE="2020-01-0$i 10:00:00 +0000" git -C repo -c user.name=A -c user.email=a@b \
			commit -q -m "line $i" --date "2020-01-0$i 10:00:00 +0000"
	done
}

# The environment is the same of the recording and of the second run.
clean() {
	env -i PATH=/usr/bin:/bin LC_ALL=C HOME="$work" XDG_CACHE_HOME="$work/cache" \
		GIT_CONFIG_NOSYSTEM=1 LD_LIBRARY_PATH="$work/lib" "$@"
}

# Records the copy of PROGRAM, with the LIBRARIES (parts of their names) traced as well, and compares.
compare() { # NAME LIBRARIES INPUT PROGRAM ARGS...
	local name=$1 libraries=$2 input=$3 program modules=() library path
	shift 3
	[ -z "$chosen" ] || [[ " $chosen " == *" $name "* ]] || return
	program=$(command -v "$1") || {
		printf 'SKIP %s: not installed\n' "$name"
		skipped=$((skipped + 1))
		return
	}
	local copy=bin/${1##*/}
	cp -L "$program" "$copy"
	for library in $libraries; do
		path=$(ldd "$program" | awk -v l="$library" 'index($1, l) == 1 { print $3 }')
		[ -n "$path" ] || continue
		cp -L "$path" "lib/$(basename "$path")"
		modules+=(--module "$library*")
	done
	rm -rf rec
	if ! clean timeout 120 setarch -R "$PUGMARK" record -q --level values "${modules[@]}" -o rec -- \
		"$work/$copy" "${@:2}" <"$input" >output 2>err; then
		printf 'NOT RECORDED %s: %s\n' "$name" "$(head -n 1 err)"
		failed=$((failed + 1))
		return
	fi
	clean timeout 600 "$TOOLS/recorded" -n "$n" -i "$input" -o output rec "$work/$copy" "${@:2}" \
		>said 2>err
	local status=$?
	sed "\$s/^[^ ]* */$(printf '%-10s' "$name") /" said
	head -n 2 err
	compared=$((compared + 1))
	grep -q '; to the end: ' said &&
		sed 's/.*; to the end: *//' said | awk -v asked="$asked" 'END { exit !($1 >= asked) }' || {
		printf 'SHORT %s: less than %s %% exact, or not to the end\n' "$name" "$asked"
		failed=$((failed + 1))
	}
	[ $status = 0 ] || failed=$((failed + 1))
}

# NAME INPUT PROGRAM ARGS: what computes something, writes the same each time, and touches nothing.
pool='sha256sum text sha256sum
md5sum binary md5sum
sha1sum text sha1sum
sha512sum text sha512sum
b2sum text b2sum
cksum binary cksum
sum binary sum
sort text sort -k2n
uniq text uniq -c
wc text wc
tac text tac
rev text rev
nl text nl
od binary od -t x1z -N 20000
expand text expand
unexpand text unexpand -a
fold text fold -w 17
fmt text fmt
pr text pr -2 -t
tr text tr a-z0-9 b-za1-90
cut text cut -c2-5
paste text paste - - text
join text join text text
comm text comm text other
base64 binary base64
base32 binary base32
numfmt text numfmt --field=2 --to=si --invalid=ignore
factor text factor 1234567890123456789 99999999999999997
seq text seq 1 0.3 900
ptx text ptx
head text head -n 900
tail text tail -n 900
cat text cat -A
strings binary strings
objdump binary objdump -h bin/objdump
nm binary nm -D bin/nm
readelf binary readelf -a bin/readelf
size binary size bin/size
c++filt text c++filt _ZNSt6vectorIiSaIiEE9push_backEOi
xxd binary xxd
hexdump binary hexdump -C
column text column -t
look text look 12 text
mawk text mawk {s+=$2;print($1*1.1,s)}
awk text awk {s+=length($0);n[$2]++}END{print(s)}
sed text sed s/line/[&]/g;y/x/y/
grep text grep -E (1|2)+.*5$
diff text diff text other
cmp text cmp text text
perl text perl -ne print(scalar(reverse))
python3 text python3 -S -c print(sum(i*i/7for(i)in(range(3000))))
xz binary xz -0 -T1 -c
zstd binary zstd -q --single-thread --no-asyncio -c
lz4 binary lz4 -q -c
openssl text openssl dgst -sha3-256
iconv text iconv -f latin1 -t utf16
luac5.4 text luac5.4 -l -p in.lua
as text as --version
xmllint text xmllint --version
expr text expr 12345678901234567890*3
printf text printf %.30f\n 0.1
dd text dd bs=7 status=none
tsort text tsort
dash text dash -c i=0;while[$i-lt9];do:;done
bash text bash -c for((i=0;i<900;i++));do((s+=i*i));done;echo$s
diff3 text cmp text other
units text units --version
file binary file --version
tput text tput -T xterm longname'

[ "${1:-}" = --quick ] || repository
compare gzip '' binary gzip -c
compare gunzip '' binary.gz gzip -d -c
compare lua '' text lua5.4 in.lua
compare bc '' in.bc bc -l
compare bzip2 libbz2 binary bzip2 -c
compare git 'libz libpcre2' text git -C repo log --stat
compare sqlite3 libsqlite3 in.sql sqlite3
# All of a C library is traced code, with string functions by AVX-512 where the processor has it.
cat >static.c <<'C'
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int order(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
int main(void)
{
	char *line[3000] = {0}, text[200];
	int n = 0;
	hcreate(4000);
	while (n < 3000 && fgets(text, sizeof(text), stdin)) {
		line[n] = memmove(strdup(text) + 0, text, strcspn(text, "\n"));
		hsearch((ENTRY){line[n], strchr(line[n], ',')}, ENTER);
		n += strstr(line[n], "7,x") != strrchr(line[n], 'q');
	}
	qsort(line, n, sizeof(*line), order);
	for (int i = 0; i < n; i++)
		printf("%s %.3f %zu\n", line[i], atof(line[i]) / 3, strnlen(line[i], 9));
	return 0;
}
C
cc -O2 -w -static -o static static.c 2>/dev/null && compare static '' text "$work/static"
[ "${1:-}" = --quick ] || {
	printf 'by lot, seed %s:\n' "$seed"
	drawn=0
	while [ $drawn -lt 10 ] && read -r name input program args; do
		head -c 4 "$(command -v "$program" || echo /dev/null)" | grep -q ELF || continue
		# shellcheck disable=SC2086
		"$program" $args <"$input" >once 2>/dev/null
		# shellcheck disable=SC2086
		"$program" $args <"$input" >twice 2>/dev/null
		if ! cmp -s once twice; then continue; fi
		drawn=$((drawn + 1))
		# shellcheck disable=SC2086
		compare "$name" '' "$input" "$program" $args
	done < <(printf '%s\n' "$pool" | shuf --random-source=<(yes "$seed"))
}
[ $skipped = 0 ] || printf '%d skipped\n' $skipped
[ $failed = 0 ] || printf '%d comparisons failed\n' $failed
[ $failed = 0 ] && [ $compared != 0 ]
