// SPDX-License-Identifier: LGPL-2.1-or-later
/* captures.c: see captures.h. The file's segments are read when they are asked for. */
#include "offline/capture/captures.h"

#include "offline/base/open_regular.h"
#include "offline/capture/capture_code.h"
#include "offline/capture/captures_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int list_tasks(struct captures *c)
{
	c->tasks = calloc(c->segments.n + 1, sizeof(*c->tasks));
	if (!c->tasks)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->segments.n; i++) {
		const struct segment_header *h = &c->segments.at[i].header;

		if (h->kind == CAPTURE_SEGMENT_RECORDS &&
		    (!c->n_tasks || c->tasks[c->n_tasks - 1] != h->task))
			c->tasks[c->n_tasks++] = h->task;
	}
	return 0;
}

/* Whether what the process had of its own at the start may be missing: the first table is written
 * behind that. */
static bool has_lost_pages(const struct capture_segments *s)
{
	uint32_t first = capture_segments_find(s, CAPTURE_SEGMENT_TABLE, 0, 0);

	return first == s->n || s->at[first].header.number >= s->n_whole;
}

/* Every recording has this file, from when it has its name. */
static bool is_recording(const char *dir)
{
	char *path = NULL;
	bool is = asprintf(&path, "%s/events", dir) < 0 || !access(path, F_OK);

	free(path);
	return is;
}

int captures_open(const char *dir, struct captures **out, struct pugmark_diag *diag)
{
	struct captures *c = calloc(1, sizeof(*c));
	char *path = NULL;
	int err = -ENOMEM;

	if (c)
		c->segments.fd = -1;
	if (c && (c->codec = codec_new()) && asprintf(&path, "%s/captures", dir) >= 0)
		err = capture_segments_open(path, &c->segments);
	free(path);
	if (err == -ENOENT && access(dir, F_OK))
		pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "%s",
				 errno == ENOENT ? "no such recording" : strerror(errno));
	else if (err == -ENOENT)
		err = pugmark_diag_set(diag, -ENODATA, dir, PUGMARK_NO_OFFSET, "%s",
				       is_recording(dir)
					       ? "was recorded without values (record "
						 "--level values)"
					       : "not a recording: it has no file `events`");
	else if (err)
		pugmark_diag_set(diag, err, dir, PUGMARK_NO_OFFSET, "its file `captures`: %s",
				 strerror(-err));
	if (!err)
		err = captures_table_read(c, diag);
	if (!err)
		err = list_tasks(c);
	if (!err) {
		c->ended &= c->segments.n_whole == c->segments.n && !c->segments.damaged_bytes;
		c->page_lost = has_lost_pages(&c->segments);
	}
	if (err) {
		captures_free(c);
		return err;
	}
	c->loaded = c->segments.n;
	*out = c;
	return 0;
}

void captures_free(struct captures *c)
{
	if (!c)
		return;
	captures_table_deinit(c);
	capture_segments_deinit(&c->segments);
	codec_free(c->codec);
	bytes_deinit(&c->stored);
	bytes_deinit(&c->raw);
	free(c->tasks);
	free(c);
}

const struct capture_place *captures_places(const struct captures *c, uint32_t *n)
{
	*n = c->n_places;
	return c->places;
}

const struct capture_mapping *captures_mappings(const struct captures *c, uint32_t *n)
{
	*n = c->n_mappings;
	return c->mappings;
}

const struct capture_file *captures_files(const struct captures *c, uint32_t *n)
{
	*n = c->n_files;
	return c->files;
}

uint64_t captures_damaged_bytes(const struct captures *c)
{
	return capture_segments_damaged(&c->segments);
}

/* Memory that has the name of a file, or none any more. */
static bool is_memory(const char *path)
{
	static const char *const begin[] = {"/memfd:", "/dev/", "/SYSV", "/anon_"};
	static const char removed[] = " (deleted)";
	size_t len = strlen(path);

	for (unsigned i = 0; i < sizeof(begin) / sizeof(*begin); i++)
		if (!strncmp(path, begin[i], strlen(begin[i])))
			return true;
	return *path != '/' ||
	       (len > sizeof(removed) && !strcmp(path + len - strlen(removed), removed));
}

bool captures_may_change(const struct captures *c, uint32_t file, bool shared, int prot)
{
	if (file >= c->n_files)
		return shared;
	/* Nobody has looked at the files at the end: the recorder was killed, or is at it. Code
	 * that is executed is not written in place, or the program would hardly have run on. */
	bool unseen = !c->ended && !(prot & PROT_EXEC);
	return c->files[file].changed || unseen ||
	       (shared && (prot & PROT_WRITE || is_memory(c->files[file].path)));
}

const uint32_t *captures_tasks(const struct captures *c, uint32_t *n)
{
	*n = c->n_tasks;
	return c->tasks;
}

bool captures_ended(const struct captures *c)
{
	return c->ended;
}

bool captures_whole(const struct captures *c)
{
	return c->whole;
}

bool captures_bias(const struct captures *c, uint32_t module, uint64_t *bias)
{
	if (module >= c->n_modules || c->bias[module] == UINT64_MAX)
		return false;
	*bias = c->bias[module];
	return true;
}

/* Expands segment @i, unless it is the last one that was. */
static int load(struct captures *c, uint32_t i)
{
	if (c->loaded == i)
		return 0;
	c->loaded = c->segments.n;
	int err = segment_load(c->segments.fd, &c->segments.at[i], c->codec, &c->stored, &c->raw);
	if (!err)
		c->loaded = i;
	return err;
}

/* Bytes [@off, @off + @len) of what segments of @kind and @task hold, which may be several. */
static int read_bytes(struct captures *c, uint8_t kind, uint32_t task, uint64_t off, uint32_t len,
		      uint8_t *out)
{
	while (len) {
		uint32_t i = capture_segments_holding(&c->segments, kind, task, off);
		if (i == c->segments.n)
			return -ENOENT;
		const struct segment_header *h = &c->segments.at[i].header;
		uint64_t skip = off - h->first_event;
		if (skip >= h->raw_bytes)
			return -ENOENT;
		int err = load(c, i);
		if (err)
			return err;
		uint32_t part = h->raw_bytes - skip < len ? h->raw_bytes - skip : len;
		memcpy(out, c->raw.data + skip, part);
		out += part;
		off += part;
		len -= part;
	}
	return 0;
}

/* Of code the recorder keeps what the file has (start_image.c). */
static bool is_files_code(const struct captures *c, uint64_t addr)
{
	for (uint32_t i = 0; i < c->n_mappings; i++) {
		const struct capture_mapping *m = &c->mappings[i];

		if (addr >= m->start && addr < m->end)
			return m->file != CAPTURE_NONE && m->prot & PROT_EXEC &&
			       !(m->prot & PROT_WRITE);
	}
	return false;
}

int captures_page(const struct captures *c, uint64_t addr, uint8_t out[4096])
{
	int err = read_bytes((struct captures *)c, CAPTURE_SEGMENT_PAGES, 0, addr & ~(PAGE - 1ull),
			     PAGE, out);

	return err == -ENOENT && c->page_lost && !is_files_code(c, addr) ? -EBADMSG : err;
}

uint64_t captures_page_from(const struct captures *c, uint64_t addr)
{
	const struct capture_segments *s = &c->segments;
	uint32_t i = capture_segments_holding(s, CAPTURE_SEGMENT_PAGES, 0, addr);

	if (i < s->n && addr - s->at[i].header.first_event < s->at[i].header.raw_bytes)
		return addr;
	i = capture_segments_find(s, CAPTURE_SEGMENT_PAGES, 0, addr);
	return i < s->n ? s->at[i].header.first_event & ~(PAGE - 1ull) : UINT64_MAX;
}

bool captures_page_lost(const struct captures *c)
{
	return c->page_lost;
}

int captures_file_bytes(const struct captures *c, uint32_t file, uint64_t off, uint32_t len,
			uint8_t *out)
{
	return read_bytes((struct captures *)c, CAPTURE_SEGMENT_FILE, file, off, len, out);
}

/* Whether the page of a file at @off is @page; behind its end a file has zeros. */
static bool has_page(int fd, uint64_t off, const uint8_t page[PAGE])
{
	uint8_t now[PAGE] = {0};

	return pread(fd, now, PAGE, (off_t)off) >= 0 && !memcmp(now, page, PAGE);
}

int captures_file_is(const struct captures *c, uint32_t file)
{
	const struct capture_segments *s = &c->segments;
	int fd = file < c->n_files ? open_regular(c->files[file].path, NULL) : -ENOENT;
	uint8_t page[PAGE];
	int is = -ENOENT;

	if (fd < 0)
		return 0;
	for (uint32_t i = capture_segments_find(s, CAPTURE_SEGMENT_FILE, file, 0);
	     i < s->n && is && s->at[i].header.kind == CAPTURE_SEGMENT_FILE &&
	     s->at[i].header.task == file;
	     i++) {
		const struct segment_header *h = &s->at[i].header;

		for (uint64_t at = 0; at + PAGE <= h->raw_bytes && is; at += PAGE)
			if (!captures_file_bytes(c, file, h->first_event + at, PAGE, page))
				is = has_page(fd, h->first_event + at, page);
	}
	close(fd);
	return is;
}

static const char *name_at(const struct named_addrs *names, uint64_t addr)
{
	uint32_t low = 0, high = names->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (names->at[mid].addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < names->n && names->at[low].addr == addr ? names->at[low].name : NULL;
}

const char *captures_stub(const struct captures *c, uint64_t addr)
{
	return name_at(&c->stubs, addr);
}

const char *captures_slot(const struct captures *c, uint64_t addr)
{
	return name_at(&c->slots, addr);
}
