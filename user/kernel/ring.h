/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ring.h: the reading end of a BPF ring buffer (Documentation/bpf/ringbuf.rst). libbpf maps all of
 * a ring's pages twice, one after the other, so that a record that wraps around lies in one piece;
 * but then they count twice as memory of the process. Here the second mapping ends where the
 * longest record would. */
#ifndef USER_RING_H
#define USER_RING_H

#include <stdbool.h>
#include <stddef.h>

struct ring_reader;

/* Is given each record in turn, as long as it returns 0. */
typedef int (*ring_record_fn)(void *context, void *data, size_t bytes);

/* @map_fd: a map of type BPF_MAP_TYPE_RINGBUF, which stays the caller's. Returns NULL with errno.
 */
struct ring_reader *ring_open(int map_fd, ring_record_fn record, void *context);
void ring_close(struct ring_reader *ring);
/* Hands over what is there; a record that was handed over is done with, whatever was returned.
 * Returns 0 where nothing is left, what the callback returned where that ended it, or -EBADMSG:
 * what stands there is no record, and nothing behind it can be read any more. */
int ring_consume(struct ring_reader *ring);
/* Bytes that were ever written, and read. */
unsigned long ring_written(const struct ring_reader *ring);
unsigned long ring_read(const struct ring_reader *ring);
size_t ring_size(const struct ring_reader *ring);
bool ring_is_empty(const struct ring_reader *ring);

#endif
