// SPDX-License-Identifier: LGPL-2.1-or-later
/* area.c: see area.h. */
#include "user/patch/area.h"

#include "offline/base/write_all.h"
#include "offline/patch/runtime.h"
#include "user/patch/detach.h"
#include "user/patch/giving.h"
#include "user/patch/header.h"
#include "user/patch/remains.h"
#include "user/patch/process/surgeon.h"
#include "user/patch/text/unwinders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	TRAMPOLINE_BYTES = 384, /* more than one takes on average */
	TRAMPOLINE_MOST = 1024, /* and more than any takes */
	JUMP_BYTES = 5,
	STOP_TRIES = 8,
};

/* Code there reaches a module and its data, both ways. */
#define REACH (1536ull << 20)
/* Left free above and below, for what grows. */
#define MARGIN (64ull << 20)

struct making {
	const struct tracee *t;
	const struct patch_module *modules;
	struct area *area;
	struct tracee_map *maps;
	int n_maps;
	bool known;
};

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

static bool is_of(const struct tracee_map *map, const struct patch_module *module)
{
	return map->dev == module->dev && map->ino == module->ino;
}

/* The mapping that has the module's text; -1: there is none, or it is not understood. */
static int find_text(const struct making *m, const struct patch_module *module)
{
	uint64_t off = module->span.off_file;
	int found = -1;

	for (int i = 0; i < m->n_maps; i++) {
		const struct tracee_map *map = &m->maps[i];

		if (!is_of(map, module) || !map->executable)
			continue;
		if (map->writable || map->shared)
			return -1; /* whoever writes there does not know of patches */
		if (found < 0 && off >= map->off_file &&
		    off - map->off_file < map->end - map->start)
			found = i;
	}
	return found;
}

/* Where the module is, by what is mapped; false: it is not, or in a way that is not understood. Of
 * its file what lies beside the text counts: a program may have it mapped elsewhere once more. */
static bool find_module(const struct making *m, const struct patch_module *module, uint64_t *bias,
			uint64_t *low, uint64_t *high)
{
	int text = find_text(m, module), first = text, last = text;

	if (text < 0)
		return false;
	while (first && is_of(&m->maps[first - 1], module) &&
	       m->maps[text].start - m->maps[first - 1].start < REACH)
		first--;
	while (last + 1 < m->n_maps && is_of(&m->maps[last + 1], module) &&
	       m->maps[last + 1].end - m->maps[text].start < REACH)
		last++;
	*low = m->maps[first].start;
	*high = m->maps[last].end;
	*bias = m->maps[text].start + (module->span.off_file - m->maps[text].off_file) -
		module->span.addr;
	return true;
}

/* Whether the plan of the module, which lies there, holds in this process. */
static bool is_as_planned(const struct making *m, const struct patch_module *module, uint64_t bias)
{
	uint64_t base = module->span.addr + bias, value;

	if (module->bound.by_known_programs && !m->known)
		return false;
	for (uint32_t i = 0; i < module->bound.n; i++) {
		const struct bound_slot *slot = &module->bound.at[i];

		if (tracee_read(m->t, base + slot->slot, &value, sizeof(value)) ||
		    value != base + slot->func)
			return false;
	}
	return true;
}

/* Room for @bytes that is near what lies from @low to @high: below it if possible, for heaps grow
 * upwards. 0: none. */
static uint64_t find_room(const struct making *m, uint64_t low, uint64_t high, uint64_t bytes)
{
	uint64_t lowest = high > REACH ? high - REACH : 0x10000, best = 0;
	uint64_t highest = low + REACH;

	for (int i = 0; i <= m->n_maps; i++) {
		uint64_t from = i ? m->maps[i - 1].end : 0x10000;
		uint64_t to = i < m->n_maps ? m->maps[i].start : 1ull << 47;

		from = from > lowest ? from : lowest;
		to = to < highest ? to : highest;
		if (to <= from || to - from < bytes + 2 * MARGIN)
			continue;
		uint64_t at = (to - MARGIN - bytes) & ~(uint64_t)(PAGE - 1);
		if (from >= high && best)
			break;
		best = at;
		if (from >= high)
			break;
	}
	return best;
}

/* Opens a memfd that the process was given, by its mapping of @bytes at @start. */
static int open_memory(pid_t pid, uint64_t start, uint64_t bytes)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)start,
		 (unsigned long long)(start + bytes));
	return giving_open(path);
}

/* What an earlier recording has left of its rings, empty; 0: nothing. */
static uint64_t find_local(const struct making *m)
{
	for (int i = 0; i < m->n_maps; i++) {
		const struct tracee_map *map = &m->maps[i];
		uint64_t at = map->start - PATCH_LOCAL_BYTES;
		struct patch_local local;

		if (!map->ino && map->writable && !map->shared &&
		    map->end - map->start == PATCH_RINGS * (uint64_t)PATCH_RING_BYTES &&
		    !tracee_read(m->t, at, &local, sizeof(local)) && local.magic == PATCH_MAGIC &&
		    local.self == at)
			return at;
	}
	return 0;
}

static int make_memory(struct making *m, uint64_t code_bytes, bool runs, uint32_t n_chunks,
		       uint64_t *stopped_ns, const char **why)
{
	struct area *a = m->area;
	uint64_t chunks_bytes = patch_chunks_bytes(n_chunks);
	struct giving *g = surgeon_memory(sizeof(*g));

	*why = "out of memory";
	a->record_bytes = page_up(sizeof(*a->record) + 2 * a->n_sites * sizeof(struct patch_entry));
	a->record = surgeon_memory(a->record_bytes);
	if (!g || !a->record) {
		surgeon_free(g, sizeof(*g));
		return -ENOMEM;
	}
	a->off_record = code_bytes;
	g->pid = m->t->pid;
	g->off_record = a->off_record;
	g->n_chunks = n_chunks;
	g->old_local = find_local(m);
	g->record = (struct patch_record){
		.magic = PATCH_MAGIC,
		.chunks_bytes = chunks_bytes,
		.rings_bytes = PATCH_RINGS * (uint64_t)PATCH_RING_BYTES,
		.patched_ns = runs ? UINT64_MAX : 0,
		.recorder = getpid(),
		.recorder_start = remains_start_of(getpid()),
	};
	for (uint32_t i = 0; i < a->n_regions; i++) {
		const struct area_region *r = &a->regions[i];

		if (!r->addr)
			continue;
		g->code[g->n_code++] = (struct giving_code){r->addr, r->bytes, r->off_fd};
		g->record.regions[g->record.n_regions++] =
			(struct patch_region){.code = r->addr, .code_bytes = r->bytes};
	}
	int err = runs ? -ETIMEDOUT : giving_to_stopped(m->t, g);
	for (int i = 0; i < STOP_TRIES && err == -ETIMEDOUT; i++)
		err = surgeon_run(giving_to_running, g);
	*why = err == -EINTR ? "it could not be given memory" : g->why;
	*stopped_ns = g->stopped_ns;
	*a->record = g->record;
	a->local = g->local;
	surgeon_free(g, sizeof(*g));
	if (err)
		return err;
	*why = "its memory cannot be shared";
	a->fd = open_memory(a->pid, a->record->regions[0].code, a->record->regions[0].code_bytes);
	if (a->fd < 0)
		return a->fd;
	a->chunks_fd = open_memory(a->pid, a->record->shared, a->record->chunks_bytes);
	if (a->chunks_fd < 0)
		return a->chunks_fd;
	return ftruncate(a->fd, a->off_record + a->record_bytes) ? -errno : 0;
}

/* Finds the modules in the process, and room for their code. */
static int find_regions(struct making *m, uint64_t *code_bytes, const char **why)
{
	struct area *a = m->area;
	uint32_t found = 0, n_near = 0;

	*code_bytes = 0;
	for (uint32_t i = 0; i < a->n_regions; i++) {
		const struct patch_module *module = &m->modules[i];
		struct area_region *r = &a->regions[i];
		uint64_t low = 0, high = 0;

		if (!module->placing.n_found || !find_module(m, module, &r->bias, &low, &high) ||
		    !is_as_planned(m, module, r->bias))
			continue;
		found++;
		uint64_t bytes =
			PATCH_CODE_START + pugmark_patch_runtime_bytes +
			8 * (uint64_t)module->n_words +
			(TRAMPOLINE_BYTES + PATCH_UNWIND_BYTES) * (uint64_t)module->placing.n +
			(64 << 10);
		r->bytes = page_up(bytes);
		r->addr = find_room(m, low, high, r->bytes);
		r->off_fd = *code_bytes;
		*code_bytes += r->addr ? r->bytes : 0;
		n_near += r->addr != 0;
		if (r->addr) { /* no other one there */
			struct tracee_map *grown =
				realloc(m->maps, (m->n_maps + 1) * sizeof(*grown));
			if (!grown)
				return -ENOMEM;
			m->maps = grown;
			int k = m->n_maps++;
			for (; k && grown[k - 1].start > r->addr; k--)
				grown[k] = grown[k - 1];
			grown[k] = (struct tracee_map){.start = r->addr, .end = r->addr + r->bytes};
		}
	}
	*why = found ? "there is no room for code within reach of its own"
		     : "nothing of what is traced can be patched in it";
	return n_near ? 0 : -ENODATA;
}

/* The original bytes of the instruction at @addr. */
static const uint8_t *file_bytes(const struct patch_module *module, uint64_t addr, uint8_t len)
{
	uint64_t at = addr - module->span.addr, have = module->span.end - module->span.addr;

	return at < have && len <= have - at ? module->text + at : NULL;
}

/* Where in the patch the probe of the witness @own is. */
static uint8_t probe_at(const struct patch_place *p, uint64_t own)
{
	return own - p->addr < p->len ? own - p->addr : PATCH_NO_PROBE;
}

static int emit_site(struct area_region *r, const struct patch_module *module, uint32_t site,
		     uint32_t returns)
{
	const struct patch_place *place = &module->placing.places[site];
	const struct pugmark_plan_site *s = &module->sites[site];
	const uint8_t *bytes = file_bytes(module, place->addr, place->len);
	struct patch_spec spec = {
		.place = place,
		.index = site,
		.bytes = bytes,
		.room = place->room ? file_bytes(module, place->room, place->room_len) : NULL,
		.addr = place->addr + r->bias,
		.site = module->first_site + site,
		.probe_at = probe_at(place, s->addr),
		/* Without a CFA there is no slot to read. */
		.capture = s->cfa_reg == PUGMARK_CFA_UNKNOWN
				   ? s->capture & ~(PUGMARK_CAPTURE_RET | PUGMARK_CAPTURE_SNAPSHOT)
				   : s->capture,
		.text = module->span.addr + r->bias,
		.text_bytes = module->span.end - module->span.addr,
		.returns = r->addr + returns,
	};

	if (!bytes || r->code.len + TRAMPOLINE_MOST > r->bytes)
		return -ENOSPC;
	return patch_emit(&r->code, &spec, &r->made[site]);
}

/* The code of one region, all but what the header says of others. */
static int emit_region(struct area *a, struct area_region *r, const struct patch_module *module,
		       const struct patch_settings *settings)
{
	uint8_t start[PATCH_CODE_START] = {0};
	struct patch_code *c = &r->code;

	r->made = calloc(module->placing.n + 1, sizeof(*r->made));
	r->entries = calloc(module->placing.n + 1, sizeof(*r->entries));
	if (!r->made || !r->entries)
		return -ENOMEM;
	c->addr = r->addr;
	c->runtime = r->addr + PATCH_CODE_START;
	c->poison = settings->poison;
	patch_code_append(c, start, sizeof(start), 1);
	patch_code_append(c, pugmark_patch_runtime, pugmark_patch_runtime_bytes, 1);
	uint32_t returns = patch_code_append(c, module->returns, 8 * module->n_words, 8);
	for (uint32_t i = 0; i < module->placing.n && !c->err; i++) {
		if (!module->placing.places[i].form || emit_site(r, module, i, returns))
			continue;
		a->frame_add[module->first_site + i] = r->made[i].frame_add;
	}
	int err = c->err ? c->err
			 : patch_unwind_append(c, module->placing.places, r->bias, &r->unwind);
	if (c->len > r->bytes) { /* then without */
		c->len = r->unwind.code_end;
		r->unwind = (struct patch_unwind){0};
	}
	return err;
}

static struct patch_entry *new_entry(struct patch_record *record, uint32_t site, uint64_t addr,
				     const uint8_t *was, const uint8_t *now, uint8_t len)
{
	struct patch_entry *e = &record->entries[record->n_entries++];

	*e = (struct patch_entry){.addr = addr, .site = site, .len = len};
	memcpy(e->was, was, len);
	memcpy(e->now, now, len);
	return e;
}

/* What an island takes the place of: idle bytes, or instructions that move. */
static const uint8_t *island_bytes(const struct patch_module *module, const struct patch_place *p)
{
	return p->room ? file_bytes(module, p->room, p->room_len)
		       : file_bytes(module, p->island, JUMP_BYTES);
}

static void record_island(struct patch_record *record, const struct patch_module *module,
			  const struct patch_place *p, const struct area_region *r, uint32_t site)
{
	const uint8_t *was = island_bytes(module, p);
	uint64_t from = p->room ? p->room : p->island;
	uint8_t now[PATCH_BYTES_MAX], len = p->room ? p->room_len : JUMP_BYTES;

	memcpy(now, was, len);
	if (p->room)
		memcpy(now, r->made[site].room, JUMP_BYTES);
	memcpy(now + (p->island - from), r->made[site].island, JUMP_BYTES);
	struct patch_entry *e =
		new_entry(record, module->first_site + site, from + r->bias, was, now, len);
	e->kind = PATCH_ENTRY_ISLAND;
	e->told = p->island + r->bias;
	e->probe_at = PATCH_NO_PROBE;
}

/* What is to be changed in the text of @module. */
static void record_region(struct patch_record *record, struct patch_region *to,
			  struct area_region *r, const struct patch_module *module)
{
	to->text_from = module->span.addr + r->bias;
	to->text_to = module->span.end + r->bias;
	to->first = record->n_entries;
	for (uint32_t i = 0; i < module->placing.n; i++) {
		const struct patch_place *p = &module->placing.places[i];
		uint64_t own = module->sites[i].addr;
		const uint8_t *was = file_bytes(module, p->addr, p->len),
			      *its = file_bytes(module, own, 1);

		if (!r->made[i].off || !was || !its || (p->island && !island_bytes(module, p)))
			continue;
		struct patch_entry *e = new_entry(record, module->first_site + i, p->addr + r->bias,
						  was, r->made[i].bytes, p->len);
		r->entries[i] = e;
		e->own = own + r->bias;
		e->told = p->addr + p->event_at + r->bias;
		e->probe_at = probe_at(p, own);
		e->own_was = *its;
		if (p->island)
			record_island(record, module, p, r, i);
	}
	to->n = record->n_entries - to->first;
}

static int write_region(struct area *a, const struct area_region *r)
{
	return pwrite_all(a->fd, r->code.bytes, r->code.len, r->off_fd);
}

/* Leaves a copy of the record behind the chunks, for whoever finds the process without its
 * recorder. The program can reach it (by mremap), so nothing is read there but by remains.c, which
 * checks it. All is told as written: taking away what was not does nothing. */
static int save_record(const struct area *a)
{
	size_t bytes = sizeof(*a->record) + a->record->n_entries * sizeof(a->record->entries[0]);
	struct patch_record *copy = malloc(bytes);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, a->record, bytes);
	for (uint32_t i = 0; i < copy->n_entries; i++)
		copy->entries[i].written = true;
	for (uint32_t i = 0; i < copy->n_words; i++)
		copy->words[i].written = true;
	/* The entries first: whoever finds half of it finds none. */
	int err = pwrite_all(a->fd, copy->entries, bytes - sizeof(*copy),
			     a->off_record + sizeof(*copy));
	if (!err)
		err = pwrite_all(a->fd, copy, sizeof(*copy), a->off_record);
	free(copy);
	return err;
}

static int emit_all(struct making *m, const struct patch_settings *settings)
{
	struct area *a = m->area;
	struct patch_header header = {
		.magic = PATCH_MAGIC,
		.rings = a->record->rings,
		.local = a->local,
		.shared = a->record->shared,
		.off_record = a->off_record,
		.chunks_most = a->record->chunks_bytes / PATCH_CHUNK - 1,
	};
	struct patch_region *region = a->record->regions;
	struct unwinders unwinders;
	int err = 0;

	unwinders_find(m->t, &unwinders);
	for (uint32_t i = 0; i < a->n_regions; i++)
		if (a->regions[i].addr)
			header.bases[i] = m->modules[i].span.addr + a->regions[i].bias;
	for (uint32_t i = 0; !err && i < a->n_regions; i++) {
		struct area_region *r = &a->regions[i];

		if (!r->addr)
			continue;
		err = emit_region(a, r, &m->modules[i], settings);
		if (err)
			break;
		header_write(a, i, &unwinders, settings, &header);
		record_region(a->record, region++, r, &m->modules[i]);
		err = write_region(a, r);
	}
	if (!err)
		err = header_record(a, m->t, &unwinders);
	if (!err)
		err = save_record(a);
	if (!err)
		err = pwrite_all(a->chunks_fd, &settings->shared, sizeof(settings->shared), 0);
	return err;
}

/* The process needs nothing of what it was given. */
static void take_back(struct area *a)
{
	struct detached *given = NULL;

	detach_process(a->record, a->fd, a->pid, &given);
	detached_free(given);
}

int area_new(const struct tracee *t, bool runs, const struct patch_module *modules,
	     uint32_t n_modules, uint32_t n_sites, const struct patch_settings *settings,
	     struct area **out, uint64_t *stopped_ns, const char **why)
{
	struct area *a = calloc(1, sizeof(*a));
	struct making m = {.t = t, .modules = modules, .area = a, .known = settings->known};
	uint64_t code_bytes;

	*why = "out of memory";
	if (!a)
		return -ENOMEM;
	a->fd = a->chunks_fd = -1;
	a->pid = t->pid;
	a->n_regions = n_modules < 64 ? n_modules : 64;
	a->n_sites = n_sites;
	a->frame_add = calloc(n_sites + 1, sizeof(*a->frame_add));
	m.n_maps = tracee_maps(t->pid, &m.maps);
	int err = !a->frame_add ? -ENOMEM : m.n_maps < 0 ? m.n_maps : 0;
	if (!err)
		err = find_regions(&m, &code_bytes, why);
	if (!err)
		err = make_memory(&m, code_bytes, runs, settings->shared.n_chunks, stopped_ns, why);
	if (!err) {
		*why = "its code cannot be written";
		err = emit_all(&m, settings);
	}
	if (m.n_maps >= 0)
		free(m.maps);
	if (err && runs && a->fd >= 0)
		take_back(a);
	if (err)
		area_free(a);
	else
		*out = a;
	return err;
}

void area_image(const struct area *a, const struct patch_module *modules, struct lanes_image *image)
{
	*image = (struct lanes_image){
		.area = a, .modules = modules, .frame_add = a->frame_add, .n_sites = a->n_sites};
	for (uint32_t i = 0; i < a->n_regions; i++)
		if (a->regions[i].addr)
			image->bases[i] = modules[i].span.addr + a->regions[i].bias;
}

void area_free(struct area *a)
{
	if (!a)
		return;
	for (uint32_t i = 0; i < a->n_regions; i++) {
		patch_code_deinit(&a->regions[i].code);
		free(a->regions[i].made);
		free(a->regions[i].entries);
	}
	free(a->frame_add);
	if (a->record)
		munmap(a->record, a->record_bytes);
	if (a->fd >= 0)
		close(a->fd);
	if (a->chunks_fd >= 0)
		close(a->chunks_fd);
	free(a);
}
