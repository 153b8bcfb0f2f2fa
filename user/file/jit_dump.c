// SPDX-License-Identifier: LGPL-2.1-or-later
/* jit_dump.c: see jit_dump.h. */
#include "user/file/jit_dump.h"

#include <string.h>

#define MAGIC 0x4A695444 /* "JiTD" in the byte order of whoever wrote it */

enum { CODE_LOAD = 0, CODE_MOVE = 1, HEADER_MIN = 40, HEADER_MAX = 4096 };

struct header {
	uint32_t magic, version, bytes;
};
struct record {
	uint32_t id, bytes;
	uint64_t time_ns;
};
struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
	char name[];
};
struct move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* What the file begins with. Its length is whatever its writer has put there: as a record, it is
 * waited for until all of it is there. */
static uint64_t take_header(struct jit_dump *dump, const char *bytes, size_t len, uint64_t left)
{
	struct header h;

	if (len < HEADER_MIN)
		return 0;
	memcpy(&h, bytes, sizeof(h));
	dump->bad = h.magic != MAGIC || h.bytes < HEADER_MIN || h.bytes > HEADER_MAX;
	if (dump->bad || h.bytes > left)
		return 0;
	dump->begun = true;
	return h.bytes;
}

static bool is_piece(uint64_t addr, uint64_t size)
{
	return size && size <= PERF_MAP_SIZE_MAX && addr < PERF_MAP_ADDR_MAX;
}

/* The @len bytes at @bytes are a record's, as far as they are there; so below. */
static bool parse_load(const char *bytes, size_t len, struct perf_map_line *line, uint64_t *number)
{
	struct load l;
	const char *name = bytes + sizeof(struct record) + sizeof(l);

	if (len <= sizeof(struct record) + sizeof(l))
		return false;
	memcpy(&l, bytes + sizeof(struct record), sizeof(l));
	size_t room = len - sizeof(struct record) - sizeof(l);
	if (!is_piece(l.addr, l.size))
		return false;
	*number = l.index;
	line->start = l.addr;
	line->size = l.size;
	line->name = name;
	line->name_len = strnlen(name, room < PERF_MAP_NAME_MAX ? room : PERF_MAP_NAME_MAX);
	/* Not in the midst of a character of UTF-8, if it goes on. */
	if (line->name_len == PERF_MAP_NAME_MAX && room > PERF_MAP_NAME_MAX)
		while (line->name_len && (name[line->name_len] & 0xc0) == 0x80)
			line->name_len--;
	const char *newline = memchr(name, '\n', line->name_len);
	if (newline) /* what is kept is lines */
		line->name_len = (size_t)(newline - name);
	return line->name_len;
}

static bool parse_move(const char *bytes, size_t len, struct perf_map_line *line, uint64_t *number)
{
	struct move m;
	if (len < sizeof(struct record) + sizeof(m))
		return false;
	memcpy(&m, bytes + sizeof(struct record), sizeof(m));
	*number = m.index;
	*line = (struct perf_map_line){.start = m.to, .size = m.size};
	return is_piece(m.to, m.size);
}

bool jit_dump_load(const char *bytes, size_t len, struct perf_map_line *line)
{
	struct record r;
	uint64_t number;
	if (len < sizeof(r))
		return false;
	memcpy(&r, bytes, sizeof(r));
	return r.id == CODE_LOAD && parse_load(bytes, len < r.bytes ? len : r.bytes, line, &number);
}

uint64_t jit_dump_next(struct jit_dump *dump, const char *bytes, size_t len, uint64_t left,
		       struct perf_map_line *line, bool *is)
{
	struct record r;

	*is = dump->moved = false;
	if (dump->bad)
		return 0;
	if (!dump->begun)
		return take_header(dump, bytes, len, left);
	if (len < sizeof(r))
		return 0;
	memcpy(&r, bytes, sizeof(r));
	if (r.bytes < sizeof(r)) {
		dump->bad = true; /* there is no next one */
		return 0;
	}
	if (r.bytes > left)
		return 0;
	len = len < r.bytes ? len : r.bytes;
	if (r.id == CODE_LOAD)
		*is = parse_load(bytes, len, line, &dump->number);
	if (r.id == CODE_MOVE)
		dump->moved = parse_move(bytes, len, line, &dump->number);
	return r.bytes;
}
