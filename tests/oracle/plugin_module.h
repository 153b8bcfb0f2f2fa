/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin_module.h: which code that QEMU runs is the traced module's, and at which ELF address. */
#ifndef ORACLE_PLUGIN_MODULE_H
#define ORACLE_PLUGIN_MODULE_H

#include <stdint.h>

/* A path, compared by device and inode, or a bare name, which matches the end of a mapped file's
 * path. Without it the module is the main program. */
void module_ask_for(const char *name);
/* The mapped file's path, once it was seen. */
const char *module_path(void);
/* Mappings have changed. */
void module_moved(void);
/* The ELF address of @host if it lies in the module's code, else UINT64_MAX. */
uint64_t module_address(const void *host);

#endif
