/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* go_version.h: which version of Go has built a program, and what that says of its runtime. */
#ifndef USER_GO_VERSION_H
#define USER_GO_VERSION_H

#include <stdbool.h>
#include <stdint.h>

/* Whether Go has built the program at @path, for x86-64: its linker has written .go.buildinfo,
 * which stays when it is stripped. Then in *@goid how far in runtime.g the field goid lies by its
 * version, in bytes; 0: by none that is known. */
bool go_version_read(const char *path, uint32_t *goid);

/* That of a version, "go1.19.8"; 0: it is none that is known. */
uint32_t go_version_goid_of(const char *version);

#endif
