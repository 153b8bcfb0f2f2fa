# SPDX-License-Identifier: LGPL-2.1-or-later
# bash: functions, arrays, expansion, traps, subshells, pipes
BINARY=/usr/bin/bash
QUICK=1
prepare() {
	cat >work.sh <<'SH'
set -eu
fact() { if (($1 < 2)); then echo 1; else echo $(($1 * $(fact $(($1 - 1))))); fi; }
[ "$(fact 8)" = 40320 ]
declare -A count
for w in one two three two three three; do count[$w]=$((${count[$w]:-0} + 1)); done
[ "${count[three]}${count[two]}${count[one]}" = 321 ]
x="some/long/path.tar.gz"
[ "${x##*/} ${x%%.*} ${x/long/short} ${x^^}" = "path.tar.gz some/long/path some/short/path.tar.gz SOME/LONG/PATH.TAR.GZ" ]
got=0
trap 'got=$((got + 1))' USR1
for i in 1 2 3; do kill -USR1 $$; done
[ $got = 3 ]
sum=0
while read -r a b; do sum=$((sum + a * b)); done < <(for ((i = 0; i < 300; i++)); do echo "$i $((i % 7))"; done)
case "$sum" in [0-9]*) ;; *) exit 1 ;; esac
[[ "key=value" =~ ^([a-z]+)=([a-z]+)$ ]] && [ "${BASH_REMATCH[2]}" = value ]
printf '%s\n' {c..a}{1..3} | while read -r l; do echo "$l"; done | { mapfile -t m; [ ${#m[@]} = 9 ]; }
echo "sum $sum"
SH
}
run() { traced work.sh >out && grep -q '^sum ' out; }
