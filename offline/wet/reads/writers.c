// SPDX-License-Identifier: LGPL-2.1-or-later
/* writers.c: see writers.h. */
#include "offline/wet/reads/writers.h"

#include <stdlib.h>
#include <string.h>

/* Words with several writers at most; one more is nobody's, wherever it is executed. */
enum { MANY_MAX = 1 << 22, STRING_MAX = 1 << 28 };

static const struct wet_maker nobody;

static void free_pages(struct wet_writers *w)
{
	for (uint32_t i = 0; i < w->n_slots; i++)
		free(w->pages[i]);
	free(w->pages);
	w->pages = NULL;
	w->n_pages = w->n_slots = 0;
	memset(w->near, 0, sizeof(w->near));
}

void wet_writers_deinit(struct wet_writers *w)
{
	free_pages(w);
	free(w->many);
	w->many = NULL;
}

void wet_writers_clear(struct wet_writers *w)
{
	free_pages(w);
	memset(w->units, 0, sizeof(w->units));
	w->n_many = w->free_many = 0;
	w->down = false;
}

static struct wet_writers_page **slot_of(const struct wet_writers *w, uint64_t number)
{
	uint32_t i = (uint32_t)(number * 0x9e3779b97f4a7c15 >> 32) & (w->n_slots - 1);
	while (w->pages[i] && w->pages[i]->number != number)
		i = (i + 1) & (w->n_slots - 1);
	return &w->pages[i];
}

static bool grow(struct wet_writers *w)
{
	struct wet_writers_page **old = w->pages;
	uint32_t n_old = w->n_slots, n = n_old ? 2 * n_old : 256;
	struct wet_writers_page **pages = calloc(n, sizeof(*pages));
	if (!pages)
		return false;
	w->pages = pages;
	w->n_slots = n;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i])
			*slot_of(w, old[i]->number) = old[i];
	free(old);
	return true;
}

/* The page; NULL: nobody has written there (not @write), or memory is out. */
static __attribute__((noinline)) struct wet_writers_page *find_page(struct wet_writers *w,
								    uint64_t number, bool write)
{
	struct wet_writers_page *page = w->n_slots ? *slot_of(w, number) : NULL;
	if (!page && !write)
		return NULL;
	if (!page) {
		page = 2 * w->n_pages < w->n_slots || grow(w) ? calloc(1, sizeof(*page)) : NULL;
		if (!page) {
			w->no_memory = true;
			return NULL;
		}
		page->number = number;
		*slot_of(w, number) = page;
		w->n_pages++;
	}
	return w->near[number % WET_WRITERS_NEAR] = page;
}

static inline struct wet_maker *word_at(struct wet_writers *w, uint64_t addr, bool write)
{
	uint64_t number = addr / VALUE_PAGE;
	struct wet_writers_page *page = w->near[number % WET_WRITERS_NEAR];
	if (!page || page->number != number)
		page = find_page(w, number, write);
	return page ? &page->words[addr / 8 % WET_WRITERS_WORDS] : NULL;
}

/* Each byte of @word gets a writer of its own; false: it becomes nobody's. */
static bool part(struct wet_writers *w, struct wet_maker *word)
{
	uint32_t i;
	if (w->free_many) {
		i = w->free_many - 1;
		w->free_many = w->many[i][0].time;
	} else if (w->n_many < w->room_many) {
		i = w->n_many++;
	} else {
		uint32_t room = w->room_many ? 2 * w->room_many : 1024;
		void *many = room <= MANY_MAX ? realloc(w->many, room * sizeof(*w->many)) : NULL;
		w->no_memory |= room <= MANY_MAX && !many;
		*word = many ? *word : nobody;
		if (!many)
			return false;
		w->many = many;
		w->room_many = room;
		i = w->n_many++;
	}
	for (unsigned k = 0; k < 8; k++)
		w->many[i][k] = *word;
	*word = (struct wet_maker){WET_WRITERS_MANY, i};
	return true;
}

static void give_back(struct wet_writers *w, uint32_t i)
{
	w->many[i][0].time = w->free_many;
	w->free_many = i + 1;
}

/* Bytes @off to @off + @len of the word at @addr. */
static inline void store_word(struct wet_writers *w, uint64_t addr, unsigned len,
			      struct wet_maker by)
{
	struct wet_maker *word = word_at(w, addr, true);
	if (!word)
		return;
	if (len == 8) {
		if (word->stmt == WET_WRITERS_MANY)
			give_back(w, word->time);
		*word = by;
		return;
	}
	if (word->stmt != WET_WRITERS_MANY && (wet_maker_same(word, &by) || !part(w, word)))
		return;
	struct wet_maker *bytes = w->many[word->time];
	for (unsigned i = addr % 8; i < addr % 8 + len; i++)
		bytes[i] = by;
}

void wet_writers_store(struct wet_writers *w, uint64_t addr, uint64_t len, struct wet_maker by)
{
	while (len && !w->no_memory) {
		uint64_t n = 8 - addr % 8 < len ? 8 - addr % 8 : len;
		store_word(w, addr, (unsigned)n, by);
		addr += n;
		len -= n;
	}
}

static inline uint32_t add(struct wet_maker *out, uint32_t n, const struct wet_maker *by)
{
	if (!by->stmt || (n && wet_maker_same(by, &out[n - 1])))
		return n;
	for (uint32_t i = 0; i < n; i++)
		if (wet_maker_same(by, &out[i]))
			return n;
	out[n] = *by;
	return n + 1;
}

uint32_t wet_writers_load(struct wet_writers *w, uint64_t addr, uint64_t len,
			  struct wet_maker out[WET_WRITERS_LOAD])
{
	uint32_t n = 0;
	len = len < WET_WRITERS_LOAD ? len : WET_WRITERS_LOAD;
	while (len) {
		uint64_t part = 8 - addr % 8 < len ? 8 - addr % 8 : len;
		const struct wet_maker *word = word_at(w, addr, false);
		if (word && word->stmt != WET_WRITERS_MANY)
			n = add(out, n, word);
		for (uint64_t i = 0; word && word->stmt == WET_WRITERS_MANY && i < part; i++)
			n = add(out, n, &w->many[word->time][addr % 8 + i]);
		addr += part;
		len -= part;
	}
	return n;
}

void wet_writers_string(struct wet_writers *w, const struct wet_access *a, const uint64_t at[3],
			struct wet_maker by)
{
	uint64_t len = at[2] * a->size;
	if (a->writes && len && len <= STRING_MAX)
		wet_writers_store(w, at[0] - (w->down ? len - a->size : 0), len, by);
}
