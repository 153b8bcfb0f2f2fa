/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* packed.h: whether a file holds its program packed or encrypted. What it then unpacks into memory
 * is no file: no probe can be placed there, and only the code that unpacks is recorded. */
#ifndef USER_PACKED_H
#define USER_PACKED_H

#include <stdbool.h>

/* Shown of each such file behind its name; ends a sentence. */
#define PACKED_WORDS                                                                               \
	"is packed or encrypted: what it unpacks into memory and runs there is in no file, and "   \
	"is "                                                                                      \
	"not recorded, only what unpacks it (record the program unpacked: for UPX, `upx -d FILE`)"

/* Whether the executable segments of the ELF file @path are packed, by the entropy of their bytes:
 * that of machine code is 5 to 6.8 bits a byte, that of what is compressed or encrypted close to
 * 8. False where the file cannot be read. */
bool file_is_packed(const char *path);

#endif
