# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# programs.sh: the programs whose shares are measured and merged, and what each works on: for a script that is
# in a folder of its own, has sourced tests/oracle/inputs.sh, and has set tmp and tools.

# shellcheck disable=SC2154,SC2034 # see above; program and args are for who calls
# Sets program, a copy, and args. Status 1: it is not here.
set_up() { # NAME
	local from
	case $1 in
	gzip-c) from=$(command -v gzip) args=(-9c text) && make_text 300 >text ;;
	gzip-d) from=$(command -v gzip) args=(-dc text.gz) && make_text 3000 | gzip -nc >text.gz ;;
	lua) from=$tools/liblua args=(work.lua) && SCALE=40 lua_script >work.lua ;;
	bzip2) from=$tools/libbz2 args=(text) && make_text 60 >text ;;
	sqlite) from=$tools/libsqlite args=(:memory: work.sql) && SCALE=200 sqlite_script >work.sql ;;
	git-log) from=$(command -v git) args=(-C repo log --stat -p) && repository ;;
	mawk) from=$(command -v mawk) args=('{ n[$1] += NF } END { for (i in n) print i, n[i] }' text) && make_text 100 >text ;;
	perl) from=$(command -v perl) args=(-ne '$n{$_}++ for split; END { print "$_ $n{$_}\n" for sort keys %n }' text) && make_text 100 >text ;;
	*) return 1 ;;
	esac
	# By its own name: git does what the name says that it is called by.
	[ -n "$from" ] && [ -e "$from" ] && program=./${from##*/} && cp -L "$from" "$program"
}
repository() { (
	export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' HOME=$tmp
	rm -rf repo && mkdir repo && cd repo && git init -q . || return
	for i in 1 2 3; do
		make_text $((i * 10)) >file
		git add file && git commit -q -m "$i" || return
	done
) }

# The same surroundings for all runs.
alike() { env -i PATH="$PATH" HOME="$tmp" XDG_CACHE_HOME="$XDG_CACHE_HOME" LC_ALL=C setarch -R "$@"; }
