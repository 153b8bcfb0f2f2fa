/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tracee.h: a process that is stopped by ptrace, and its memory. */
#ifndef USER_PATCH_PROCESS_TRACEE_H
#define USER_PATCH_PROCESS_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRACEE_ROOM_BYTES = 288 };

struct tracee {
	pid_t pid;
	int mem_fd;
	/* TRACEE_ROOM_BYTES of zeroes behind code, where code may lie that is needed for a moment;
	 * 0: none. */
	uint64_t room;
};

/* One mapping of a process. */
struct tracee_map {
	uint64_t start, end, off_file;
	uint64_t dev, ino; /* of the file, as stat() has them; 0, 0: none */
	bool executable, writable, shared;
};

/* What a process has mapped, by address: *@maps is freed by the caller. Returns how many, or
 * -errno. */
int tracee_maps(pid_t pid, struct tracee_map **maps);
/* The same in less time, without the files: dev and ino are 0. */
int tracee_ranges(pid_t pid, struct tracee_map **maps);
/* Opens the memory of process @pid. 0 or -errno. */
int tracee_open(struct tracee *t, pid_t pid);
void tracee_close(struct tracee *t);
/* All of @bytes, or -errno. Writing makes read-only pages private to the process. */
int tracee_read(const struct tracee *t, uint64_t addr, void *to, size_t bytes);
int tracee_write(const struct tracee *t, uint64_t addr, const void *from, size_t bytes);

/* Whether it was started by a dynamic linker, which a static program has not. */
bool tracee_has_linker(pid_t pid);
/* Whether that was glibc's. */
bool tracee_is_of_glibc(pid_t pid);
/* The ELF address of the dynamic symbol @name of the file at @path; 0: none. */
uint64_t tracee_symbol(const char *path, const char *name);
/* Whether the file at @path needs the dynamic symbol @name of another one. */
bool tracee_needs(const char *path, const char *name);
/* Where its dynamic linker's _r_debug is, which debuggers read; 0: it is none of glibc. */
uint64_t tracee_debug(pid_t pid);
/* Where glibc's dynamic linker tells debuggers that what is mapped changes or has changed, and in
 * *@state where it says which; 0: it is another one, or there is none. */
uint64_t tracee_linker_tells(pid_t pid, uint64_t *state);
/* Waits for the thread to stop, and tells how as waitpid() does. That stop is not taken note of: a
 * thread that is about to take a signal, and whose tracer is killed, takes it only then
 * (wait_task_stopped() in kernel/exit.c). -ESRCH: it has ended, and is still there to be waited
 * for. */
int tracee_wait(pid_t pid, int *status);
/* The same with @flags of waitid(): 1; 0: it has not stopped, with WNOHANG; or -errno. */
int tracee_look(pid_t pid, int flags, int *status);

#endif
