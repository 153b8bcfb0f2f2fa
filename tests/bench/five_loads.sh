# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034,SC2154
# five_loads.sh: the five programs that benchmarks record, gzip-c gzip-d lua sqlite3 git-log, and what
# they have to do; sourced behind lib.sh.
work=$PWD/tests/bench/loads

# shellcheck source=tests/oracle/inputs.sh
. tests/oracle/inputs.sh
text() { SCALE=1 make_text "$1"; } # LINES
git_history() { # DIR: 240 commits to 12 files
	git init -q -b main "$1"
	for i in $(seq 240); do
		printf 'commit refs/heads/main\ncommitter a <a@example.org> %d +0000\ndata 9\ncommit%03d\n' \
			$((1577836800 + i * 60)) "$i"
		printf 'M 644 inline file%d\ndata <<END_OF_FILE\n' $((i % 12))
		text $((20 + i % 60)) | awk -v i="$i" '{ print } NR % 7 == i % 7 { print "changed " i }'
		printf 'END_OF_FILE\n\n'
	done | git -C "$1" fast-import --quiet
}

# Sets program (the copy), args, and what of it is traced: the file, and as the options of `record` in
# what. A library is planned by `record` itself.
set_up_load() { # NAME
	unset LD_LIBRARY_PATH
	traced=
	case $1 in
	gzip-c) program=$(copy gzip) && text 6000 >"$tmp/text" && args=(-c "$tmp/text") ;;
	gzip-d) program=$(copy gzip) && text 300000 | gzip -c >"$tmp/text.gz" && args=(-dc "$tmp/text.gz") ;;
	lua) program=$(copy lua5.4) && args=("$work/work.lua") ;;
	sqlite3)
		program=$tmp/sqlite_run args=("$work/work.sql") traced=$tmp/libsqlite3.so.0
		gcc -O2 -o "$program" "$work/sqlite_run.c" -lsqlite3 2>"$tmp/gcc.log" &&
			cp -L "$(ldconfig -p | awk '/libsqlite3.so.0 .*x86-64/ { print $NF; exit }')" \
				"$traced" && export LD_LIBRARY_PATH=$tmp
		;;
	git-log)
		program=$(copy git) && git_history "$tmp/repo" &&
			args=(-C "$tmp/repo" log --stat -p) &&
			export HOME=$tmp GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
		;;
	*) false ;;
	esac || return
	what=(--binary "$program")
	[ -z "$traced" ] || what+=(--no-program --module "$traced")
	traced=${traced:-$program}
}
