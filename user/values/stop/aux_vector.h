/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* aux_vector.h: the auxiliary vector that the kernel has put on a process's stack. */
#ifndef USER_AUX_VECTOR_H
#define USER_AUX_VECTOR_H

#include <stdint.h>
#include <sys/types.h>

/* @pid: stopped at its exec, before its first instruction; the caller traces it. Where the entry of
 * that type is (an Elf64_auxv_t). 0; -ENOENT: there is none; -errno. */
int aux_vector_find(pid_t pid, uint64_t type, uint64_t *addr);

#endif
