// SPDX-License-Identifier: LGPL-2.1-or-later
/* replay_open.c: how a run begins, and its snapshots. Snapshots are taken every so many
 * instructions; when there are SNAPSHOTS_MAX of them, every other one is given up and the distance
 * doubles, so that both memory and the way from the nearest one stay bounded. */
#include "offline/value/replay_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SNAPSHOTS_MAX = 256 };
#define SNAPSHOT_EVERY 10000000

/* --- the recording --------------------------------------------------------------------------- */

int value_replay_open(const char *dir, struct value_replay **out, struct pugmark_diag *diag)
{
	struct value_replay *replay = calloc(1, sizeof(*replay));
	if (!replay)
		return pugmark_diag_set(diag, -ENOMEM, dir, PUGMARK_NO_OFFSET, "out of memory");
	int err = captures_open(dir, &replay->captures, diag);
	err = err ? err : imports_open(NULL, &replay->imports, diag);
	if (err) {
		value_replay_free(replay);
		return err;
	}
	replay->places = captures_places(replay->captures, &replay->n_places);
	*out = replay;
	return 0;
}

void value_replay_free(struct value_replay *replay)
{
	if (!replay)
		return;
	imports_free(replay->imports);
	captures_free(replay->captures);
	free(replay);
}

const struct captures *value_replay_captures(const struct value_replay *replay)
{
	return replay->captures;
}

/* --- memory at the start --------------------------------------------------------------------- */

static int fill(void *ctx, const struct value_region *region, uint64_t addr, uint8_t *bytes,
		uint8_t *quality)
{
	struct value_run *run = ctx;
	const struct captures *captures = run->replay->captures;
	uint32_t source = region->source & ~SOURCE_START;
	if (region->source & SOURCE_START) {
		int err = captures_page(captures, addr, bytes);
		if (err != -ENOENT)
			return err;
	}
	memset(bytes, 0, VALUE_PAGE);
	if (source == VALUE_SOURCE_ZEROS)
		return 0;
	uint64_t off = region->off + (addr - region->start);
	if (source == SOURCE_UNKNOWN ||
	    captures_file_bytes(captures, source - SOURCE_FILES, off, VALUE_PAGE, bytes))
		memset(quality, VALUE_UNKNOWN, VALUE_PAGE);
	return 0;
}

static int map_start(struct value_run *run)
{
	uint32_t n;
	const struct capture_mapping *maps = captures_mappings(run->replay->captures, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct value_region region = {
			.start = maps[i].start,
			.end = maps[i].end,
			.off = maps[i].off,
			.prot = maps[i].prot & 7,
			.source = SOURCE_START |
				  (maps[i].file == CAPTURE_NONE	     ? 0
				   : maps[i].file == CAPTURE_UNKNOWN ? SOURCE_UNKNOWN
								     : SOURCE_FILES + maps[i].file),
		};
		int err = value_memory_map(&run->memory, &region);
		if (err)
			return err;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int note_awaited(struct value_run *run)
{
	const struct value_replay *replay = run->replay;
	run->awaited = calloc(replay->n_places + 1, sizeof(*run->awaited));
	if (!run->awaited)
		return -ENOMEM;
	for (uint32_t i = 0; i < replay->n_places; i++) {
		const struct capture_place *p = &replay->places[i];
		uint64_t bias;
		if (p->kinds >> CAPTURE_RESULT & 1 &&
		    captures_bias(replay->captures, p->module, &bias))
			run->awaited[run->n_awaited++] = bias + p->site_next;
	}
	qsort(run->awaited, run->n_awaited, sizeof(*run->awaited), by_address);
	return 0;
}

bool value_run_awaits(const struct value_run *run, uint64_t ret)
{
	return bsearch(&ret, run->awaited, run->n_awaited, sizeof(ret), by_address);
}

/* Executable mappings of the files that have places are code, and all their places are set. */
static int set_places(struct value_run *run)
{
	uint32_t n;
	const struct captures *captures = run->replay->captures;
	const struct capture_mapping *maps = captures_mappings(captures, &n);
	int err = 0;
	for (uint32_t i = 0; !err && i < run->replay->n_places; i++) {
		const struct capture_place *p = &run->replay->places[i];
		uint64_t bias;
		if (!captures_bias(captures, p->module, &bias))
			continue;
		uint64_t ip = bias + p->addr;
		for (uint32_t k = 0; !err && k < n; k++)
			if (maps[k].prot & PROT_EXEC && ip >= maps[k].start && ip < maps[k].end &&
			    !value_machine_is_code(run->machine, maps[k].start))
				err = value_machine_code(run->machine, maps[k].start, maps[k].end);
		err = err ? err : value_machine_place(run->machine, ip);
	}
	return err;
}

/* --- records --------------------------------------------------------------------------------- */

static int keep_record(struct value_run *run, const struct capture *c)
{
	if (run->n_records == run->room_records) {
		uint64_t room = run->room_records ? 2 * run->room_records : 256;
		struct capture *records = realloc(run->records, room * sizeof(*records));
		if (!records)
			return -ENOMEM;
		run->records = records;
		run->room_records = room;
	}
	struct capture *copy = &run->records[run->n_records];
	*copy = *c;
	copy->ranges = NULL;
	copy->n_ranges = 0;
	copy->xsave = NULL;
	size_t size = c->n_ranges * sizeof(*c->ranges) + c->xsave_bytes;
	for (uint32_t i = 0; i < c->n_ranges; i++)
		size += c->ranges[i].unread ? 0 : c->ranges[i].len;
	run->n_records++;
	if (!size)
		return 0;
	struct capture_range *ranges = malloc(size);
	if (!ranges)
		return -ENOMEM;
	copy->ranges = ranges;
	copy->n_ranges = c->n_ranges;
	uint8_t *bytes = (uint8_t *)(ranges + c->n_ranges);
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		ranges[i] = c->ranges[i];
		ranges[i].bytes = bytes;
		if (!ranges[i].unread) {
			memcpy(bytes, c->ranges[i].bytes, ranges[i].len);
			bytes += ranges[i].len;
		}
	}
	if (c->xsave) {
		memcpy(bytes, c->xsave, c->xsave_bytes);
		copy->xsave = bytes;
	}
	return 0;
}

static int load_records(struct value_run *run, uint32_t task)
{
	struct captures_iter *iter;
	int err = captures_iter_new(run->replay->captures, task, &iter);
	if (err)
		return err;
	struct capture c;
	int more;
	while ((more = captures_next(iter, &c)) == 1 && !err)
		err = keep_record(run, &c);
	captures_iter_free(iter);
	return err ? err : more < 0 ? more : 0;
}

/* --- registers at the start ------------------------------------------------------------------ */

/* The XSAVE area of the standard format: x87 and SSE as FXSAVE has them, which parts are in use at
 * 512, the upper halves of ymm at 576. What is not in use is as the processor starts. */
static void take_xsave(struct value_state *s, const struct capture *c)
{
	uint64_t in_use;
	if (!c->xsave || c->xsave_bytes < 576)
		return;
	memcpy(&in_use, c->xsave + 512, 8);
	memcpy(&s->mxcsr, c->xsave + 24, 4);
	if (in_use & 1) {
		memcpy(s->fx, c->xsave, 6);
		memcpy(s->fx + 32, c->xsave + 32, 128);
	}
	for (unsigned i = 0; i < 16; i++) {
		if (in_use & 2)
			memcpy(s->vec[i], c->xsave + 160 + 16 * i, 16);
		if (in_use & 4 && c->xsave_bytes >= 832)
			memcpy(s->vec[i] + 16, c->xsave + 576 + 16 * i, 16);
	}
}

static int start(struct value_run *run, struct pugmark_diag *diag)
{
	const struct capture *c = run->n_records ? &run->records[0] : NULL;
	if (!c || c->kind != CAPTURE_START)
		return pugmark_diag_set(diag, -EBADMSG, "captures", PUGMARK_NO_OFFSET,
					"the task has no start: its values are not known");
	struct value_machine *m = run->machine;
	struct value_state *s = value_machine_state(m);
	for (unsigned i = 0; i < 16; i++)
		s->gpr[i] = c->regs[i];
	value_set_rflags(s, c->flags);
	s->gpr[VALUE_FS] = c->fs_base;
	s->gpr[VALUE_GS] = c->gs_base;
	s->rip = c->ip;
	if (c->xsave)
		take_xsave(s, c);
	else
		value_forget(m,
			     (uint64_t)0xffffffff << VALUE_BIT_VEC | (uint64_t)1 << VALUE_BIT_X87 |
				     (uint64_t)1 << VALUE_BIT_MXCSR,
			     VALUE_UNKNOWN);
	run->next = 1;
	run->outside = !value_machine_is_code(m, s->rip);
	run->expected = s->rip;
	return 0;
}

static uint64_t find_heap_end(const struct value_run *run)
{
	/* brk() tells its end alone: the heap begins where the first one said. */
	for (uint64_t i = 0; i < run->n_records; i++)
		if (run->records[i].kind == CAPTURE_KERNEL && run->records[i].map_op == MAP_BREAK &&
		    run->records[i].map_addr)
			return (run->records[i].map_addr + VALUE_PAGE - 1) &
			       ~(uint64_t)(VALUE_PAGE - 1);
	return 0;
}

int value_run_new(struct value_replay *replay, uint32_t task, struct value_run **out,
		  struct pugmark_diag *diag)
{
	uint32_t n_tasks;
	captures_tasks(replay->captures, &n_tasks);
	/* A store of another thread is in nobody's captures: a byte would be called exact that is
	 * not. */
	if (n_tasks > 1)
		return pugmark_diag_set(diag, -ENODATA, "captures", PUGMARK_NO_OFFSET,
					"%u threads or processes ran side by side: what one reads "
					"of another's is not known yet, so no value of task %u is "
					"certain (values are of programs with one thread)",
					n_tasks, task);
	struct value_run *run = calloc(1, sizeof(*run));
	int err = run ? value_memory_init(&run->memory, fill, run) : -ENOMEM;
	if (!err) {
		run->replay = replay;
		run->snapshot_every = SNAPSHOT_EVERY;
		run->machine = value_machine_new(&run->memory);
		err = run->machine ? map_start(run) : -ENOMEM;
	}
	err = err ? err : set_places(run);
	err = err ? err : note_awaited(run);
	err = err ? err : load_records(run, task);
	if (!err)
		run->heap_end = find_heap_end(run);
	if (err)
		pugmark_diag_set(diag, err, "captures", PUGMARK_NO_OFFSET, "cannot be read: %s",
				 strerror(-err));
	err = err ? err : start(run, diag);
	if (err) {
		value_run_free(run);
		return err;
	}
	*out = run;
	return 0;
}

static void drop_snapshot(struct value_run *run, struct run_snapshot *snapshot)
{
	value_memory_forget(&run->memory, &snapshot->memory);
	free(snapshot->calls);
	free(snapshot->signals);
}

void value_run_free(struct value_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->n_snapshots; i++)
		drop_snapshot(run, &run->snapshots[i]);
	free(run->snapshots);
	for (uint64_t i = 0; i < run->n_records; i++)
		free((void *)run->records[i].ranges);
	free(run->records);
	free(run->calls);
	free(run->signals);
	free(run->awaited);
	value_blocks_deinit(&run->blocks);
	value_machine_free(run->machine);
	value_memory_deinit(&run->memory);
	free(run);
}

/* --- snapshots ------------------------------------------------------------------------------- */

static void *copy(const void *list, size_t size)
{
	void *out = malloc(size ? size : 1);
	if (out && size)
		memcpy(out, list, size);
	return out;
}

static void thin_out(struct value_run *run)
{
	size_t n = 0;
	for (size_t i = 0; i < run->n_snapshots; i++)
		if (i % 2)
			drop_snapshot(run, &run->snapshots[i]);
		else
			run->snapshots[n++] = run->snapshots[i];
	run->n_snapshots = n;
	run->snapshot_every *= 2;
}

bool value_run_keep(struct value_run *run)
{
	uint64_t count = value_machine_count(run->machine);
	run->snapshot_next = count + run->snapshot_every;
	if (run->n_snapshots && run->snapshots[run->n_snapshots - 1].count >= count)
		return true;
	if (run->n_snapshots == SNAPSHOTS_MAX)
		thin_out(run);
	if (!run->snapshots)
		run->snapshots = calloc(SNAPSHOTS_MAX, sizeof(*run->snapshots));
	if (!run->snapshots)
		return false;
	struct run_snapshot s = {
		.count = count,
		.state = *value_machine_state(run->machine),
		.known = *value_machine_known(run->machine),
		.next = run->next,
		.expected = run->expected,
		.heap_end = run->heap_end,
		.outside = run->outside,
		.import = run->import,
		.calls = copy(run->calls, run->n_calls * sizeof(*run->calls)),
		.n_calls = run->n_calls,
		.signals = copy(run->signals, run->n_signals * sizeof(*run->signals)),
		.n_signals = run->n_signals,
	};
	if (!s.calls || !s.signals) {
		free(s.calls);
		free(s.signals);
		return false;
	}
	s.memory = value_memory_snapshot(&run->memory);
	run->snapshots[run->n_snapshots++] = s;
	return true;
}

static bool go_back(struct value_run *run, const struct run_snapshot *s)
{
	struct open_call *calls = copy(s->calls, s->n_calls * sizeof(*calls));
	struct interrupted *signals = copy(s->signals, s->n_signals * sizeof(*signals));
	if (!calls || !signals) {
		free(calls);
		free(signals);
		return false;
	}
	free(run->calls);
	free(run->signals);
	run->calls = calls;
	run->n_calls = run->room_calls = s->n_calls;
	run->signals = signals;
	run->n_signals = s->n_signals;
	run->next = s->next;
	run->expected = s->expected;
	run->heap_end = s->heap_end;
	run->outside = s->outside;
	run->import = s->import;
	run->ended = 0;
	value_memory_restore(&run->memory, &s->memory);
	*value_machine_state(run->machine) = s->state;
	*value_machine_known(run->machine) = s->known;
	value_machine_set_count(run->machine, s->count);
	return true;
}

enum value_replay_stop value_run_seek(struct value_run *run, uint64_t count)
{
	uint64_t now = value_machine_count(run->machine);
	size_t best = run->n_snapshots;
	while (best && run->snapshots[best - 1].count > count)
		best--;
	if (count < now && !best)
		return VALUE_REPLAY_GAP; /* the first snapshot is that of the start */
	bool nearer = best && run->snapshots[best - 1].count > now;
	if ((count < now || nearer) && !go_back(run, &run->snapshots[best - 1]))
		return VALUE_REPLAY_NO_MEMORY;
	return value_run_forward(run, count, NULL);
}

/* --- facts ----------------------------------------------------------------------------------- */

uint64_t value_run_count(const struct value_run *run)
{
	return value_machine_count(run->machine);
}

struct value_machine *value_run_machine(struct value_run *run)
{
	return run->machine;
}

const struct value_gap *value_run_gap(const struct value_run *run)
{
	return &run->gap;
}

void value_run_crossings(struct value_run *run, value_crossing_fn *fn, void *ctx)
{
	run->crossing = fn;
	run->crossing_ctx = ctx;
}

void value_run_snapshot_every(struct value_run *run, uint64_t instructions)
{
	run->snapshot_every = instructions ? instructions : 1;
	run->snapshot_next = value_machine_count(run->machine);
}
