# gdb --batch: reads a binary's symbols and debug information, lists, disassembles, evaluates
BINARY=/usr/bin/gdb
SECONDS_MAX=300
prepare() {
	cat >t.c <<'C'
#include <stdio.h>
struct point { int x, y; struct point *next; };
enum colour { RED, GREEN = 5 };
static struct point origin = { 3, 4, &origin };
enum colour colour = GREEN;
static int sum(const struct point *p) { return p->x + p->y; }
int main(int argc, char **argv) { printf("%d\n", sum(&origin) + argc); return 0; }
C
	cc -g -O0 -o t t.c
}
run() {
	traced --batch -nx -iex 'maint set worker-threads 0' -ex 'info functions sum' \
		-ex 'list main' -ex 'disassemble /s main' -ex 'print origin' -ex 'ptype origin' \
		-ex 'print sum' -ex 'print colour' -ex 'info line main' -ex 'info scope sum' \
		-ex 'print sizeof(struct point) * 3 + (char)0x41' -ex 'print *nosuchsymbol' \
		-ex 'info types' -ex 'break sum' -ex 'info breakpoints' \
		-ex 'python print(gdb.lookup_type("struct point").sizeof)' t >out 2>&1
	grep -q 'x = 3, y = 4' out && grep -q 'No symbol "nosuchsymbol"' out
}
