/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* disk_room.h: what may be put aside on a disk, on which what becomes of it has to find room as
 * well: seven eighths of what was free at the begin. */
#ifndef USER_DISK_ROOM_H
#define USER_DISK_ROOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

struct disk_room {
	int fd;		    /* a file there, borrowed */
	uint64_t keep_free; /* bytes */
};

static inline uint64_t disk_room_free(int fd)
{
	struct statvfs is;

	return fstatvfs(fd, &is) ? 0 : (uint64_t)is.f_bavail * is.f_frsize;
}

static inline struct disk_room disk_room_begin(int fd)
{
	return (struct disk_room){fd, disk_room_free(fd) / 8};
}

/* Whether @bytes more may be put aside. */
static inline bool disk_room_has(const struct disk_room *room, uint64_t bytes)
{
	return disk_room_free(room->fd) >= room->keep_free + bytes;
}

#endif
