# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# claims.sh: what the scripts share that try the built command on programs of their own. To be
# sourced: `needs` and `needs_recording` skip, `work_in_own_folder` sets up, `claim` counts, and
# `conclude` is the last line.

# shellcheck disable=SC2034 # for those who source this
: "${PUGMARK:?is to say which pugmark is tried: make check sets it}"
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
passed=0 failed=0 skipped=0
started=() # processes that are killed at the end

skip() { # WHY: of the whole script
	echo "SKIP: $1"
	exit 77
}
needs() { # PROGRAM...
	local program
	for program; do
		command -v "$program" >/dev/null || skip "no $program here"
	done
}
needs_recording() {
	[ "$(uname -m)" = x86_64 ] || skip 'x86-64 only'
	[ "$(id -u)" = 0 ] || skip 'recording needs root here'
	[ -e /sys/kernel/btf/vmlinux ] || skip 'this kernel has no BTF'
}

at_end() { :; } # a script may have one of its own: $dir is still there
clean_up() {
	if [ ${#started[@]} != 0 ]; then
		kill -9 "${started[@]}"
		wait "${started[@]}" # here, or bash says of each that it was killed
	fi 2>/dev/null
	at_end
	rm -rf "$dir"
}
work_in_own_folder() { # $dir, with the cache of plans in it; gone at the end
	dir=$(mktemp -d)
	trap clean_up EXIT
	trap 'exit 130' INT TERM
	cd "$dir" || exit 1
	export XDG_CACHE_HOME=$dir/cache
	keep_shapes "${BUILD:-}"
}
# What this kernel does with the sample of shapes was tried once for all scripts; without it the first
# recording of each tries it.
keep_shapes() { # BUILD
	local kept
	kept=$1/tests/cache/pugmark/shapes-$(uname -r)
	[ -e "$kept" ] || return 0
	mkdir -p "$XDG_CACHE_HOME/pugmark"
	cp "$kept" "$XDG_CACHE_HOME/pugmark"
}

# Waits for at most half a minute until COMMAND succeeds; fails if it never does.
await() { # COMMAND...
	local i
	for ((i = 0; i < 600; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}

claim() { # TEXT COMMAND...: its output is in `said`
	if "${@:2}" >said 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "does not hold: $1"
		head -n 12 said err 2>/dev/null | sed 's/^/  | /'
	fi
}
is() { [ "$1" = "$2" ] || { echo "is '$1', should be '$2'"; false; }; }
same() { diff "$1" "$2"; }

# The command itself.
run() { # STATUS ARGUMENT...: pugmark, its output in out and err
	local want=$1 status=0
	shift
	"$PUGMARK" "$@" >out 2>err </dev/null || status=$?
	claim "status of pugmark $*" is $status "$want"
}
fails() { # STATUS TEXT ARGUMENT...
	run "$1" "${@:3}"
	claim "pugmark ${*:3}: says '$2'" grep -qF -- "$2" err
	claim "pugmark ${*:3}: in one line, and nothing else" is "$(wc -l <err) $(wc -c <out)" '1 0'
}

# `program` and `plugin.so`, of tests/programs/plugged.c and plugin.c: nothing that the program is linked
# with calls what it exports, but the plugin does.
compile_plugged() {
	${CC:-cc} -O1 -rdynamic "$tests/programs/plugged.c" -o program -ldl &&
		${CC:-cc} -O1 -fPIC -shared "$tests/programs/plugin.c" -o plugin.so || skip 'no compiler for the programs'
}

# Three plans of one run: its recording rec is of modes full, casper and best, in this order.
record_in_three_modes() { # OPTION... -- COMMAND...: what that prints in out
	rm -rf rec
	"$PUGMARK" record -q -o rec --mode full --twin casper --twin best "$@" >out 2>err
}
tell_the_same() { # NAME: what each tells is in 0, 1 and 2
	local module
	for module in 0 1 2; do
		"$PUGMARK" dump --module $module rec >$module 2>err
		claim "$1: plan $module has no gap" is "$(grep -c ' gap ' $module)" 0
		claim "$1: plan $module tells what mode full tells" same 0 $module
	done
}

# Values of the process $target, by the patching carrier, from when this returns; $recorder writes them.
attach_patching() { # RECORDING
	: >attach.said # of the one before
	"$PUGMARK" record --level values --carrier patch -p "$target" -o "$1" >attach.said 2>&1 &
	recorder=$!
	await grep -q ': recording' attach.said
}

# `libNAME.so` of library.c, and `program` of program.c, which is linked with it.
compile_with_library() { # NAME OPTION...: of the library
	{ "${CC:-cc}" -O2 -shared -fPIC -o "lib$1.so" library.c "${@:2}" &&
		"${CC:-cc}" -O2 -o program program.c -L. "-l$1"; } 2>cc.err || skip "no compiler: $(head -n 1 cc.err)"
	export LD_LIBRARY_PATH=$dir
}

conclude() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
}
