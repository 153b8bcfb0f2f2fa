/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* file_guard.h: whether a file is still what it was when it was analysed. A read lease (F_SETLEASE
 * in fcntl(2)) holds up whoever opens the file to write, or cuts it, until the lease is given back:
 * that is the time to remove probes that would stand in the middle of other instructions. Where no
 * lease can be had (somebody has the file open for writing already, or the file system has none),
 * and where it does not hold up everybody (the file below one of an overlay is written to by
 * itself), its times tell of a change, later; and at the end its contents, for who has mapped it
 * writes without a time. */
#ifndef USER_FILE_GUARD_H
#define USER_FILE_GUARD_H

#include "offline/base/digest.h"

#include <stdbool.h>
#include <sys/stat.h>

struct file_guard {
	int fd; /* borrowed; -1: nothing is guarded */
	bool leased;
	bool told;    /* of each write, by the lease */
	bool changed; /* told once, and from then on */
	struct stat was;
	uint8_t digest[DIGEST_BYTES]; /* of the contents, if not told */
};
#define FILE_GUARD_NONE ((struct file_guard){.fd = -1})

/* Guards the file @fd as it is now; @fd is open for reading and outlives the guard. The kernel
 * sends SIGIO when somebody waits: it is blocked from here on, so wait for it by signalfd(2). */
void file_guard_take(struct file_guard *guard, int fd);
/* Whether the file was written to, or somebody waits to do so. */
bool file_guard_changed(struct file_guard *guard);
/* The same, for the last time: without a lease all of the file is read. */
bool file_guard_changed_at_end(struct file_guard *guard);
/* Lets who waits go on. */
void file_guard_release(struct file_guard *guard);

#endif
