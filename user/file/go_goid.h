/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* go_goid.h: where a program that Go has built keeps the number of a goroutine. */
#ifndef USER_GO_GOID_H
#define USER_GO_GOID_H

#include <stdint.h>

/* How far in runtime.g of the program at @path the field goid lies, in bytes: by the version of Go
 * that has built it, or, where that is none that is known, by its DWARF. 0: by neither, or it is no
 * program of Go's for x86-64. */
uint32_t go_goid_at(const char *path);

#endif
