/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* unforeseen.h: reads whose writer the re-execution (writers.h) gets wrong; each with its true
 * writer. It gets wrong what was written before the block began anew, what the kernel and functions
 * outside wrote without changing it, and what an instruction wrote that is told by its results. Of
 * a block of again.h, in columns:
 *
 *   paths     of each how many paths behind the one before it is
 *   reads     statement in its node, operand, and of a register how many units, of memory how many
 *             writers
 *   writers   statement + 1; of a register 0: nobody
 *   ages      of each writer that is somebody: how often its node was executed since
 *
 * They are in the order in which paths read: memory, statement by statement, then registers. */
#ifndef OFFLINE_WET_UNFORESEEN_H
#define OFFLINE_WET_UNFORESEEN_H

#include "offline/wet/streams/columns.h"
#include "offline/wet/reads/makers.h"

enum unforeseen_column {
	UNFORESEEN_PATHS,
	UNFORESEEN_READS,
	UNFORESEEN_WRITERS,
	UNFORESEEN_AGES,
	UNFORESEEN_COLUMNS
};
enum { UNFORESEEN_WRITERS_MAX = 1 << 12 /* of one read */, UNFORESEEN_BYTES_MAX = 1 << 28 };

struct unforeseen_read {
	uint64_t path; /* of the block, from 0 */
	uint32_t stmt; /* in its node */
	uint32_t operand;
	uint32_t n; /* units, or writers */
};

/* While it is made. */
struct unforeseen {
	struct bytes columns[UNFORESEEN_COLUMNS];
	uint64_t path;
};

struct unforeseen_block {
	uint8_t *at; /* to be freed */
	size_t len;
	uint64_t raw; /* bytes before compression */
};

void unforeseen_put(struct unforeseen *u, const struct unforeseen_read *read);
/* Of that read; @executions: of its node. */
void unforeseen_put_writer(struct unforeseen *u, struct wet_maker by, uint32_t executions);
/* Another block begins. False: out of memory. */
bool unforeseen_end(struct unforeseen *u, struct unforeseen_block *out);
void unforeseen_deinit(struct unforeseen *u);

/* Reads one, which anybody may have written. */
struct unforeseen_reader {
	struct columns columns;
	struct unforeseen_read next;
	bool is; /* there is a next one */
};

/* The first is next; to be freed with columns_free(). 0, -EBADMSG, -ENOTSUP or -ENOMEM. */
int unforeseen_read(struct codec *codec, const uint8_t *at, size_t len,
		    struct unforeseen_reader *out);
/* Passes a writer of the next one; @node_of and @executions: of statements and of nodes. False: it
 * is none. */
bool unforeseen_writer(struct unforeseen_reader *r, const uint32_t *node_of, uint32_t n_stmts,
		       const uint32_t *executions, struct wet_maker *out);
/* Passes that one. False: what follows is none. */
bool unforeseen_pass(struct unforeseen_reader *r);

#endif
