/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gdb_packets.h: packets of gdb's remote serial protocol over two descriptors. */
#ifndef USER_VALUES_GDB_PACKETS_H
#define USER_VALUES_GDB_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GDB_PACKET = 16384, GDB_READ_MAX = 4096 };

/* Zeroed at first but for the descriptors. */
struct gdb_packets {
	int in, out;
	char text[GDB_PACKET]; /* of the packet that came */
	char reply[2 * GDB_PACKET];
	size_t n_reply;
	uint8_t buffer[4096];
	size_t at, have;
};

/* The next packet's text. False: gdb is gone. */
bool gdb_packets_receive(struct gdb_packets *p);
/* Adds to the reply, which is cut where it becomes too long; sends it. 0 or -errno. */
void gdb_packets_put(struct gdb_packets *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* In hexadecimal; not @known: as unavailable. */
void gdb_packets_put_bytes(struct gdb_packets *p, const void *bytes, size_t n, bool known);
/* The answer to a "monitor" command: what is too long for one packet is sent ahead, in packets of
 * "O" that gdb prints as they come; the rest is added to the reply. */
void gdb_packets_put_output(struct gdb_packets *p, const char *text, size_t len);
/* The text that @hex says, up to @room - 1 bytes of it and a NUL. */
void gdb_packets_text(const char *hex, char *out, size_t room);
/* The part of @text that gdb asks for with "OFFSET,LENGTH". */
void gdb_packets_put_part(struct gdb_packets *p, const char *text, size_t size, const char *window);
int gdb_packets_flush(struct gdb_packets *p);
/* Waits until gdb has acknowledged the last packet, or is gone: it writes to a pipe that is closed
 * else. */
void gdb_packets_wait(struct gdb_packets *p);

#endif
