/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* opened_files.h: by which name a process has opened its descriptors lately. A file may be mapped,
 * read and unmapped before anybody looks at the mapping: its name leads to it still. */
#ifndef USER_OPENED_FILES_H
#define USER_OPENED_FILES_H

#include "offline/capture/captures.h"

#include <sys/stat.h>
#include <sys/types.h>

/* A file that a process has mapped: what its mmap() said, and what the kernel knew of the file. */
struct mapped_file {
	pid_t pid;
	uint64_t addr, len, off;
	uint64_t inode, size; /* inode 0: not known */
	dev_t device;	      /* as stat() tells it; 0: not known */
	uint64_t time_ns;     /* when it was mapped (CLOCK_MONOTONIC) */
	const char *path;     /* by which it was opened, NULL: not known */
	int dir_fd;	      /* that @path is relative to, or AT_FDCWD */
};

struct opened_files;

struct opened_files *opened_files_new(void);
void opened_files_free(struct opened_files *o);
/* Notes a system call that opens a file: its path is the first range of @c. */
void opened_files_note(struct opened_files *o, pid_t pid, const struct capture *c);
/* Fills the name of the file that @pid has opened as @fd. Borrowed until the next note. */
void opened_files_find(const struct opened_files *o, int fd, struct mapped_file *file);
/* The folders that a process' names begin in, for when it has ended. -1: not known. */
struct name_folders {
	int root, cwd;
};
/* Those of @pid, as they are now; and closes them. */
struct name_folders name_folders_of(pid_t pid);
void name_folders_deinit(struct name_folders *folders);

/* Whether the file behind @fd, which @st tells of, is on the file system that @file was on.
 * overlayfs and btrfs tell another device than that of their files: on these it may be. */
bool mapped_file_is_on(const struct mapped_file *file, int fd, const struct stat *st);

/* Opens the file by its name, if it is still the one that was mapped: a descriptor, or -errno. Of a
 * process that has ended, from @folders. Where the file system tells another device than that of
 * its files (overlayfs, btrfs) only a file that everybody may read is opened. */
int opened_files_open(const struct mapped_file *file, const struct name_folders *folders,
		      struct stat *st);

#endif
