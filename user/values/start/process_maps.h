/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* process_maps.h: /proc/PID/maps, read at once. */
#ifndef USER_PROCESS_MAPS_H
#define USER_PROCESS_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_map {
	uint64_t start, end, off;
	uint64_t inode; /* 0: of no file */
	/* process_maps_stat(): the file's own, which of some file systems (overlays, btrfs) are
	 * other ones than the kernel says in that list; st_dev 0: not known */
	dev_t st_dev;
	ino_t st_ino;
	int prot; /* PROT_READ ... */
	bool shared;
	/* process_maps_look(): */
	bool wiped;		  /* a fork's child has zeros there */
	uint64_t grows_to;	  /* a stack: the lowest address that it may have; or 0 */
	uint64_t present_bytes;	  /* in memory or swapped out */
	uint64_t anonymous_bytes; /* those of it that are no file's */
	char *path;
};

struct process_maps {
	struct process_map *at;
	uint32_t n, cap;
};

/* 0 or -errno. What was there is forgotten. */
int process_maps_read(struct process_maps *maps, pid_t pid);
/* Finds out by /proc/PID/smaps where the process has asked for zeros in a fork's child, what grows
 * down, and how much memory there is. 0 or -errno. */
int process_maps_look(struct process_maps *maps, pid_t pid);
/* Finds out by /proc/PID/map_files which files those of code are, without asking the server of a
 * file system (FUSE, NFS): that may be the process itself, which stands. */
void process_maps_stat(struct process_maps *maps, pid_t pid);
const struct process_map *process_maps_at(const struct process_maps *maps, uint64_t addr);
void process_maps_deinit(struct process_maps *maps);

#endif
