// SPDX-License-Identifier: LGPL-2.1-or-later
/* wet_tables.c: see wet_tables.h. */
#include "user/wet/wet_tables.h"

#include <inttypes.h>
#include <stdio.h>

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static double megabytes(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static const char *const histories[] = {"branches", "loads", "stores"};

static void print_machine(const struct wet_machine_size *s)
{
	if (!s[WET_BRANCHES].executions && !s[WET_LOADS].executions)
		return;
	puts("Table 4. A bit an execution          uncompressed (MB) / compressed (MB)   misses");
	for (int i = 0; i < WET_HISTORIES; i++)
		printf("%-36s %16.3f %17.3f %7.2f %%\n", histories[i], megabytes(s[i].bytes),
		       megabytes(s[i].packed), 100 * ratio(s[i].misses, s[i].executions));
	putchar('\n');
}

void wet_tables_text(const struct wet_made *m)
{
	static const char *const stores[] = {"FCM",	      "differential FCM", "last n",
					     "last n stride", "as it is",	  "blocks",
					     "executed again"};
	const struct wet_sizes *s = &m->sizes;
	const struct wet_totals *t = &m->totals;
	uint64_t original = s->times.original + s->values.original + s->edges.original;
	uint64_t tier1 = s->times.tier1 + s->values.tier1 + s->edges.tier1;
	uint64_t tier2 = s->times.tier2 + s->values.tier2 + s->edges.tier2;
	printf("Table 1. Sizes\n"
	       "statements executed (millions)  %12.3f\n"
	       "uncompressed (MB)               %12.3f\n"
	       "compressed (MB)                 %12.3f\n"
	       "uncompressed / compressed       %12.2f\n"
	       "bytes for 1,000 statements      %12.1f\n\n",
	       (double)t->statements / 1e6, megabytes(original), megabytes(tier2),
	       ratio(original, tier2), 1000 * ratio(tier2, t->statements));
	puts("Table 2. Labels of nodes            uncompressed (MB)  / tier 1   / tier 2");
	printf("timestamps                           %16.3f %9.2f %10.2f\n",
	       megabytes(s->times.original), ratio(s->times.original, s->times.tier1),
	       ratio(s->times.original, s->times.tier2));
	printf("values                               %16.3f %9.2f %10.2f\n\n",
	       megabytes(s->values.original), ratio(s->values.original, s->values.tier1),
	       ratio(s->values.original, s->values.tier2));
	puts("Table 3. Labels of edges            uncompressed (MB)  / tier 1   / tier 2");
	printf("%-36s %16.3f %9.2f %10.2f\n\n",
	       t->decided ? "data and control dependences" : "data dependences",
	       megabytes(s->edges.original), ratio(s->edges.original, s->edges.tier1),
	       ratio(s->edges.original, s->edges.tier2));
	print_machine(m->machine);
	printf("tier 1 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       megabytes(tier1), megabytes(s->times.tier1), megabytes(s->values.tier1),
	       megabytes(s->edges.tier1));
	printf("tier 2 (MB)                     %12.3f: timestamps %.3f, values %.3f, edges %.3f\n",
	       megabytes(tier2), megabytes(s->times.tier2), megabytes(s->values.tier2),
	       megabytes(s->edges.tier2));
	printf("nodes %u, their executions %" PRIu64 ", of blocks %" PRIu64 "; labels %" PRIu64
	       ", kept %" PRIu64 "\n",
	       m->nodes, t->paths, t->blocks, s->edge_labels, s->edge_labels_kept);
	printf("streams %" PRIu64 ":", s->streams);
	for (int i = 0; i < WET_KINDS; i++)
		printf(" %s %" PRIu64 " (%.3f MB)%s", stores[i], s->chosen[i],
		       megabytes(s->bytes[i]), i + 1 < WET_KINDS ? "," : "\n");
	printf("by what they are (MB): timestamps %.3f, values %.3f; labels of dependences by "
	       "registers %.3f, by memory %.3f, of control %.3f\n",
	       megabytes(s->of[WET_OF_TIMES] + s->again[AGAIN_PATHS]),
	       megabytes(s->of[WET_OF_VALUES]), megabytes(s->of[WET_OF_REGISTERS]),
	       megabytes(s->of[WET_OF_MEMORY]), megabytes(s->of[WET_OF_CONTROL]));
	if (s->again[AGAIN_CODE])
		printf("executed again by (MB): code %.3f, what blocks are told %.3f, executions "
		       "of nodes %.3f, unforeseen dependences %.3f\n",
		       megabytes(s->again[AGAIN_CODE]), megabytes(s->again[AGAIN_BLOCK]),
		       megabytes(s->again[AGAIN_EXECUTIONS]),
		       megabytes(s->again[AGAIN_UNFORESEEN]));
	if (t->inexact)
		printf("of the statements %" PRIu64
		       " are not wholly exact (assumed, or not known), which is not marked in "
		       "what is asked of it\n",
		       t->inexact);
	if (m->partial)
		puts("the values of the recording end in a gap");
	if (m->read)
		return;
	if (m->executed)
		printf("a value is executed again in %.1f ns, with all others of its block\n",
		       m->again_ns);
	printf("made in %.2f s, compressed and walked in %.2f s; a step of a predictor %.1f ns, of "
	       "a "
	       "block %.1f ns\n",
	       m->built_s, m->compressed_s, s->step_ns[0], s->step_ns[1]);
	if (!t->paths)
		return;
	double blocks = ratio(t->blocks, t->paths) * (double)s->walked;
	printf("control flow walked both ways%s, %" PRIu64
	       " executions: %.1f and %.1f million blocks a second\n",
	       s->walk_right ? "" : ", wrongly", s->walked,
	       s->forward_s ? blocks / s->forward_s / 1e6 : 0,
	       s->backward_s ? blocks / s->backward_s / 1e6 : 0);
}

static void print_size(const char *name, const struct wet_size *s)
{
	printf(",\"%s\":{\"original\":%" PRIu64 ",\"tier1\":%" PRIu64 ",\"tier2\":%" PRIu64 "}",
	       name, s->original, s->tier1, s->tier2);
}

void wet_tables_json(const struct wet_made *m)
{
	const struct wet_totals *t = &m->totals;
	putchar('{');
	if (m->task)
		printf("\"task\":%u,", m->task);
	printf("\"statements\":%" PRIu64 ",\"blocks\":%" PRIu64 ",\"executions\":%" PRIu64
	       ",\"nodes\":%u,\"values\":%" PRIu64 ",\"dependences\":%" PRIu64
	       ",\"control_dependences\":%" PRIu64 ",\"inexact\":%" PRIu64,
	       t->statements, t->blocks, t->paths, m->nodes, t->values, t->dependences, t->decided,
	       t->inexact);
	print_size("timestamps", &m->sizes.times);
	print_size("value_labels", &m->sizes.values);
	print_size("edge_labels", &m->sizes.edges);
	printf(",\"executed_again\":%s,\"unforeseen_bytes\":%" PRIu64,
	       m->sizes.again[AGAIN_CODE] ? "true" : "false", m->sizes.again[AGAIN_UNFORESEEN]);
	for (int i = 0; i < WET_HISTORIES && m->machine[WET_LOADS].executions; i++)
		printf(",\"%s\":{\"executions\":%" PRIu64 ",\"misses\":%" PRIu64
		       ",\"bytes\":%" PRIu64 ",\"packed\":%" PRIu64 "}",
		       histories[i], m->machine[i].executions, m->machine[i].misses,
		       m->machine[i].bytes, m->machine[i].packed);
	printf(",\"walk\":%s,\"forward_s\":%.6f,\"backward_s\":%.6f,\"made_s\":%.6f,"
	       "\"compressed_s\":%.6f,\"gap\":%s}\n",
	       m->sizes.walk_right ? "true" : "false", m->sizes.forward_s, m->sizes.backward_s,
	       m->built_s, m->compressed_s, m->partial ? "true" : "false");
}
