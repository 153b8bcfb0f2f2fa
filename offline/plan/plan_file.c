// SPDX-License-Identifier: LGPL-2.1-or-later
/* plan_file.c: reads and writes plan files. A file is a header and arrays, each as it lies in
 * memory, so that reading is checking:
 *
 *   header | sites | funcs | nodes | decisions | alternatives | targets | strings |
 *   points | unresolved places | of a share: which one it is
 *
 * Every index is checked once here, so that nobody else has to. */
#include "offline/plan/plan_file.h"

#include "offline/base/checksum.h"
#include "offline/base/open_regular.h"
#include "offline/base/private_file.h"
#include "offline/base/search.h"
#include "offline/base/whole_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PLAN_MAGIC "PUGPLAN"
#define PLAN_VERSION 4
#define FIRST_VERSION 1	 /* without points */
#define PLACES_VERSION 3 /* the first that says where unresolved places are */
#define SHARE_VERSION 4	 /* of shares: who knows none must not take one for a plan */

/* The last part of a share's plan. */
struct plan_share {
	uint64_t set;
	uint32_t share, n_shares;
};

struct plan_header {
	char magic[8];
	uint32_t version;
	uint32_t crc;	    /* of all bytes after this field */
	uint64_t len_bytes; /* of the whole file */
	uint32_t n_sites, n_funcs, n_nodes, n_decisions, n_alternatives, n_targets, strings_bytes;
	uint32_t mode;
	uint32_t build_id_len;
	float expected_cost_ns;
	uint8_t build_id[32];
	uint64_t text_addr, text_end;
	uint32_t n_points; /* from version 2 on, as what follows */
	uint32_t unresolved;
};
#define FIRST_HEADER_BYTES offsetof(struct plan_header, n_points)
_Static_assert(sizeof(struct plan_header) == 120, "plan files depend on this layout");
_Static_assert(sizeof(struct pugmark_plan_site) == 48 && sizeof(struct pugmark_plan_func) == 32 &&
		       sizeof(struct pugmark_plan_decision) == 8 &&
		       sizeof(struct pugmark_plan_target) == 16 &&
		       sizeof(struct pugmark_plan_point) == 16 &&
		       sizeof(struct pugmark_plan_unresolved) == 24,
	       "plan files depend on this layout");
_Static_assert(FIRST_HEADER_BYTES == 112, "plan files of version 1 depend on this layout");
#define CRC_FROM offsetof(struct plan_header, len_bytes)

struct span {
	const void **array; /* where the plan points to it */
	size_t count, size;
};
#define N_SPANS 9

/* @n_places: how many of those unresolved the file tells of. */
static void plan_spans(struct pugmark_plan *plan, uint32_t n_places, struct span spans[N_SPANS])
{
	const struct span all[N_SPANS] = {
		{(const void **)&plan->sites, plan->n_sites, sizeof(*plan->sites)},
		{(const void **)&plan->funcs, plan->n_funcs, sizeof(*plan->funcs)},
		{(const void **)&plan->nodes, plan->n_nodes, sizeof(*plan->nodes)},
		{(const void **)&plan->decisions, plan->n_decisions, sizeof(*plan->decisions)},
		{(const void **)&plan->alternatives, plan->n_alternatives, sizeof(uint32_t)},
		{(const void **)&plan->targets, plan->n_targets, sizeof(*plan->targets)},
		{(const void **)&plan->strings, plan->strings_bytes, 1},
		{(const void **)&plan->points, plan->n_points, sizeof(*plan->points)},
		{(const void **)&plan->unresolved_at, n_places, sizeof(*plan->unresolved_at)},
	};
	memcpy(spans, all, sizeof(all));
}

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* Whether @plan says where unresolved places are, or was read from a file that does not. */
static bool tells_places(const struct pugmark_plan *plan)
{
	return plan->unresolved_at || !plan->unresolved;
}

size_t plan_encoded_bytes(const struct pugmark_plan *plan)
{
	struct pugmark_plan copy = *plan;
	struct span spans[N_SPANS];
	size_t len = sizeof(struct plan_header) + (plan->share ? sizeof(struct plan_share) : 0);
	plan_spans(&copy, tells_places(plan) ? plan->unresolved : 0, spans);
	for (int i = 0; i < N_SPANS; i++)
		len += padded(spans[i].count * spans[i].size);
	return len;
}

void plan_encode_to(const struct pugmark_plan *plan, void *zeroes, plan_span_done *done, void *ctx)
{
	struct pugmark_plan copy = *plan;
	struct span spans[N_SPANS];
	bool places = tells_places(plan);
	plan_spans(&copy, places ? plan->unresolved : 0, spans);
	size_t len = plan_encoded_bytes(plan);
	uint8_t *bytes = zeroes;
	struct plan_header *h = (struct plan_header *)bytes;
	*h = (struct plan_header){
		.magic = PLAN_MAGIC,
		.version = plan->share ? SHARE_VERSION
			   : places    ? PLACES_VERSION
				       : PLACES_VERSION - 1,
		.len_bytes = len,
		.n_sites = plan->n_sites,
		.n_funcs = plan->n_funcs,
		.n_nodes = plan->n_nodes,
		.n_decisions = plan->n_decisions,
		.n_alternatives = plan->n_alternatives,
		.n_targets = plan->n_targets,
		.strings_bytes = plan->strings_bytes,
		.n_points = plan->n_points,
		.unresolved = plan->unresolved,
		.mode = plan->mode,
		.build_id_len = plan->build_id_len,
		.expected_cost_ns = plan->expected_cost_ns,
		.text_addr = plan->text_addr,
		.text_end = plan->text_end,
	};
	memcpy(h->build_id, plan->build_id, sizeof(h->build_id));
	uint8_t *at = bytes + sizeof(*h);
	for (int i = 0; i < N_SPANS; i++) {
		if (spans[i].count)
			memcpy(at, *spans[i].array, spans[i].count * spans[i].size);
		if (done)
			done(ctx, *spans[i].array);
		at += padded(spans[i].count * spans[i].size);
	}
	if (plan->share)
		memcpy(at, &(struct plan_share){plan->share_set, plan->share, plan->n_shares},
		       sizeof(struct plan_share));
	h->crc = checksum(bytes + CRC_FROM, len - CRC_FROM);
}

int plan_encode(const struct pugmark_plan *plan, void **out, size_t *len_bytes)
{
	size_t len = plan_encoded_bytes(plan);
	void *bytes = calloc(1, len);
	if (!bytes)
		return -ENOMEM;
	plan_encode_to(plan, bytes, NULL, NULL);
	*out = bytes;
	*len_bytes = len;
	return 0;
}

int plan_file_bytes(const struct pugmark_plan *plan, const void **bytes, size_t *len_bytes,
		    void **own)
{
	const struct plan_header *h = plan->storage;
	*own = NULL;
	if (h && h->version >= PLACES_VERSION && !plan->n_shares) {
		*bytes = h;
		*len_bytes = h->len_bytes;
		return 0;
	}
	int err = plan_encode(plan, own, len_bytes);
	*bytes = *own;
	return err;
}

/* The kernel takes whole pages. They lie one behind the other: nodes to targets. */
void plan_forget_grammar(struct pugmark_plan *plan)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)plan->nodes + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)(plan->targets + plan->n_targets) & ~(page - 1);

	if (!plan->storage)
		return;
	plan->nodes = NULL;
	plan->decisions = NULL;
	plan->alternatives = NULL;
	plan->targets = NULL;
	plan->n_nodes = plan->n_decisions = plan->n_alternatives = plan->n_targets = 0;
	if (from < end)
		madvise((void *)from, end - from, MADV_DONTNEED);
}

static bool index_ok(uint32_t index, uint32_t count)
{
	return index + 1 <= count; /* PUGMARK_NONE + 1 is 0 */
}

static bool node_ok(const struct pugmark_plan *plan, const struct pugmark_plan_node *n)
{
	if (!index_ok(n->site, plan->n_sites) || !index_ok(n->callee, plan->n_funcs) ||
	    n->func >= plan->n_funcs || n->import >= plan->strings_bytes ||
	    n->kind > PUGMARK_NODE_KIND_OPAQUE)
		return false;
	if (n->kind == PUGMARK_NODE_KIND_CALL && n->callee == PUGMARK_NONE)
		return false;
	if (n->kind == PUGMARK_NODE_KIND_TARGET)
		return n->site != PUGMARK_NONE && n->arm.targets.first <= plan->n_targets &&
		       n->arm.targets.n <= plan->n_targets - n->arm.targets.first;
	bool needs_site = n->kind == PUGMARK_NODE_KIND_MARK || n->kind == PUGMARK_NODE_KIND_BRANCH;
	if (needs_site && n->site == PUGMARK_NONE)
		return false;
	bool call = n->kind == PUGMARK_NODE_KIND_CALL || n->kind == PUGMARK_NODE_KIND_UNKNOWN ||
		    n->kind == PUGMARK_NODE_KIND_LEAF;
	bool offset = (call && n->flags & PUGMARK_NODE_SHOWS_BLOCK) ||
		      n->kind == PUGMARK_NODE_KIND_OPAQUE;
	return index_ok(pugmark_node_next(n), plan->n_decisions) &&
	       (offset || index_ok(n->arm.branch.taken, plan->n_decisions));
}

static bool points_ok(const struct pugmark_plan *plan)
{
	uint64_t least = 0; /* that the next offset is */
	for (uint32_t i = 0; i < plan->n_points; i++) {
		const struct pugmark_plan_point *p = &plan->points[i];
		bool known = p->next == PUGMARK_NONE || PUGMARK_POINT_NODE(p->next) < plan->n_nodes;
		if (!known || !index_ok(p->func, plan->n_funcs) || p->off < least)
			return false;
		least = p->off + 1ull;
	}
	return true;
}

/* Ranges of code in no function come last, by address. */
static bool place_ok(const struct pugmark_plan *plan, uint32_t i)
{
	const struct pugmark_plan_unresolved *u = &plan->unresolved_at[i];
	bool after_code = i && u[-1].kind == PUGMARK_UNRESOLVED_CODE;
	return u->func < plan->n_funcs && index_ok(u->node, plan->n_nodes) &&
	       u->kind < PUGMARK_UNRESOLVED_KINDS &&
	       (!after_code || (u->kind == PUGMARK_UNRESOLVED_CODE && u->addr > u[-1].addr));
}

/* What of @plan is not as it must be, or NULL. */
static const char *plan_fault(const struct pugmark_plan *plan)
{
	if (!plan->n_nodes || !plan->strings_bytes || plan->strings[plan->strings_bytes - 1])
		return "no nodes, or strings without an end";
	if (plan->build_id_len > sizeof(plan->build_id))
		return "build-id too long";
	for (uint32_t i = 0; i < plan->n_sites; i++)
		if (plan->sites[i].func >= plan->n_funcs ||
		    plan->sites[i].kind > PUGMARK_WITNESS_RETURN)
			return "a site of no function";
	for (uint32_t i = 0; i < plan->n_funcs; i++) {
		const struct pugmark_plan_func *f = &plan->funcs[i];
		if (f->name >= plan->strings_bytes || f->personality > plan->n_funcs ||
		    !index_ok(f->entry, plan->n_decisions) || f->node > plan->n_nodes ||
		    f->n_nodes > plan->n_nodes - f->node)
			return "a function that points outside";
	}
	const struct pugmark_plan_node *exit = &plan->nodes[0];
	if (exit->kind != PUGMARK_NODE_KIND_EXIT || exit->site != PUGMARK_NONE ||
	    !index_ok(pugmark_node_next(exit), plan->n_decisions))
		return "no exit node";
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (!node_ok(plan, &plan->nodes[i]))
			return "a node that points outside";
	for (uint32_t i = 0; i < plan->n_decisions; i++) {
		const struct pugmark_plan_decision *d = &plan->decisions[i];
		if (d->first > plan->n_alternatives || d->n > plan->n_alternatives - d->first)
			return "a decision that points outside";
	}
	for (uint32_t i = 0; i < plan->n_alternatives; i++)
		if (plan->alternatives[i] >= plan->n_nodes)
			return "an alternative that is no node";
	for (uint32_t i = 0; i < plan->n_targets; i++)
		if (!index_ok(plan->targets[i].decision, plan->n_decisions))
			return "a jump target that points outside";
	if (!points_ok(plan))
		return "a point that points outside, or is not in order";
	for (uint32_t i = 0; plan->unresolved_at && i < plan->unresolved; i++)
		if (!place_ok(plan, i))
			return "an unresolved place of no function";
	return NULL;
}

/* What helps where the bytes are wrong, and where they are of another version. */
struct advice {
	const char *damaged, *version;
};
static const struct advice own = {"plan again", "plan again"};
/* Instructions of the program are probed by it: another one would not fit what was recorded. */
static const struct advice recorded = {"copy it again from where it was recorded, or record again",
				       "read it with the pugmark that has recorded it"};

static int decode(const void *bytes, size_t len_bytes, const char *name,
		  const struct advice *advice, struct pugmark_plan *plan, struct pugmark_diag *diag)
{
	const struct plan_header *h = bytes;
	if (!h || len_bytes < FIRST_HEADER_BYTES || memcmp(h->magic, PLAN_MAGIC, sizeof(h->magic)))
		return pugmark_diag_set(diag, -EBADMSG, name, 0,
					"not a plan file (pugmark plan -o makes one)");
	if (h->version < FIRST_VERSION || h->version > PLAN_VERSION)
		return pugmark_diag_set(diag, -EPROTO, name, 8,
					"plan format %u, this pugmark reads 1 to %u (%s)",
					h->version, PLAN_VERSION, advice->version);
	size_t at = h->version == FIRST_VERSION ? FIRST_HEADER_BYTES : sizeof(*h);
	if (h->len_bytes != len_bytes || len_bytes < at)
		return pugmark_diag_set(
			diag, -EBADMSG, name, CRC_FROM, "%s: %zu bytes, its header says %llu (%s)",
			len_bytes < h->len_bytes ? "cut short" : "damaged", len_bytes,
			(unsigned long long)h->len_bytes, advice->damaged);
	if (h->crc != checksum((const uint8_t *)bytes + CRC_FROM, len_bytes - CRC_FROM))
		return pugmark_diag_set(diag, -EBADMSG, name, 12,
					"damaged: the checksum differs (%s)", advice->damaged);
	struct pugmark_plan p = {
		.n_sites = h->n_sites,
		.n_funcs = h->n_funcs,
		.n_nodes = h->n_nodes,
		.n_decisions = h->n_decisions,
		.n_alternatives = h->n_alternatives,
		.n_targets = h->n_targets,
		.strings_bytes = h->strings_bytes,
		.n_points = h->version == FIRST_VERSION ? 0 : h->n_points,
		.unresolved = h->version == FIRST_VERSION ? 0 : h->unresolved,
		.mode = h->mode,
		.build_id_len = h->build_id_len,
		.expected_cost_ns = h->expected_cost_ns,
		.text_addr = h->text_addr,
		.text_end = h->text_end,
	};
	memcpy(p.build_id, h->build_id, sizeof(p.build_id));
	struct span spans[N_SPANS];
	plan_spans(&p, h->version < PLACES_VERSION ? 0 : p.unresolved, spans);
	for (int i = 0; i < N_SPANS; i++) {
		size_t len = padded(spans[i].count * spans[i].size);
		if (len > len_bytes - at || padded(len) > len_bytes - at)
			return pugmark_diag_set(diag, -EBADMSG, name, at,
						"damaged: an array runs past the end (%s)",
						advice->damaged);
		*spans[i].array = (const uint8_t *)bytes + at;
		at += len;
	}
	if (h->version < PLACES_VERSION)
		p.unresolved_at = NULL;
	if (h->version >= SHARE_VERSION) {
		struct plan_share s = {0};
		if (sizeof(s) <= len_bytes - at)
			memcpy(&s, (const uint8_t *)bytes + at, sizeof(s));
		if (!s.share || s.share > s.n_shares)
			return pugmark_diag_set(diag, -EBADMSG, name, at,
						"damaged: no such share (%s)", advice->damaged);
		p.share = s.share;
		p.n_shares = s.n_shares;
		p.share_set = s.set;
	}
	const char *fault = plan_fault(&p);
	if (fault)
		return pugmark_diag_set(diag, -EBADMSG, name, PUGMARK_NO_OFFSET, "damaged: %s (%s)",
					fault, advice->damaged);
	*plan = p;
	return 0;
}

int plan_decode(const void *bytes, size_t len_bytes, const char *name, struct pugmark_plan *plan,
		struct pugmark_diag *diag)
{
	return decode(bytes, len_bytes, name, &own, plan, diag);
}

static int take(struct private_file *file, const char *name, const struct advice *advice,
		struct pugmark_plan **out, struct pugmark_diag *diag)
{
	struct pugmark_plan *plan = calloc(1, sizeof(*plan));
	int err = -ENOMEM;
	if (plan)
		err = decode(file->bytes, file->len_bytes, name, advice, plan, diag);
	if (err) {
		free(plan);
		private_file_free(file);
		return err;
	}
	plan->storage = (void *)file->bytes;
	plan->storage_bytes = file->len_bytes;
	plan->storage_is_file = true;
	*file = (struct private_file){0};
	*out = plan;
	return 0;
}

int plan_take(struct private_file *file, const char *name, struct pugmark_plan **out,
	      struct pugmark_diag *diag)
{
	return take(file, name, &own, out, diag);
}

static int open_plan(const char *path, const struct advice *advice, struct pugmark_plan **out,
		     struct pugmark_diag *diag)
{
	struct private_file file;
	int err = private_file_open(path, PLAN_MAX_BYTES, &file);
	if (err == -ENXIO || err == -EISDIR)
		return pugmark_diag_set(diag, -EINVAL, path, PUGMARK_NO_OFFSET,
					"not a plan file: %s", open_regular_why(-ENXIO));
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
					"cannot open the plan: %s", private_file_why(err));
	return take(&file, path, advice, out, diag);
}

int pugmark_plan_open(const char *path, struct pugmark_plan **out, struct pugmark_diag *diag)
{
	return open_plan(path, &own, out, diag);
}

int plan_open_recorded(const char *path, struct pugmark_plan **out, struct pugmark_diag *diag)
{
	return open_plan(path, &recorded, out, diag);
}

int pugmark_plan_write(const struct pugmark_plan *plan, const char *path, struct pugmark_diag *diag)
{
	void *bytes;
	size_t len;
	int err = plan_encode(plan, &bytes, &len);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET, "out of memory");
	err = whole_file_write(path, bytes, len);
	free(bytes);
	if (err)
		return pugmark_diag_set(diag, err, path, PUGMARK_NO_OFFSET,
					"cannot write the plan: %s", whole_file_why(err));
	return 0;
}

void pugmark_plan_free(struct pugmark_plan *plan)
{
	if (!plan)
		return;
	struct private_file file = {.bytes = plan->storage, .len_bytes = plan->storage_bytes};
	if (plan->storage_is_file)
		private_file_free(&file);
	else if (plan->storage && plan->storage_bytes)
		munmap(plan->storage, plan->storage_bytes);
	free(plan);
}

uint32_t pugmark_plan_func_of(const struct pugmark_plan *plan, uint64_t addr)
{
	uint32_t lo = 0, hi = plan->n_points;

	if (addr < plan->text_addr || addr >= plan->text_end)
		return PUGMARK_NONE;
	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		if (plan->text_addr + plan->points[mid].off <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? plan->points[lo - 1].func : PUGMARK_NONE;
}

uint32_t pugmark_plan_func_at(const struct pugmark_plan *plan, uint64_t addr)
{
	uint32_t lo = SEARCH_FIRST_NOT(0, plan->n_funcs, i, plan->funcs[i].addr < addr);
	return lo < plan->n_funcs && plan->funcs[lo].addr == addr ? lo : PUGMARK_NONE;
}

uint32_t pugmark_plan_unknown_code(const struct pugmark_plan *plan)
{
	uint32_t n = plan->unresolved_at ? plan->unresolved : 0;
	uint32_t first =
		SEARCH_FIRST_NOT(0, n, i, plan->unresolved_at[i].kind != PUGMARK_UNRESOLVED_CODE);
	return n ? first : plan->unresolved;
}

bool pugmark_plan_in_unknown_code(const struct pugmark_plan *plan, uint64_t addr)
{
	const struct pugmark_plan_unresolved *at = plan->unresolved_at;
	uint32_t first = pugmark_plan_unknown_code(plan);
	uint32_t low = SEARCH_FIRST_NOT(first, plan->unresolved, i, at[i].addr <= addr);
	return low > first && addr - at[low - 1].addr < at[low - 1].len_bytes;
}
