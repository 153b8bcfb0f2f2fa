// SPDX-License-Identifier: LGPL-2.1-or-later
/* unforeseen.c: see unforeseen.h. */
#include "offline/wet/reads/unforeseen.h"

#include "offline/wet/reads/path_reads.h"

#include <errno.h>
#include <stdlib.h>

void unforeseen_put(struct unforeseen *u, const struct unforeseen_read *r)
{
	bytes_put_varint(&u->columns[UNFORESEEN_PATHS], r->path - u->path);
	u->path = r->path;
	bytes_put_varint(&u->columns[UNFORESEEN_READS], r->stmt);
	bytes_put_varint(&u->columns[UNFORESEEN_READS], r->operand);
	bytes_put_varint(&u->columns[UNFORESEEN_READS], r->n);
}

void unforeseen_put_writer(struct unforeseen *u, struct wet_maker by, uint32_t executions)
{
	bytes_put_varint(&u->columns[UNFORESEEN_WRITERS], by.stmt);
	if (by.stmt)
		bytes_put_varint(&u->columns[UNFORESEEN_AGES], executions - by.time);
}

bool unforeseen_end(struct unforeseen *u, struct unforeseen_block *out)
{
	struct bytes packed = {0};
	bool fine = columns_pack(u->columns, UNFORESEEN_COLUMNS, &packed);
	*out = (struct unforeseen_block){.at = packed.data, .len = packed.len};
	for (unsigned i = 0; i < UNFORESEEN_COLUMNS; i++) {
		out->raw += u->columns[i].len;
		u->columns[i].len = 0;
	}
	u->path = 0;
	if (fine)
		return true;
	bytes_deinit(&packed);
	return false;
}

void unforeseen_deinit(struct unforeseen *u)
{
	for (unsigned i = 0; i < UNFORESEEN_COLUMNS; i++)
		bytes_deinit(&u->columns[i]);
}

int unforeseen_read(struct codec *codec, const uint8_t *at, size_t len,
		    struct unforeseen_reader *out)
{
	uint64_t lens[UNFORESEEN_COLUMNS], all = 0;
	*out = (struct unforeseen_reader){0};
	if (!columns_lens(at, len, UNFORESEEN_COLUMNS, lens))
		return -EBADMSG;
	for (unsigned i = 0; i < UNFORESEEN_COLUMNS; i++) {
		if (lens[i] > UNFORESEEN_BYTES_MAX)
			return -EBADMSG;
		all += lens[i];
	}
	if (all > UNFORESEEN_BYTES_MAX)
		return -EBADMSG;
	int err = columns_read(codec, at, len, UNFORESEEN_COLUMNS, &out->columns);
	return err ? err : unforeseen_pass(out) ? 0 : -EBADMSG;
}

bool unforeseen_pass(struct unforeseen_reader *r)
{
	struct cursor *paths = &r->columns.in[UNFORESEEN_PATHS];
	struct cursor *reads = &r->columns.in[UNFORESEEN_READS];
	uint64_t more, stmt, operand, n;
	r->is = paths->at < paths->end;
	if (!r->is)
		return true;
	if (!cursor_varint(paths, &more) || !cursor_varint(reads, &stmt) ||
	    !cursor_varint(reads, &operand) || !cursor_varint(reads, &n) || stmt > UINT16_MAX ||
	    operand > UINT16_MAX || n > UNFORESEEN_WRITERS_MAX ||
	    (operand < WET_MEMORY && (!n || n > WET_UNITS)) || more > UINT32_MAX)
		return false;
	r->next = (struct unforeseen_read){r->next.path + more, (uint32_t)stmt, (uint32_t)operand,
					   (uint32_t)n};
	return true;
}

bool unforeseen_writer(struct unforeseen_reader *r, const uint32_t *node_of, uint32_t n_stmts,
		       const uint32_t *executions, struct wet_maker *out)
{
	uint64_t stmt, age = 0;
	if (!cursor_varint(&r->columns.in[UNFORESEEN_WRITERS], &stmt) || stmt > n_stmts)
		return false;
	*out = (struct wet_maker){0, 0};
	if (!stmt)
		return true;
	uint32_t now = executions[node_of[stmt - 1]];
	if (!cursor_varint(&r->columns.in[UNFORESEEN_AGES], &age) || age > now)
		return false;
	*out = (struct wet_maker){(uint32_t)stmt, now - (uint32_t)age};
	return true;
}
