/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* hidden_vdso.h: a program is started without the kernel's image of clock functions (vDSO; see
 * vdso(7)). Its C library then asks for the time by system calls, which are captured, wherever it
 * asks: with the image it reads memory that the kernel writes at any moment, and that cannot be
 * captured. */
#ifndef USER_HIDDEN_VDSO_H
#define USER_HIDDEN_VDSO_H

#include <sys/types.h>

/* @pid: stopped at its exec, before its first instruction; the caller traces it. Nothing is changed
 * but one word of the table that the kernel has put on its stack. 0, also where there is no vDSO;
 * -errno, and then nothing is changed. */
int hide_vdso(pid_t pid);

#endif
