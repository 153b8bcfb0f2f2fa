/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* loaded_strings.h: which strings a stretch of machine code takes the address of. It is found
 * without decoding: by the bytes of lea (relative to the instruction) and of mov of 32 bits, where
 * they lead to text in a segment that is only read. What it finds is for people to recognize a
 * function by. */
#ifndef USER_FILE_LOADED_STRINGS_H
#define USER_FILE_LOADED_STRINGS_H

#include <stdint.h>

enum { LOADED_STRING_MIN = 4 }; /* shorter ones say nothing */

struct loaded_strings;

/* Reads the ELF file @path if it has that build-id. NULL: it has not, or cannot be read; the caller
 * frees it with loaded_strings_free(). */
struct loaded_strings *loaded_strings_open(const char *path, const uint8_t *build_id, uint32_t len);
void loaded_strings_free(struct loaded_strings *strings);
/* The first strings that the code from @addr to @end (of the ELF file) loads, each once, at most
 * @max: printable ASCII, ended by a NUL, borrowed from @strings. Returns how many. */
uint32_t loaded_strings_of(const struct loaded_strings *strings, uint64_t addr, uint64_t end,
			   const char **out, uint32_t max);

#endif
