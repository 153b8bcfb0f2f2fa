/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* chunk.h: the layout of a chunk, in which the collector hands to the writer what the rings held,
 * unchanged, and in between what the collector itself saw of processes. */
#ifndef USER_CHUNK_H
#define USER_CHUNK_H

#include <linux/types.h>

/* One thing that a ring or the collector said, as it lies in a chunk: this, then `bytes` bytes,
 * then up to 7 of padding. The first 32-bit word tells what: enum ring_kind, enum process_kind, or:
 */
struct chunk_entry {
	__u32 bytes;
	__u32 reserved;
};

enum { CHUNK_MAPS = 32, CHUNK_NOTE = 33, CHUNK_CODE = 34 };

/* CHUNK_MAPS: the executable mappings of a process, in the words of /proc/PID/maps; CHUNK_NOTE: a
 * sentence. */
struct chunk_text {
	__u32 kind;
	__s32 pid;
	__u64 time_ns;
	char text[];
};

/* CHUNK_CODE: what a process calls code that it makes at run time: lines of start, size, both in
 * hex, and name. They were there at time_ns, and not yet at since_ns (0: that is not known).
 * Without text: what is said after since_ns is not kept. */
struct chunk_code {
	__u32 kind;
	__s32 pid;
	__u64 time_ns;
	__u64 since_ns;
	char text[];
};

#endif
