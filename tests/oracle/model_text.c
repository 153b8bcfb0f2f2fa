// SPDX-License-Identifier: LGPL-2.1-or-later
/* model_text.c: the text export, one record a line, addresses in hex:
 *
 *   F addr name flags
 *   P func_addr start end
 *   B addr size end func_addr flags
 *   E from_block to_block kind
 *   S addr kind via target|- import|- flags height|- */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_text.h"

#define MAX_FIELDS 8

struct line {
	const char *path;
	size_t number;
	char *field[MAX_FIELDS];
	unsigned n;
};

static void bad(const struct line *line, const char *what)
{
	fprintf(stderr, "%s:%zu: %s\n", line->path, line->number, what);
	exit(2);
}

static uint64_t hex(const struct line *line, unsigned i)
{
	char *end;
	uint64_t v = strtoull(line->field[i], &end, 16);

	if (end == line->field[i] || *end)
		bad(line, "not an address");
	return v;
}

static const char *no_dash(const char *field)
{
	return strcmp(field, "-") ? field : NULL;
}

static unsigned choose(const struct line *line, unsigned i, const char *const *names)
{
	for (unsigned k = 0; names[k]; k++)
		if (!strcmp(line->field[i], names[k]))
			return k;
	bad(line, line->field[i]);
	return 0;
}

bool model_text_has(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += len)
		if ((p == words || p[-1] == ',') && (!p[len] || p[len] == ','))
			return true;
	return false;
}

/* Room for one more element of an array that grows by doubling. */
static void *more(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || (n && n < 64))
		return array;
	array = realloc(array, (n ? n * 2 : 64) * size);
	if (!array)
		abort();
	return array;
}

#define APPEND(model, list)                                                                        \
	(((model)->list = more((model)->list, (model)->n_##list, sizeof(*(model)->list))),         \
	 &(model)->list[(model)->n_##list++])

static void func_read(struct model_text *m, const struct line *l)
{
	struct mt_func *f = APPEND(m, funcs);

	*f = (struct mt_func){hex(l, 1), l->field[2], l->field[3], 0};
	if (model_text_has(f->flags, "address-taken") || model_text_has(f->flags, "maybe-taken") ||
	    model_text_has(f->flags, "uncalled"))
		f->bits |= MT_ADDRESS_TAKEN;
	if (model_text_has(f->flags, "exported"))
		f->bits |= MT_EXPORTED;
	if (model_text_has(f->flags, "opaque"))
		f->bits |= MT_OPAQUE;
	if (model_text_has(f->flags, "signal-frame"))
		f->bits |= MT_SIGNAL_FRAME;
}

static void line_read(struct model_text *m, const struct line *l)
{
	static const uint8_t fields[128] = {['F'] = 4, ['P'] = 4, ['B'] = 6, ['E'] = 4, ['S'] = 8};
	static const char *const kinds[] = {"call", "tail", NULL};
	static const char *const vias[] = {"direct", "import", "indirect", NULL};
	unsigned char tag = l->field[0][0];

	if (tag > 127 || l->field[0][1] || !fields[tag] || l->n != fields[tag])
		bad(l, "unknown record");
	switch (tag) {
	case 'F':
		func_read(m, l);
		break;
	case 'P':
		*APPEND(m, parts) = (struct mt_part){hex(l, 2), hex(l, 3), hex(l, 1), 0};
		break;
	case 'B':
		*APPEND(m, blocks) = (struct mt_block){hex(l, 1), strtoul(l->field[2], NULL, 16),
						       l->field[3], l->field[5]};
		break;
	case 'E':
		*APPEND(m, edges) = (struct mt_edge){hex(l, 1), hex(l, 2), l->field[3]};
		break;
	case 'S':
		*APPEND(m, sites) = (struct mt_site){
			.addr = hex(l, 1),
			.kind = choose(l, 2, kinds),
			.via = choose(l, 3, vias),
			.target = no_dash(l->field[4]) ? hex(l, 4) : 0,
			.import = no_dash(l->field[5]),
			.flags = l->field[6],
			.height =
				no_dash(l->field[7]) ? strtol(l->field[7], NULL, 10) : MT_NO_HEIGHT,
		};
		break;
	}
}

#define BY(type, member)                                                                           \
	static int type##_by_##member(const void *a, const void *b)                                \
	{                                                                                          \
		const struct type *x = a, *y = b;                                                  \
		return x->member < y->member ? -1 : x->member > y->member;                         \
	}
BY(mt_func, addr)
BY(mt_part, start)
BY(mt_block, addr)
BY(mt_site, addr)

static int edge_order(const void *a, const void *b)
{
	const struct mt_edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void index_all(struct model_text *m, const char *path)
{
	qsort(m->funcs, m->n_funcs, sizeof(*m->funcs), mt_func_by_addr);
	qsort(m->parts, m->n_parts, sizeof(*m->parts), mt_part_by_start);
	qsort(m->blocks, m->n_blocks, sizeof(*m->blocks), mt_block_by_addr);
	qsort(m->sites, m->n_sites, sizeof(*m->sites), mt_site_by_addr);
	qsort(m->edges, m->n_edges, sizeof(*m->edges), edge_order);
	for (size_t i = 0; i < m->n_parts; i++) {
		const struct mt_func *f = model_text_func_start(m, m->parts[i].func_addr);

		if (!f) {
			fprintf(stderr, "%s: part of an unknown function\n", path);
			exit(2);
		}
		m->parts[i].func = f - m->funcs;
	}
}

void model_text_open(const char *path, struct model_text *out)
{
	struct line line = {.path = path};
	FILE *file = fopen(path, "re");
	size_t len = 0, room = 1 << 20, n;

	memset(out, 0, sizeof(*out));
	if (!file) {
		perror(path);
		exit(2);
	}
	out->text = malloc(room);
	while ((n = fread(out->text + len, 1, room - len - 1, file))) {
		len += n;
		if (room - len < 2)
			out->text = realloc(out->text, room *= 2);
	}
	fclose(file);
	out->text[len] = 0;
	for (char *at = out->text, *rest; *at; at = rest) {
		char *save;

		rest = at + strcspn(at, "\n");
		if (*rest)
			*rest++ = 0;
		line.number++;
		line.n = 0;
		for (char *w = strtok_r(at, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
			if (line.n == MAX_FIELDS)
				bad(&line, "too many fields");
			line.field[line.n++] = w;
		}
		if (line.n)
			line_read(out, &line);
	}
	index_all(out, path);
}

/* The last element whose key is at most @addr, or NULL. */
#define FIND(result, array, n, key, value)                                                         \
	do {                                                                                       \
		size_t lo = 0, hi = (n);                                                           \
		while (lo < hi) {                                                                  \
			size_t mid = (lo + hi) / 2;                                                \
			if ((array)[mid].key <= (value))                                           \
				lo = mid + 1;                                                      \
			else                                                                       \
				hi = mid;                                                          \
		}                                                                                  \
		(result) = lo ? &(array)[lo - 1] : NULL;                                           \
	} while (0)

/* The first part that begins behind @addr, or the end of them. */
static const struct mt_part *part_behind(const struct model_text *m, uint64_t addr)
{
	const struct mt_part *p;

	FIND(p, m->parts, m->n_parts, start, addr);
	return p ? p + 1 : m->parts;
}

void model_text_add(struct model_text *m, uint64_t addr, uint64_t end)
{
	for (uint64_t at = addr, next; at < end; at = next) {
		const struct mt_part *p = part_behind(m, at);
		bool last = p == m->parts + m->n_parts;

		if (p != m->parts && at < p[-1].end) {
			next = p[-1].end;
			continue;
		}
		next = last || p->start > end ? end : p->start;
		if (!model_text_func_start(m, addr))
			*APPEND(m, funcs) = (struct mt_func){addr, "", "-", 0};
		*APPEND(m, parts) = (struct mt_part){at, next, addr, 0};
		index_all(m, "a symbol");
	}
}

void model_text_close(struct model_text *model)
{
	free(model->funcs);
	free(model->parts);
	free(model->blocks);
	free(model->edges);
	free(model->sites);
	free(model->text);
	memset(model, 0, sizeof(*model));
}

uint32_t model_text_func_at(const struct model_text *m, uint64_t addr)
{
	const struct mt_part *p;

	FIND(p, m->parts, m->n_parts, start, addr);
	return p && addr < p->end ? p->func : UINT32_MAX;
}

const struct mt_func *model_text_func_start(const struct model_text *m, uint64_t addr)
{
	const struct mt_func *f;

	FIND(f, m->funcs, m->n_funcs, addr, addr);
	return f && f->addr == addr ? f : NULL;
}

const struct mt_block *model_text_block_at(const struct model_text *m, uint64_t addr)
{
	const struct mt_block *b;

	FIND(b, m->blocks, m->n_blocks, addr, addr);
	return b && addr < b->addr + b->size ? b : NULL;
}

const struct mt_site *model_text_site(const struct model_text *m, uint64_t addr)
{
	const struct mt_site *s;

	FIND(s, m->sites, m->n_sites, addr, addr);
	return s && s->addr == addr ? s : NULL;
}

const struct mt_site *model_text_site_to(const struct model_text *m, uint64_t addr, uint64_t to)
{
	const struct mt_site *s = model_text_site(m, addr);

	for (const struct mt_site *other = s; other && other->addr == addr; other--) {
		if (other->target == to)
			return other;
		if (other == m->sites)
			break;
	}
	return s;
}

const struct mt_edge *model_text_edge(const struct model_text *m, uint64_t from, uint64_t to)
{
	struct mt_edge key = {.from = from, .to = to};

	return m->n_edges ? bsearch(&key, m->edges, m->n_edges, sizeof(key), edge_order) : NULL;
}

bool model_text_tail_to_self(const struct model_text *m, uint64_t site, uint64_t to)
{
	const struct mt_site *s = model_text_site(m, site);
	const struct mt_block *b = model_text_block_at(m, site);

	return s && b && s->kind == MT_TAIL && model_text_func_start(m, to) &&
	       !model_text_edge(m, b->addr, to);
}
