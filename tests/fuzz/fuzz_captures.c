// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_captures.c: any files as what a recording has captured, read and not executed. It is refused
 * and says why, or: each task's records come in order, numbered, with all that they point to;
 * damage is a record CAPTURE_LOST; and reading them again gives the same ones. Whatever may be
 * asked of the start's memory, of files and of the processor has an answer. */
#include "tests/fuzz/as_folder.h"

#include "offline/capture/captures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TASKS_MOST = 8, MOST = 64, PAGE = 4096, RECORDS_MOST = 20000, TOUCHED_MOST = 1 << 16 };

/* A sum of all that lies at @bytes, so that it is looked at. */
static uint64_t sum(uint64_t h, const void *bytes, size_t len)
{
	return capture_hash_step(h, crc32(0, bytes, (unsigned)len));
}

static uint64_t sum_text(uint64_t h, const char *text)
{
	return text ? sum(h, text, strlen(text)) : h;
}

static uint64_t sum_ranges(uint64_t h, const struct capture *c)
{
	for (uint32_t i = 0; i < c->n_ranges; i++) {
		const struct capture_range *r = &c->ranges[i];

		h = capture_hash_step(h, r->addr + r->len);
		if (!r->unread)
			h = sum(h, r->bytes, r->len < TOUCHED_MOST ? r->len : TOUCHED_MOST);
	}
	return h;
}

/* One record: what holds of each, and a sum of it. */
static uint64_t sum_record(uint64_t h, const struct captures *captures, const struct capture *c)
{
	uint32_t n_places, n_files;

	captures_places(captures, &n_places);
	captures_files(captures, &n_files);
	MUST(c->kind >= CAPTURE_START && c->kind <= CAPTURE_SWITCH);
	MUST(c->place == CAPTURE_NONE || c->place < n_places);
	MUST(c->map_file == CAPTURE_NONE || c->map_file == CAPTURE_UNKNOWN ||
	     c->map_file < n_files);
	MUST(!(c->known & ~CAPTURE_ALL_KNOWN));
	h = capture_hash_step(h, c->kind | c->number << 8);
	h = capture_hash_step(h, c->order ^ c->ip ^ c->sp);
	for (uint32_t i = 0; i < 16; i++)
		h = c->known >> i & 1 ? capture_hash_step(h, c->regs[i]) : h;
	if (c->kind == CAPTURE_START && c->xsave)
		h = sum(h, c->xsave, c->xsave_bytes);
	if (c->kind == CAPTURE_SWITCH) {
		MUST(!c->n_surroundings || c->n_surroundings == SURROUNDINGS);
		h = sum(h, c->surroundings, c->n_surroundings * sizeof(*c->surroundings));
	}
	return sum_ranges(h, c);
}

static uint64_t read_records(const struct captures *captures, uint32_t task)
{
	struct captures_iter *iter;
	struct capture c;
	uint64_t h = 0, n = 0;
	int got = 1;

	if (captures_iter_new(captures, task, &iter))
		return 0;
	while (n < RECORDS_MOST && (got = captures_next(iter, &c)) == 1) {
		h = sum_record(h, captures, &c);
		n++;
	}
	MUST(got <= 1);
	captures_iter_free(iter);
	return capture_hash_step(h, (uint64_t)(int64_t)got);
}

static void ask_of_start(const struct captures *captures)
{
	uint8_t page[PAGE];
	uint64_t bias;
	uint32_t n, n_files;
	const struct capture_mapping *mappings = captures_mappings(captures, &n);

	captures_files(captures, &n_files);
	for (uint32_t i = 0; i < n && i < MOST; i++) {
		const struct capture_mapping *m = &mappings[i];

		MUST(m->file == CAPTURE_NONE || m->file == CAPTURE_UNKNOWN || m->file < n_files);
		captures_page(captures, m->start, page);
		captures_page(captures, m->end - 1, page);
		captures_may_change(captures, m->file, m->shared, m->prot & 7);
	}
	for (uint32_t i = 0; i < MOST; i++)
		captures_bias(captures, i, &bias);
}

static void ask_of_files(const struct captures *captures)
{
	uint8_t bytes[PAGE];
	uint64_t h = 0;
	uint32_t n;
	const struct capture_file *files = captures_files(captures, &n);

	for (uint32_t i = 0; i < n && i < MOST; i++) {
		MUST(files[i].build_id_len <= sizeof(files[i].build_id));
		h = sum_text(h, files[i].path);
		captures_file_bytes(captures, i, 0, sizeof(bytes), bytes);
		captures_file_bytes(captures, i, UINT64_MAX - 8, sizeof(bytes), bytes);
	}
	const struct capture_place *places = captures_places(captures, &n);
	for (uint32_t i = 0; i < n && i < MOST; i++) {
		h = sum_text(h, places[i].import);
		h = sum_text(h, captures_stub(captures, places[i].addr));
		h = sum_text(h, captures_slot(captures, places[i].addr));
	}
	volatile uint64_t looked_at = h;
	(void)looked_at;
}

static void ask_of_processor(const struct captures *captures)
{
	uint32_t out[4], varies[4];
	uint64_t xcr0;

	for (uint32_t leaf = 0; leaf < 32; leaf++)
		captures_cpuid(captures, leaf, captures_has_subleaves(leaf), out, varies);
	captures_cpuid(captures, 0x80000001, 0, out, varies);
	captures_xcr0(captures, &xcr0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"captures", "meta.json"};
	const char *dir = as_folder(data, size, names, 2);
	struct pugmark_diag diag = {.text = ""};
	struct captures *captures;
	uint32_t n;

	if (captures_open(dir, &captures, &diag)) {
		MUST(*diag.text);
		return 0;
	}
	uint64_t damaged = captures_damaged_bytes(captures);
	const uint32_t *tasks = captures_tasks(captures, &n);
	for (uint32_t i = 0; i < n && i < TASKS_MOST; i++)
		MUST(read_records(captures, tasks[i]) == read_records(captures, tasks[i]));
	read_records(captures, UINT32_MAX); /* a task that there is not */
	ask_of_start(captures);
	ask_of_files(captures);
	ask_of_processor(captures);
	MUST(captures_damaged_bytes(captures) == damaged);
	captures_free(captures);
	return 0;
}
