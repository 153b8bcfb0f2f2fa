// SPDX-License-Identifier: LGPL-2.1-or-later
/* area.c: see area.h. */
#include "user/patch/area.h"

#include "offline/patch/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
	PAGE = 4096,
	TRAMPOLINE_BYTES = 384, /* more than one takes on average */
	TRAMPOLINE_MOST = 1024, /* and more than any takes */
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
};

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* A system call of the process. Returns its result, or -errno whoever's. */
static int64_t call(const struct tracee *t, long number, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d, uint64_t e, uint64_t f)
{
	int64_t result;
	int err = tracee_syscall(t, number, (uint64_t[]){a, b, c, d, e, f}, &result);

	return err ? err : result;
}

/* Where the module is, by what is mapped; false: it is not, or in a way that is not understood. */
static bool find_module(const struct making *m, const struct patch_module *module, uint64_t *bias,
			uint64_t *low, uint64_t *high)
{
	uint64_t off = pugmark_model_file_offset(module->model, module->model->text_addr);
	bool found = false;

	for (int i = 0; i < m->n_maps; i++) {
		const struct tracee_map *map = &m->maps[i];

		if (map->dev != module->dev || map->ino != module->ino)
			continue;
		if (!found || map->start < *low)
			*low = map->start;
		if (!found || map->end > *high)
			*high = map->end;
		if (map->executable && off >= map->off_file &&
		    off - map->off_file < map->end - map->start) {
			*bias = map->start + (off - map->off_file) - module->model->text_addr;
			found = true;
		}
	}
	return found;
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

static int make_memory(struct making *m, uint64_t code_bytes, uint32_t n_chunks, const char **why)
{
	static const char name[] = "pugmark";
	struct user_regs_struct regs;
	char path[64], old[sizeof(name)];
	struct area *a = m->area;

	*why = "its memory cannot be reached";
	if (ptrace(PTRACE_GETREGS, m->t->pid, NULL, &regs))
		return -errno;
	uint64_t at = (regs.rsp - 1024) & ~15ull;
	int err = tracee_read(m->t, at, old, sizeof(old));
	if (!err)
		err = tracee_write(m->t, at, name, sizeof(name));
	if (err)
		return err;
	int64_t fd = call(m->t, SYS_memfd_create, at, MFD_CLOEXEC, 0, 0, 0, 0);
	tracee_write(m->t, at, old, sizeof(old));
	*why = "it may not have memory to share (memfd_create is refused: a seccomp filter, or "
	       "vm.memfd_noexec)";
	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", m->t->pid, (int)fd);
	a->fd = open(path, O_RDWR | O_CLOEXEC);
	a->off_chunks = code_bytes;
	err = a->fd < 0 ? -errno : 0;
	if (!err && ftruncate(a->fd, code_bytes + PATCH_CHUNK * (uint64_t)(n_chunks + 1)))
		err = -errno;
	for (uint32_t i = 0; !err && i < a->n_regions; i++) {
		struct area_region *r = &a->regions[i];
		if (!r->addr)
			continue;
		int64_t got = call(m->t, SYS_mmap, r->addr, r->bytes, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, r->off_fd);
		*why = "it may not have more code (mmap is refused: a seccomp filter, or SELinux)";
		err = got < 0 ? (int)got : 0;
	}
	int64_t shared = err ? err
			     : call(m->t, SYS_mmap, 0, PATCH_CHUNK * (uint64_t)(n_chunks + 1),
				    PROT_READ | PROT_WRITE, MAP_SHARED, fd, a->off_chunks);
	int64_t rings =
		err ? err
		    : call(m->t, SYS_mmap, 0, PATCH_RINGS * (uint64_t)PATCH_RING_BYTES + PAGE,
			   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	call(m->t, SYS_close, fd, 0, 0, 0, 0, 0);
	if (err || shared < 0 || rings < 0)
		return err ? err : shared < 0 ? (int)shared : (int)rings;
	a->shared = shared;
	a->local = rings;
	a->rings = rings + PAGE;
	int64_t wiped = call(m->t, SYS_madvise, a->rings, PATCH_RINGS * (uint64_t)PATCH_RING_BYTES,
			     MADV_WIPEONFORK, 0, 0, 0);
	*why = "this kernel cannot wipe memory on fork";
	return wiped < 0 ? (int)wiped : 0;
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

		if (!module->model || !(module->placing.n_own + module->placing.n_other) ||
		    !find_module(m, module, &r->bias, &low, &high))
			continue;
		found++;
		uint64_t bytes = PATCH_CODE_START + pugmark_patch_runtime_bytes +
				 8 * (uint64_t)module->n_words +
				 TRAMPOLINE_BYTES * (uint64_t)module->placing.n + (64 << 10);
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
	size_t have;
	const uint8_t *at = pugmark_model_bytes(module->model, addr, &have);

	return at && have >= len ? at : NULL;
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
		.addr = place->addr + r->bias,
		.site = module->first_site + site,
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
	r->patched = calloc(module->placing.n + 1, sizeof(*r->patched));
	if (!r->made || !r->patched)
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
		r->patched[i] = true;
		a->frame_add[module->first_site + i] = r->made[i].frame_add;
		a->n_patched++;
	}
	return c->err;
}

static int write_region(struct area *a, const struct area_region *r)
{
	for (uint32_t done = 0; done < r->code.len;) {
		ssize_t n =
			pwrite(a->fd, r->code.bytes + done, r->code.len - done, r->off_fd + done);

		if (n <= 0)
			return n ? -errno : -ENOSPC;
		done += n;
	}
	return 0;
}

static int emit_all(struct making *m, const struct patch_settings *settings)
{
	struct area *a = m->area;
	struct patch_header header = {
		.magic = PATCH_MAGIC, .rings = a->rings, .local = a->local, .shared = a->shared};
	struct patch_shared shared = {.n_chunks = settings->n_chunks, .waits = settings->waits};
	int err = 0;

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
		memcpy(r->code.bytes, &header, sizeof(header));
		err = write_region(a, r);
	}
	if (!err && pwrite(a->fd, &shared, sizeof(shared), a->off_chunks) != sizeof(shared))
		err = -EIO;
	return err;
}

int area_new(const struct tracee *t, const struct patch_module *modules, uint32_t n_modules,
	     uint32_t n_sites, const struct patch_settings *settings, struct area **out,
	     const char **why)
{
	struct area *a = calloc(1, sizeof(*a));
	struct making m = {.t = t, .modules = modules, .area = a};
	uint64_t code_bytes;

	*why = "out of memory";
	if (!a)
		return -ENOMEM;
	a->fd = -1;
	a->pid = t->pid;
	a->n_regions = n_modules < 64 ? n_modules : 64;
	a->n_sites = n_sites;
	a->frame_add = calloc(n_sites + 1, sizeof(*a->frame_add));
	m.n_maps = tracee_maps(t->pid, &m.maps);
	int err = !a->frame_add ? -ENOMEM : m.n_maps < 0 ? m.n_maps : 0;
	if (!err)
		err = find_regions(&m, &code_bytes, why);
	if (!err)
		err = make_memory(&m, code_bytes, settings->n_chunks, why);
	if (!err) {
		*why = "its code cannot be written";
		err = emit_all(&m, settings);
	}
	if (m.n_maps >= 0)
		free(m.maps);
	if (err)
		area_free(a);
	else
		*out = a;
	return err;
}

/* The text of a module as the process has it, and which pages of it are to be written. */
struct text_copy {
	uint64_t addr; /* run-time, of bytes[0]: at a page */
	uint8_t *bytes;
	bool *dirty;
	uint64_t n_pages;
};

static int copy_text(const struct tracee *t, const struct patch_module *module, uint64_t bias,
		     struct text_copy *copy)
{
	uint64_t start = (module->span.addr + bias) & ~(uint64_t)(PAGE - 1);
	uint64_t end = page_up(module->span.end + bias);

	*copy = (struct text_copy){.addr = start, .n_pages = (end - start) / PAGE};
	copy->bytes = malloc(end - start);
	copy->dirty = calloc(copy->n_pages, 1);
	int err = copy->bytes && copy->dirty ? 0 : -ENOMEM;
	/* Between executable segments there may be nothing. */
	for (uint64_t i = 0; !err && i < copy->n_pages; i++)
		if (tracee_read(t, start + i * PAGE, copy->bytes + i * PAGE, PAGE))
			memset(copy->bytes + i * PAGE, 0, PAGE);
	return err;
}

static int write_text(const struct tracee *t, struct text_copy *copy, int err)
{
	for (uint64_t i = 0; !err && i < copy->n_pages; i++)
		if (copy->dirty[i])
			err = tracee_write(t, copy->addr + i * PAGE, copy->bytes + i * PAGE, PAGE);
	free(copy->bytes);
	free(copy->dirty);
	return err;
}

/* Replaces @len bytes at @addr if they are @old, of which the first may be a breakpoint where
 * @probed says that one of ours is there. */
static bool replace(struct text_copy *copy, uint64_t addr, const uint8_t *old, const uint8_t *new,
		    uint8_t len, bool probed)
{
	uint8_t *at = copy->bytes + (addr - copy->addr);
	uint8_t first = probed && at[0] == 0xcc;

	if (memcmp(at + first, old + first, len - first) != 0)
		return false;
	memcpy(at, new, len);
	copy->dirty[(addr - copy->addr) / PAGE] = true;
	copy->dirty[(addr + len - 1 - copy->addr) / PAGE] = true;
	return true;
}

static bool patch_site(struct text_copy *copy, const struct area_region *r,
		       const struct patch_module *module, uint32_t i)
{
	const struct patch_place *p = &module->placing.places[i];
	uint64_t own = module->sites[i].addr;
	const uint8_t *bytes = file_bytes(module, p->addr, p->len),
		      *its = file_bytes(module, own, 1);

	if (!bytes || !its ||
	    !replace(copy, p->addr + r->bias, bytes, r->made[i].bytes, p->len, !p->other))
		return false;
	if (!p->other)
		return true;
	/* The probe goes: the event has another carrier. */
	uint8_t *at = copy->bytes + (own + r->bias - copy->addr);
	if (*at == 0xcc) {
		*at = *its;
		copy->dirty[(own + r->bias - copy->addr) / PAGE] = true;
	}
	return true;
}

int area_write(struct area *a, const struct tracee *t, const struct patch_module *modules)
{
	int n = 0;

	for (uint32_t m = 0; m < a->n_regions; m++) {
		struct area_region *r = &a->regions[m];
		struct text_copy copy;

		if (!r->addr)
			continue;
		int err = copy_text(t, &modules[m], r->bias, &copy);
		for (uint32_t i = 0; !err && i < modules[m].placing.n; i++) {
			if (r->patched[i])
				r->patched[i] = patch_site(&copy, r, &modules[m], i);
			n += r->patched[i];
		}
		err = write_text(t, &copy, err);
		if (err)
			return err;
	}
	a->n_patched = n;
	return n;
}

int area_restore(struct area *a, const struct tracee *t, const struct patch_module *modules)
{
	int n = 0;

	for (uint32_t m = 0; m < a->n_regions; m++) {
		struct area_region *r = &a->regions[m];
		struct text_copy copy;

		if (!r->addr)
			continue;
		int err = copy_text(t, &modules[m], r->bias, &copy);
		for (uint32_t i = 0; !err && i < modules[m].placing.n; i++) {
			const struct patch_place *p = &modules[m].placing.places[i];
			const uint8_t *bytes = file_bytes(&modules[m], p->addr, p->len);

			if (r->patched[i] && bytes)
				n += replace(&copy, p->addr + r->bias, r->made[i].bytes, bytes,
					     p->len, false);
		}
		err = write_text(t, &copy, err);
		if (err)
			return err;
	}
	return n;
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
		free(a->regions[i].patched);
	}
	free(a->frame_add);
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}
