#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a C program that serves requests, some of them slow because of one known function.

usage: slow_program.py SEED > PROGRAM.c

Functions call each other as a random tree below handle(); one of them is at fault in some of the
requests, in one of four ways. The first line of the program says which: `/* FAULT NAME KIND */`.
"""
import random
import sys

KINDS = ("loop", "work", "wait", "extra")


def main():
    seed = int(sys.argv[1])
    dice = random.Random(seed)
    n = dice.randint(8, 16)
    parent = [0] + [dice.randrange(0, i) for i in range(1, n)]
    children = [[i for i in range(1, n) if parent[i] == f] for f in range(n)]
    kind = KINDS[seed % len(KINDS)]
    inner = [f for f in range(1, n) if children[f]]
    leaves = [f for f in range(1, n) if not children[f]]
    place = dice.choice(inner if kind == "loop" and inner else leaves if kind == "work" else range(1, n))
    if kind == "loop" and not children[place]:
        kind = "work"
    name = {"wait": "usleep", "extra": "extra"}.get(kind, f"f{place}")
    print(f"/* FAULT {name} {kind} */")
    print("#include <stdlib.h>\n#include <unistd.h>")
    print("static volatile int sink;")
    print("#define APART __attribute__((noipa))")
    print("static APART void spin(int n) { for (int i = 0; i < n; i++) sink += i; }")
    print("static APART void extra(int n) { for (int i = 0; i < 8000; i++) spin(500); sink += n; }")
    for f in reversed(range(n)):
        print(f"APART void {'handle' if f == 0 else f'f{f}'}(int n, int slow)\n{{")
        print(f"\tsink += n;\n\tspin({dice.randint(5, 40)});")
        at_fault = f == place
        if f == 0:
            print("\tif (n < 0) { usleep(1); extra(1); }")
        if at_fault and kind == "wait":
            print("\tif (slow)\n\t\tusleep(3000);")
        if at_fault and kind == "extra":
            print("\tif (slow)\n\t\textra(n);")
        if at_fault and kind == "work":
            print("\tfor (int i = 0; i < (slow ? 20000000 : 30); i++)\n\t\tsink += i;")
        for c in children[f]:
            if at_fault and kind == "loop" and c == children[f][0]:
                print(f"\tfor (int i = 0; i < (slow ? 500 : 1); i++)\n\t\tf{c}(n + i, slow);")
            else:
                print(f"\tf{c}(n, slow);")
        print("\tspin(3);\n}")
    share = dice.choice((8, 20, 50))
    print(f"int main(void)\n{{\n\tsrand({seed});\n\tfor (int i = 0; i < 600; i++)")
    print(f"\t\thandle(i, i % {share} == 3);\n\treturn 0;\n}}")


main()
