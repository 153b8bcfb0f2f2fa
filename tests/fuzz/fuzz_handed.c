// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_handed.c: any bytes as what a sandbox's child hands back that a file has taken over: a plan
 * and what is said of it, places of captures, places of patches, of which trampolines are made; and
 * as what it asks of the cache. All is refused, or within the bounds that the recorder relies on.
 */
#include "tests/fuzz/as_folder.h"

#include "offline/patch/emit.h"
#include "user/file/own_cache.h"
#include "user/patch/placing_apart.h"
#include "user/plan/planning.h"
#include "user/values/record/capture_plan.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_AT = 0x1000, TEXT_BYTES = 256, TEXT_END = TEXT_AT + TEXT_BYTES, SITES = 4 };
enum { CACHE_FILES = 3 };

/* A module's code: instructions of all lengths. */
static uint8_t text[TEXT_BYTES];
static const char tag[] = "0123456789abcdef0123456789abcdef-";

static void make_text(void)
{
	static const uint8_t some[] = {0x55, 0x48, 0x89, 0xe5, 0xe8, 0x10, 0,	 0,    0,    0x48,
				       0x8d, 0x05, 0x20, 0,    0,    0,	   0x74, 0x05, 0xff, 0x25,
				       0x10, 0,	   0,	 0,    0x0f, 0x84, 1,	 0,    0,    0,
				       0xff, 0x15, 8,	 0,    0,    0,	   0xeb, 0xfe, 0xc3};
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = some[i % sizeof(some)];
}

/* The plan's checksum is made to hold: it lies behind a head and its texts (planning_apart.c). */
static void mend(uint8_t *bytes, size_t size)
{
	enum { TEXTS_AT = 16, N_TEXTS = 4, HEAD_BYTES = 32 };
	uint64_t at = HEAD_BYTES;
	uint32_t text_bytes[N_TEXTS];
	if (size < HEAD_BYTES)
		return;
	memcpy(text_bytes, bytes + TEXTS_AT, sizeof(text_bytes));
	for (int i = 0; i < N_TEXTS; i++)
		at += text_bytes[i];
	if (at < size)
		as_folder_mend_plan(bytes + at, size - at);
}

static void plan(uint8_t *data, size_t size)
{
	mend(data, size);
	struct planning_result result = {0};
	struct pugmark_diag diag = {.text = ""};
	if (planning_take(data, size, "fuzz", &result, &diag))
		MUST(*diag.text);
	else
		MUST(result.plan);
	planning_deinit(&result);
}

static void captures(uint8_t *data, size_t size)
{
	struct recorder_module module = {.path = as_file(text, sizeof(text)), .name = "fuzz"};
	struct capture_plan *p = capture_plan_new(1);
	struct pugmark_diag diag = {.text = ""};
	MUST(p);
	if (capture_plan_take(p, &module, 0, data, size, &diag)) {
		MUST(*diag.text);
	} else {
		for (uint32_t i = 0; i < p->places.n; i++) {
			const struct place_site *s = &p->places.at[i];
			MUST(strlen(s->place.import) < size && s->desc.module == 0);
			MUST(s->desc.output + (uint64_t)s->desc.n_outputs <= p->places.n_outputs);
		}
	}
	capture_plan_free(p);
}

static void trampoline(const struct patch_place *place, uint32_t index)
{
	struct patch_code code = {.addr = 0x7f0000000000, .runtime = 0x7f0000100000};
	struct patch_made made;
	struct patch_spec spec = {
		.place = place,
		.index = index,
		.bytes = text + (place->addr - TEXT_AT),
		.room = place->room ? text + (place->room - TEXT_AT) : NULL,
		.addr = place->addr,
		.probe_at = 255,
		.capture = (uint8_t)(index % 3),
		.text = TEXT_AT,
		.text_bytes = TEXT_BYTES,
		.returns = 0x7f0000200000,
	};
	int err = patch_emit(&code, &spec, &made);
	MUST(!err || err == -EINVAL || err == -ERANGE);
	MUST(err || made.off < code.len);
	patch_code_deinit(&code);
}

static void patches(uint8_t *data, size_t size)
{
	const struct text_span span = {.addr = TEXT_AT, .end = TEXT_END};
	struct patch_placing placing = {0};
	struct patch_heights heights = {0};
	int err = patch_placing_take(data, size, SITES, &span, &placing, &heights);
	MUST(!err || err == -EBADMSG || err == -ENOTSUP);
	for (uint32_t i = 0; !err && i < placing.n; i++) {
		const struct patch_place *p = &placing.places[i];
		int32_t offset;
		if (p->form == PATCH_NONE)
			continue;
		MUST(p->addr >= TEXT_AT && p->addr + p->len <= TEXT_END);
		MUST(!p->room || (p->room >= TEXT_AT && p->room + p->room_len <= TEXT_END));
		patch_height_at(&heights, p->addr, &offset);
		trampoline(p, i);
	}
	patch_placing_deinit(&placing);
	patch_heights_deinit(&heights);
}

/* The rest is what it asks for, behind the folder that the cache is; what is beside that stays. */
static void cache(uint8_t *data, size_t size)
{
	static const char *const names[CACHE_FILES] = {"cache/pugmark/costs.json",
						       "cache/pugmark/plans/x", "beside"};
	const char *dir = as_folder((const uint8_t *)"\2\1\0\0x", 5, names, CACHE_FILES);
	char path[400], named[256] = "";
	struct stat st;
	int fd = -1;
	if (size < 1)
		return;
	memcpy(named, data + 1, size - 1 < sizeof(named) - 1 ? size - 1 : sizeof(named) - 1);
	snprintf(path, sizeof(path), "%s/cache", dir);
	setenv("XDG_CACHE_HOME", path, 1);
	snprintf(path, sizeof(path), "%s/cache/pugmark/%s", dir, named);
	own_cache_answer((void *)tag, (char)data[0], path, -1, &fd);
	if (fd >= 0)
		close(fd);
	int sent = memfd_create("sent", MFD_CLOEXEC);
	fd = -1;
	MUST(sent >= 0 && write(sent, data, size) == (ssize_t)size);
	own_cache_answer((void *)tag, (char)data[0], path, sent, &fd);
	if (fd >= 0)
		close(fd);
	close(sent);
	snprintf(path, sizeof(path), "%s/beside", dir);
	MUST(!stat(path, &st) && st.st_size == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(uint8_t *, size_t) = {plan, captures, patches, cache};
	if (!size)
		return 0;
	if (!*text)
		make_text();
	/* As malloc() gives it: a copy. */
	uint8_t *bytes = malloc(size);
	MUST(bytes);
	memcpy(bytes, data + 1, size - 1);
	readers[*data % 4](bytes, size - 1);
	free(bytes);
	return 0;
}
