/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* wet_gather.h: labels of an instruction's edges that are executed again (offline/wet/depends.h).
 */
#ifndef USER_WET_GATHER_H
#define USER_WET_GATHER_H

#include "offline/wet/file/file.h"

#include "user/wet/wet_show.h"

struct wet_pair {
	uint32_t to, from; /* executions */
};

struct wet_gathered_edge {
	const struct wet_file_edge *edge;
	struct wet_pair *pairs;
	uint64_t n, room;
};

struct wet_gathered {
	struct wet_gathered_edge *edges; /* by consumer, operand and producer */
	uint32_t n;
};

/* Of each of the edges of @asked->addr one label more than its limit, at most, and of all at least
 * as many as are shown; consumers' timestamps are those that are asked for. 0, -EBADMSG, -ENOTSUP
 * or -ENOMEM; either way it is given back by wet_gathered_deinit(). */
int wet_gather(const struct wet_file *file, const struct wet_asked *asked,
	       struct wet_gathered *out);
void wet_gathered_deinit(struct wet_gathered *gathered);
/* Of @edge, which is among them. */
const struct wet_gathered_edge *wet_gathered_of(const struct wet_gathered *gathered,
						const struct wet_file_edge *edge);

#endif
