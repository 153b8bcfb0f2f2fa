/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* case.h: what the programs of this folder have in common. FN marks a function that is called as
 * it is written, whatever the compiler and level: neither inlined, nor copied, nor left out; each
 * has a KEEP for that. A call that is not the last thing that a function does, but could be made a
 * jump, is followed by another KEEP. Numbers that the golden trace names, such as how often the
 * C library called back, go to stdout by LET. */
#ifndef CASE_H
#define CASE_H

#include <stdio.h>

#ifdef __clang__
#define FN __attribute__((noinline))
#else
#define FN __attribute__((noipa))
#endif
#define KEEP __asm__ volatile("" ::: "memory")
#define LET(name, value) printf("%s=%ld\n", name, (long)(value))

#endif
