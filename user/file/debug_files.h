/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* debug_files.h: hands libdwfl the files it reads as copies that nobody else can change, and finds
 * separate debug files by itself: by build-id, by .gnu_debuglink, by .gnu_debugaltlink, on this
 * machine alone (debuginfod.h brings files here first, if it is asked to). libdwfl's own way opens
 * whatever a file names, and asks servers in the network. */
#ifndef USER_FILE_DEBUG_FILES_H
#define USER_FILE_DEBUG_FILES_H

#include <elfutils/libdwfl.h>

/* Reports the ELF file @path, private (offline/base/private_file.h). NULL: it cannot be read, and
 * errno says why, or 0: libdwfl does. */
Dwfl_Module *debug_files_report(Dwfl *dwfl, const char *path);
/* For Dwfl_Callbacks. */
int debug_files_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		     const char *file, const char *link, GElf_Word crc, char **found);

#endif
