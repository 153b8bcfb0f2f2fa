#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# run.sh: runs one program of programs/ on its work, under a tracer if one is given:
#
#   run.sh NAME DIR [TRACER...]     prepares its input in DIR/work, which must not exist, and runs
#                                   it there, each time as: TRACER... BINARY ARGUMENTS...
#   run.sh NAME                     prints its settings: binary, module, seconds, quick, switches
#
# BINARY in the environment replaces the program's own (a copy of it, for instance). A program's
# file sets BINARY, MODULE (default: BINARY), SECONDS_MAX, QUICK, SWITCHES (1: its threads leave their
# stacks for others, or go on in frames that have ended), and defines prepare() and run();
# PLUGINS, if it is set, names folders of modules that the program loads, separated by colons, and
# is exported to the tracer.
# Exit status 77: something that the program needs is not installed.
set -eu -o pipefail
here=$(dirname "$(realpath "$0")")

# shellcheck source=tests/oracle/inputs.sh
. "$here/inputs.sh"

openssl_work() {
	export OPENSSL_CONF=/dev/null
	traced dgst -sha256 text >sums
	traced dgst -md5 -hmac key text >>sums
	for cipher in aes-256-cbc chacha20; do
		traced enc -$cipher -pbkdf2 -iter 50 -S 0011223344556677 -pass pass:x -in text -out e
		traced enc -d -$cipher -pbkdf2 -iter 50 -S 0011223344556677 -pass pass:x -in e |
			cmp - text
	done
	openssl ecparam -genkey -name prime256v1 -noout -out key.pem
	traced req -x509 -new -key key.pem -subj /CN=test -days 1 -out cert.pem
	traced x509 -in cert.pem -noout -text >out
	traced asn1parse -in cert.pem >>out
	traced base64 -in text >b64
	grep -q 'CN = test' out
}

gdb_prepare() {
	cat >t.cc <<'CC'
#include <cstdio>
#include <map>
#include <string>
#include <vector>
namespace shop {
enum class Colour { red, green = 5 };
struct Base { virtual ~Base() {} virtual int price() const { return 1; } int stock : 5; };
template <typename T> struct Box : Base {
	T inside; Colour colour; union { int i; float f; };
	int price() const override { return 7; }
	T *get() { return &inside; }
};
static Box<double> box;
std::map<std::string, std::vector<int>> table;
}
static int sum(const int *p, unsigned n) { int s = 0; for (unsigned i = 0; i < n; i++) s += p[i]; return s; }
int numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
int main(int argc, char **argv) { shop::table[argv[0]].push_back(argc); printf("%d\n", sum(numbers, 8) + shop::box.price()); return 0; }
CC
	c++ -g -O0 -o t t.cc
}

gdb_work() {
	traced --batch -nx -iex 'maint set worker-threads 0' -ex 'info functions sum' \
		-ex 'list main' -ex 'disassemble /s main' -ex 'print numbers' -ex 'ptype shop::box' \
		-ex 'print sum' -ex 'print shop::Colour::green' -ex 'info line main' -ex 'info scope sum' \
		-ex 'print sizeof(shop::box) * 3 + (char)0x41 - (numbers[2] << 3) % 5' \
		-ex 'print nosuchsymbol' -ex 'ptype shop::table' -ex 'whatis &shop::Box<double>::get' \
		-ex 'info types Box' -ex 'break sum if n > 2' -ex 'tbreak t.cc:19' \
		-ex 'info breakpoints' -ex 'info sources' -ex 'info symbol main' -ex 'x/8dw numbers' \
		-ex 'x/4i main' -ex 'info variables numbers' -ex 'info address main' \
		-ex 'set language ada' -ex 'print 2 ** 5' -ex 'set language c++' \
		-ex 'print/x numbers' -ex 'print *numbers@3' -ex 'print $_siginfo' \
		-ex 'complete info s' -ex 'help list' -ex 'show version' -ex 'info files' \
		-ex 'maint print type main' -ex 'info macro X' -ex 'set $v = 3.5 * 2' -ex 'print $v' \
		-ex 'printf "%s %d\n", "text", 42' -ex 'define twice' -ex 'backtrace' \
		-ex 'python print(gdb.lookup_type("shop::Base").sizeof)' \
		-ex 'python print([f.name for f in gdb.lookup_type("shop::Base").fields()])' \
		-ex 'python gdb.execute("nosuch command")' t >out 2>&1 </dev/null || true
	grep -q '3, 4, 5, 6, 7, 8' out && grep -q 'No symbol "nosuchsymbol"' out && grep -q ' = 32' out
}

free_port() {
	local p
	for p in $(seq $((20000 + $$ % 20000)) 65000); do
		(: </dev/tcp/127.0.0.1/"$p") 2>/dev/null || break
	done
	echo "$p"
}

# Repeats a command until it works, for 60 seconds.
wait_for() {
	for _ in $(seq 600); do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.1
	done
	echo "waited in vain for: $*" >&2
	return 1
}

traced() { "${TRACE[@]}" "$BINARY" "$@"; }

server=
traced_server() {
	"${TRACE[@]}" "$BINARY" "$@" &
	server=$!
}

stop_server() {
	if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
	fi
}

name=$1
given=${BINARY:-}
MODULE= SECONDS_MAX=120 QUICK=0 SWITCHES=0 PLUGINS=
. "$here/programs/$name.sh"
MODULE=${MODULE:-$BINARY}
export PLUGINS
BINARY=${given:-$BINARY}
if [ $# = 1 ]; then
	echo "$BINARY $MODULE $SECONDS_MAX $QUICK $SWITCHES"
	exit 0
fi
[ -x "$BINARY" ] && [ -e "$MODULE" ] || exit 77
cd "$2"
shift 2
trap stop_server EXIT
unset LC_ALL LANG LANGUAGE
export LC_CTYPE=C.UTF-8 TZ=UTC
TRACE=("$@")
mkdir work
cd work
prepare
run
