/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* go_version.h: where a program that Go has built keeps the number of a goroutine. */
#ifndef USER_GO_VERSION_H
#define USER_GO_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/* How far in runtime.g of the program at @path the field goid lies, in bytes, by the version of Go
 * that has built it, which is in .go.buildinfo also where it is stripped. 0: it is no program of
 * Go's for x86-64, or its version is not known to have that at any certain place. */
uint32_t go_version_goid(const char *path);

/* The same of a version, "go1.19.8". */
uint32_t go_version_goid_of(const char *version);

#endif
