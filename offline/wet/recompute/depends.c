// SPDX-License-Identifier: LGPL-2.1-or-later
/* depends.c: see depends.h. Instructions come from executing a block (again.h), which path they are
 * of from the timestamps; what each reads is known from its code, who wrote that from writers.h,
 * and where it is another one from unforeseen.h. Anybody may have written the file. */
#include "offline/wet/recompute/depends.h"

#include "offline/wet/recompute/block_paths.h"
#include "offline/wet/reads/unforeseen.h"
#include "offline/wet/reads/writers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_STMTS = WET_PATH_BLOCKS * VALUE_BLOCK_INSNS };

struct wet_depends {
	const struct wet_file *file;
	uint8_t *code;
	uint32_t *node_of; /* of statements */
	struct again *again;
	struct codec *codec;
	struct block_paths paths;
	struct wet_reads *reads; /* of each node that was met */
	struct wet_writers writers;
	uint32_t *executions; /* of each node, before the path */
	uint32_t here;	      /* the block that is next; n_again + 1: none */

	/* The block that is executed. */
	struct unforeseen_reader unforeseen;
	uint64_t path;	 /* of the block */
	uint32_t stmt;	 /* of its node, that is next; 0: the path has not begun */
	uint32_t access; /* of its node */
	bool asked;	 /* somebody wants to know of the path */
	int err;

	/* Who asks. */
	uint64_t from, to; /* timestamps */
	const bool *nodes;
	wet_depend_fn *fn; /* NULL: no more */
	void *ctx;
};

int wet_depends_open(const struct wet_file *f, struct wet_depends **out)
{
	struct wet_depends *d = calloc(1, sizeof(*d));
	*out = NULL;
	if (!d)
		return -ENOMEM;
	d->file = f;
	d->here = f->n_again + 1;
	d->node_of = malloc((f->n_stmts + (size_t)1) * sizeof(*d->node_of));
	d->reads = calloc(f->n_nodes + (size_t)1, sizeof(*d->reads));
	d->executions = calloc(f->n_nodes + (size_t)1, sizeof(*d->executions));
	d->codec = codec_new();
	int err = d->node_of && d->reads && d->executions && d->codec ? 0 : -ENOMEM;
	err = err ? err : block_paths_code(f, &d->code);
	err = err ? err : block_paths_init(&d->paths, f);
	for (uint32_t i = 0; !err && i < f->n_stmts; i++)
		d->node_of[i] = f->stmts[i].node;
	if (!err) {
		d->again = again_new(f->again, f->n_again, f->code, d->code, f->n_code);
		err = d->again ? 0 : -ENOMEM;
	}
	if (err)
		wet_depends_free(d);
	else
		*out = d;
	return err;
}

void wet_depends_free(struct wet_depends *d)
{
	if (!d)
		return;
	again_free(d->again);
	codec_free(d->codec);
	block_paths_deinit(&d->paths);
	for (uint32_t i = 0; d->reads && i < d->file->n_nodes; i++)
		wet_reads_deinit(&d->reads[i]);
	wet_writers_deinit(&d->writers);
	columns_free(&d->unforeseen.columns);
	free(d->reads);
	free(d->executions);
	free(d->node_of);
	free(d->code);
	free(d);
}

/* --- nodes ----------------------------------------------------------------------------------- */

/* One instruction as a block, for what it reads and writes. 0 or -errno. */
static int insn_at(struct wet_depends *d, uint64_t ip, const struct value_insn **insn,
		   struct dep_block **out)
{
	int err = again_insn(d->again, ip, insn);
	if (err)
		return err;
	struct value_block b = {.ip = ip, .n_insns = 1, .insns = (struct value_insn *)*insn};
	*out = dep_block_new(&b);
	return *out ? 0 : -ENOMEM;
}

static int make_reads(struct wet_depends *d, uint32_t node)
{
	const struct wet_file_node *n = &d->file->nodes[node];
	if (!n->n_stmts || n->n_stmts > PATH_STMTS)
		return -EBADMSG;
	struct wet_path_insn *insns = calloc(n->n_stmts, sizeof(*insns));
	struct dep_block **blocks = calloc(n->n_stmts, sizeof(*blocks));
	int err = insns && blocks ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < n->n_stmts && !err; i++) {
		err = insn_at(d, d->file->ips[n->first_stmt + i], &insns[i].insn, &blocks[i]);
		insns[i].dep = blocks[i] ? &blocks[i]->insns[0] : NULL;
	}
	if (!err && !wet_reads_make(insns, n->n_stmts, &d->reads[node]))
		err = -ENOMEM;
	for (uint32_t i = 0; blocks && i < n->n_stmts; i++)
		free(blocks[i]);
	free(blocks);
	free(insns);
	return err;
}

/* --- a path ---------------------------------------------------------------------------------- */

static uint32_t node_now(const struct wet_depends *d)
{
	return d->paths.nodes[d->path];
}

static bool is_asked(const struct wet_depends *d)
{
	uint64_t time = d->file->again[d->here].paths + d->path + 1;
	return d->fn && time >= d->from && time <= d->to && (!d->nodes || d->nodes[node_now(d)]);
}

static void emit(struct wet_depends *d, uint32_t stmt, uint32_t operand,
		 const struct wet_maker *from)
{
	uint32_t node = node_now(d);
	if (!d->asked || !from->stmt || !d->fn)
		return;
	struct wet_depend depend = {d->file->nodes[node].first_stmt + stmt, operand,
				    d->executions[node], from->stmt - 1, from->time};
	if (!d->fn(d->ctx, &depend))
		d->fn = NULL;
}

/* Whether what that statement reads of operands @first to @first + @n is other than it seems. */
static bool is_unforeseen(const struct wet_depends *d, uint32_t stmt, uint32_t first, uint32_t n)
{
	const struct unforeseen_read *next = &d->unforeseen.next;
	return d->unforeseen.is && next->path == d->path && next->stmt == stmt &&
	       next->operand >= first && next->operand < first + n;
}

static bool next_writer(struct wet_depends *d, struct wet_maker *out)
{
	return unforeseen_writer(&d->unforeseen, d->node_of, d->file->n_stmts, d->executions, out);
}

/* Load @i of @a, at @addr; or (@told) it was not executed. */
static bool take_load(struct wet_depends *d, const struct wet_access *a, unsigned i, bool told,
		      uint64_t addr)
{
	struct wet_maker said[WET_WRITERS_LOAD], by = {0, 0};
	uint32_t operand = WET_MEMORY + i;
	if (!is_unforeseen(d, a->stmt, operand, 1)) {
		uint32_t n = told || !d->asked
				     ? 0
				     : wet_writers_load(&d->writers, addr, a->loads[i].len, said);
		for (uint32_t k = 0; k < n; k++)
			emit(d, a->stmt, operand, &said[k]);
		return true;
	}
	uint32_t n = d->unforeseen.next.n;
	for (uint32_t k = 0; k < n; k++) {
		if (!next_writer(d, &by))
			return false;
		emit(d, a->stmt, operand, &by);
	}
	if (!told && n < 2)
		wet_writers_store(&d->writers, addr, a->loads[i].len, by);
	return unforeseen_pass(&d->unforeseen);
}

/* The path's accesses up to statement @end; @addresses: of statement d->stmt on, or NULL. */
static bool take_accesses(struct wet_depends *d, const struct wet_reads *r, uint32_t end,
			  const uint64_t *addresses)
{
	uint32_t node = node_now(d);
	for (; d->access < r->n_accesses && r->accesses[d->access].stmt < end; d->access++) {
		const struct wet_access *a = &r->accesses[d->access];
		const uint64_t *at =
			addresses ? addresses + (a->addresses - r->addresses[d->stmt]) : NULL;
		struct wet_maker by = {d->file->nodes[node].first_stmt + a->stmt + 1,
				       d->executions[node]};
		if (a->direction && at)
			d->writers.down = a->direction < 0;
		for (unsigned i = 0; i < a->n_loads; i++)
			if (!take_load(d, a, i, !at, at ? at[a->loads[i].address] : 0))
				return false;
		if (a->string && at)
			wet_writers_string(&d->writers, a, at, by);
		for (unsigned i = 0; i < a->n_stores && at; i++)
			wet_writers_store(&d->writers, at[a->stores[i].address], a->stores[i].len,
					  by);
	}
	return true;
}

/* What is other than it seems of the units of @o and those in a row with it. */
static bool mend_units(struct wet_depends *d, const struct wet_outer *o)
{
	while (is_unforeseen(d, o->stmt, o->unit, o->run)) {
		uint32_t first = d->unforeseen.next.operand, n = d->unforeseen.next.n;
		struct wet_maker by;
		if (first + n > WET_UNITS || !next_writer(d, &by) ||
		    !unforeseen_pass(&d->unforeseen))
			return false;
		for (uint32_t k = 0; k < n; k++)
			d->writers.units[first + k] = by;
	}
	return true;
}

/* One edge for units in a row that have the same maker: the first one's. */
static bool take_registers(struct wet_depends *d, const struct wet_reads *r)
{
	const struct wet_maker *before = NULL;
	uint32_t stmt = UINT32_MAX;
	if (!d->asked && !(d->unforeseen.is && d->unforeseen.next.path == d->path))
		return true;
	for (uint32_t i = 0, run; i < r->n_outer; i += run) {
		const struct wet_outer *o = &r->outer[i];
		const struct wet_maker *from = &d->writers.units[o->unit];
		if (!mend_units(d, o))
			return false;
		if (!before || stmt != o->stmt || !wet_maker_same(before, from))
			emit(d, o->stmt, o->unit, from);
		before = from;
		stmt = o->stmt;
		for (run = 1; run < o->run && wet_maker_same(from, from + run);)
			run++;
	}
	return true;
}

static bool end_path(struct wet_depends *d, const struct wet_reads *r)
{
	uint32_t node = node_now(d);
	if (!take_registers(d, r))
		return false;
	wet_units_left(d->writers.units, r, d->file->nodes[node].first_stmt, d->executions[node]);
	wet_units_forget(d->writers.units, &d->file->behind[node]);
	d->executions[node]++;
	d->path++;
	d->stmt = d->access = 0;
	return true;
}

/* --- a block --------------------------------------------------------------------------------- */

static void take_word(void *ctx, uint64_t word)
{
	struct wet_depends *d = ctx;
	wet_writers_store(&d->writers, word * 8, 8, (struct wet_maker){0, 0});
}

static bool take_insns(void *ctx, uint64_t n, const uint64_t *addresses, size_t n_addresses)
{
	struct wet_depends *d = ctx;
	while (n && !d->err) {
		if (d->path == d->paths.n) {
			d->err = -EBADMSG;
			break;
		}
		uint32_t node = node_now(d);
		const struct wet_reads *r = &d->reads[node];
		if (!r->n_stmts && (d->err = make_reads(d, node)))
			break;
		d->asked = is_asked(d);
		uint32_t part = r->n_stmts - d->stmt < n ? r->n_stmts - d->stmt : (uint32_t)n;
		uint32_t end = d->stmt + part;
		size_t taken = addresses ? r->addresses[end] - r->addresses[d->stmt] : 0;
		if (taken > n_addresses || !take_accesses(d, r, end, addresses)) {
			d->err = -EBADMSG;
			break;
		}
		addresses = addresses ? addresses + taken : NULL;
		n_addresses -= taken;
		n -= part;
		d->stmt = end;
		if (end == r->n_stmts && !end_path(d, r))
			d->err = -EBADMSG;
	}
	if (!d->err && n_addresses)
		d->err = -EBADMSG;
	if (!d->err && d->writers.no_memory)
		d->err = -ENOMEM;
	return !d->err;
}

/* Executes block d->here, which is next. */
static int run_block(struct wet_depends *d)
{
	const struct wet_file *f = d->file;
	uint32_t stream = f->again_first + AGAIN_UNFORESEEN + AGAIN_STREAMS * d->here;
	struct again_watch watch = {take_word, take_insns, d};
	if (d->here % AGAIN_FRESH == 0)
		wet_writers_clear(&d->writers);
	memcpy(d->executions, d->paths.before + (uint64_t)d->here * f->n_nodes,
	       f->n_nodes * sizeof(*d->executions));
	d->path = d->stmt = d->access = 0;
	d->err = 0;
	int err = block_paths_read(&d->paths, d->here);
	columns_free(&d->unforeseen.columns);
	d->unforeseen = (struct unforeseen_reader){0};
	err = err ? err
		  : unforeseen_read(d->codec, f->bytes + f->streams[stream],
				    f->streams[stream + 1] - f->streams[stream], &d->unforeseen);
	err = err ? err : again_watched(d->again, d->here, &watch);
	err = d->err ? d->err : err;
	if (!err && (d->path != d->paths.n || d->stmt || d->unforeseen.is))
		err = -EBADMSG;
	d->here = err ? f->n_again + 1 : d->here + 1;
	return err;
}

int wet_depends_run(struct wet_depends *d, uint64_t from, uint64_t to, const bool *nodes,
		    wet_depend_fn *fn, void *ctx)
{
	const struct wet_file *f = d->file;
	from = from ? from : 1;
	to = to < f->totals.paths ? to : f->totals.paths;
	if (from > to)
		return 0;
	uint32_t first = block_paths_find(f, from);
	if (first == f->n_again)
		return -EBADMSG;
	if (d->here > first || first - d->here >= AGAIN_FRESH)
		d->here = first - first % AGAIN_FRESH;
	d->from = from;
	d->to = to;
	d->nodes = nodes;
	d->fn = fn;
	d->ctx = ctx;
	int err = 0;
	while (!err && d->fn && d->here < f->n_again && f->again[d->here].paths < to)
		err = run_block(d);
	return err;
}
