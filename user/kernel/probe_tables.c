// SPDX-License-Identifier: LGPL-2.1-or-later
/* probe_tables.c: see probe_tables.h. The maps are shared memory: they are written as such. */
#include "user/kernel/probe_tables.h"

#include "user/file/arg_types.h"
#include "user/kernel/return_bits.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for libraries that are loaded later: their probes, and their text (one word for 64
 * bytes). */
enum { LATER_SITES = 1 << 17, LATER_OPERANDS = 1 << 15, LATER_WORDS = 1 << 19 };

static bool has_operand(const struct pugmark_plan_site *s)
{
	return s->capture & PUGMARK_CAPTURE_TARGET;
}

/* Whether something may be read through arguments there. */
static bool has_reads(const struct recorder_module *m, const struct pugmark_plan_site *s)
{
	return m->arg_types && s->reads & PUGMARK_READS_ARGS && !has_operand(s);
}

/* Sites, those of them with an operand, and those where arguments lead further, over all modules.
 */
static void count_sites(const struct recorder_options *options, uint32_t *n_sites,
			uint32_t *n_operands, uint32_t *n_reads)
{
	*n_sites = *n_operands = *n_reads = 0;
	for (uint32_t m = 0; m < options->n_modules; m++)
		for (uint32_t i = 0; i < options->modules[m].n_sites; i++) {
			const struct pugmark_plan_site *s = &options->modules[m].sites[i];
			++*n_sites;
			*n_operands += has_operand(s);
			*n_reads += has_reads(&options->modules[m], s);
		}
}

void probe_tables_size(struct probe_tables *t, const struct recorder_options *options)
{
	bool changes = options->max_overhead > 0 || options->later;
	count_sites(options, &t->max_sites, &t->max_operands, &t->max_reads);
	t->max_words = t->n_words;
	/* When functions are taken out, what is left of a plan may need other witnesses. */
	if (changes) {
		t->max_sites = 2 * t->max_sites + 4096;
		t->max_operands += 4096;
		t->max_reads = 2 * t->max_reads;
	}
	if (options->later) {
		t->max_sites += LATER_SITES;
		t->max_operands += LATER_OPERANDS;
		t->max_words += LATER_WORDS;
	}
	t->max_sites = t->max_sites ? t->max_sites : 1;
	t->max_operands = t->max_operands ? t->max_operands : 1;
	t->max_reads = t->max_reads ? t->max_reads : 1;
	t->halves = changes ? 2 : 1;
	bpf_map__set_max_entries(t->arg_reads, t->halves * t->max_reads);
	bpf_map__set_max_entries(t->returns, t->halves * t->max_words);
	bpf_map__set_max_entries(t->sites, t->halves * t->max_sites);
	bpf_map__set_max_entries(t->operands, t->halves * t->max_operands);
}

int probe_tables_add_modules(struct probe_tables *t, const struct recorder_options *options,
			     const struct text_span *spans, struct pugmark_diag *diag)
{
	for (; t->n_modules < options->n_modules; t->n_modules++) {
		uint32_t m = t->n_modules, n_words = return_bits_words(&spans[m]);
		if (t->max_words && n_words > t->max_words - t->n_words)
			return pugmark_diag_set(diag, -E2BIG, options->modules[m].name,
						PUGMARK_NO_OFFSET,
						"too large to be taken in while recording");
		t->spans[m] = spans[m];
		t->returns_first[m] = t->n_words;
		t->goid_at[m] = options->modules[m].goid_at;
		t->n_words += n_words;
	}
	return 0;
}

static void *map_of(struct bpf_map *map, size_t bytes)
{
	long page = sysconf(_SC_PAGESIZE);

	bytes = (bytes + page - 1) / page * page;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return at == MAP_FAILED ? NULL : at;
}

static void unmap(void *at, size_t bytes)
{
	long page = sysconf(_SC_PAGESIZE);

	if (at)
		munmap(at, (bytes + page - 1) / page * page);
}

static void fill_operand(struct operand_desc *to, const struct pugmark_plan_operand *from,
			 uint64_t text)
{
	*to = (struct operand_desc){
		.disp = from->base == OPERAND_RIP ? from->disp - (int64_t)text : from->disp,
		.base = from->base,
		.index = from->index,
		.scale = from->scale,
		.is_memory = from->is_memory,
	};
}

static int fill_returns(const struct probe_tables *t, const struct recorder_options *options,
			uint32_t generation)
{
	size_t bytes = (size_t)t->halves * t->max_words * sizeof(uint64_t);
	uint64_t *words = map_of(t->returns, bytes);

	if (!words)
		return -ENOMEM;
	return_bits_fill(words + (generation & 1) * t->max_words, options, t->spans);
	unmap(words, bytes);
	return 0;
}

static struct site_desc describe(const struct pugmark_plan_site *s, const struct text_span *span,
				 uint32_t module, uint32_t operand, uint8_t outs)
{
	uint8_t at_call = s->reads & PUGMARK_READS_CALL ? DESC_AT_CALL : 0;
	return (struct site_desc){
		.addr_off = s->addr - span->addr,
		.cfa_off = s->cfa_reg == PUGMARK_CFA_UNKNOWN ? 0 : s->cfa_off,
		.cfa_reg = s->cfa_reg | outs << DESC_OUTS_SHIFT,
		/* Without a CFA there is no slot to read. */
		.capture = at_call |
			   (s->cfa_reg == PUGMARK_CFA_UNKNOWN
				    ? s->capture & ~(PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT)
				    : s->capture),
		.cond = (s->cond & 15) | (s->reads & 15) << DESC_READS_SHIFT,
		.module = module,
		.operand = operand,
	};
}

/* The name of the import that site @index calls, or "". */
static const char *import_at(const struct pugmark_plan *plan, uint32_t index)
{
	for (uint32_t i = 1; i < plan->n_nodes; i++)
		if (plan->nodes[i].site == index && plan->nodes[i].import)
			return plan->strings + plan->nodes[i].import;
	return "";
}

/* Through which arguments site @index reads at the call's end; at that end itself, whether. */
static uint8_t outs_at(const struct recorder_options *o, const struct recorder_module *mod,
		       uint32_t index)
{
	const struct pugmark_plan_site *s = &mod->sites[index];

	if (!(s->reads & PUGMARK_READS_OUT) || !mod->plan || !o->outs)
		return 0;
	if (s->reads & PUGMARK_READS_RESULT)
		return 1;
	if (s->reads & PUGMARK_READS_CALL)
		return o->outs(o->outs_ctx, import_at(mod->plan, index));
	/* Without a CFA nothing says where the stack pointer will be. */
	return s->cfa_reg == PUGMARK_CFA_UNKNOWN
		       ? 0
		       : o->outs(o->outs_ctx, mod->plan->strings + mod->plan->funcs[s->func].name);
}

/* What is read through the arguments at site @index. */
static void fill_arg_reads(struct arg_reads_desc *to, const struct recorder_module *mod,
			   uint32_t index)
{
	_Static_assert(ARG_READS == ARG_READS_MAX && 8 * ARG_TEXT_WORDS == ARG_TEXT_BYTES,
		       "the probe and what is known of types agree");
	const struct pugmark_plan_site *s = &mod->sites[index];
	struct arg_read reads[ARG_READS_MAX];
	const struct arg_function *f =
		s->reads & PUGMARK_READS_CALL
			? arg_types_import(mod->arg_types, import_at(mod->plan, index))
			: arg_types_function(mod->arg_types, mod->plan->funcs[s->func].addr);

	*to = (struct arg_reads_desc){.n = f ? arg_function_reads(f, reads) : 0};
	for (uint32_t i = 0; i < to->n; i++)
		to->reads[i] = (struct arg_read_desc){
			.at = reads[i].at,
			.in = reads[i].in,
			.text = reads[i].text,
			.through = reads[i].through,
			.bytes = reads[i].bytes,
		};
}

static int fill_reads(const struct probe_tables *t, const struct recorder_options *options,
		      uint32_t generation)
{
	size_t bytes = (size_t)t->halves * t->max_reads * sizeof(struct arg_reads_desc);
	struct arg_reads_desc *reads = map_of(t->arg_reads, bytes);
	uint32_t k = (generation & 1) * t->max_reads;

	for (uint32_t m = 0; reads && m < options->n_modules; m++)
		for (uint32_t i = 0; i < options->modules[m].n_sites; i++)
			if (has_reads(&options->modules[m], &options->modules[m].sites[i]))
				fill_arg_reads(&reads[k++], &options->modules[m], i);
	int err = reads ? 0 : -ENOMEM;
	unmap(reads, bytes);
	return err;
}

static int fill_sites(const struct probe_tables *t, const struct recorder_options *options,
		      uint32_t generation)
{
	size_t sites_bytes = (size_t)t->halves * t->max_sites * sizeof(struct site_desc);
	size_t operands_bytes = (size_t)t->halves * t->max_operands * sizeof(struct operand_desc);
	struct site_desc *sites = map_of(t->sites, sites_bytes);
	struct operand_desc *operands = map_of(t->operands, operands_bytes);
	uint32_t k = (generation & 1) * t->max_sites, op = (generation & 1) * t->max_operands;
	uint32_t read = (generation & 1) * t->max_reads;

	for (uint32_t m = 0; sites && operands && m < options->n_modules; m++) {
		const struct recorder_module *mod = &options->modules[m];

		for (uint32_t i = 0; i < mod->n_sites; i++) {
			const struct pugmark_plan_site *s = &mod->sites[i];

			uint32_t at = has_operand(s) ? op : has_reads(mod, s) ? ++read : 0;
			sites[k++] = describe(s, &t->spans[m], m, at, outs_at(options, mod, i));
			if (has_operand(s))
				fill_operand(&operands[op++], &s->operand, t->spans[m].addr);
		}
	}
	int err = sites && operands ? 0 : -ENOMEM;
	unmap(sites, sites_bytes);
	unmap(operands, operands_bytes);
	return err;
}

int probe_tables_fill(const struct probe_tables *t, const struct recorder_options *options,
		      uint32_t generation, struct pugmark_diag *diag)
{
	uint32_t n_sites, n_operands, n_reads;

	count_sites(options, &n_sites, &n_operands, &n_reads);
	if (n_sites > t->max_sites || n_operands > t->max_operands || n_reads > t->max_reads ||
	    (generation && t->halves < 2))
		return pugmark_diag_set(diag, -E2BIG, NULL, PUGMARK_NO_OFFSET,
					"no room for %u probes", n_sites);
	int err = fill_sites(t, options, generation);
	if (!err)
		err = fill_reads(t, options, generation);
	if (!err)
		err = fill_returns(t, options, generation);
	return err ? pugmark_diag_set(diag, err, NULL, PUGMARK_NO_OFFSET, "out of memory") : 0;
}
