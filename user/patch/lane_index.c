// SPDX-License-Identifier: LGPL-2.1-or-later
/* lane_index.c: see lane_index.h. Open addressing, at most three quarters full. */
#include "user/patch/lane_index.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

enum { SIZE_MIN = 256 };

static uint64_t key_of(uint32_t lane, uint32_t serial)
{
	return (uint64_t)lane << 32 | serial;
}

/* Where the search for @key begins. The mixing is that of splitmix64. */
static uint32_t place_of(const struct lane_index *index, uint64_t key)
{
	uint64_t z = key ^ index->secret;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(z ^ z >> 31) & (index->size - 1);
}

/* The entry of @key, or the free one that it belongs to. */
static struct stored *look_up(const struct lane_index *index, uint64_t key)
{
	uint32_t i = place_of(index, key);

	while (index->at[i].key && index->at[i].key != key)
		i = (i + 1) & (index->size - 1);
	return &index->at[i];
}

static int grow(struct lane_index *index)
{
	struct lane_index larger = {.n = index->n,
				    .size = index->size ? 2 * index->size : SIZE_MIN,
				    .secret = index->secret};

	if (!larger.size)
		return -ENOMEM;
	if (!index->size && getrandom(&larger.secret, sizeof(larger.secret), 0) < 0)
		return -errno;
	larger.at = calloc(larger.size, sizeof(*larger.at));
	if (!larger.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < index->size; i++)
		if (index->at[i].key)
			*look_up(&larger, index->at[i].key) = index->at[i];
	free(index->at);
	*index = larger;
	return 0;
}

struct stored *lane_index_find(const struct lane_index *index, uint32_t lane, uint32_t serial)
{
	struct stored *found = index->n && lane ? look_up(index, key_of(lane, serial)) : NULL;

	return found && found->key ? found : NULL;
}

int lane_index_add(struct lane_index *index, uint32_t lane, uint32_t serial, struct stored stored)
{
	if (index->n >= index->size / 4 * 3) {
		int err = grow(index);

		if (err)
			return err;
	}
	struct stored *at = look_up(index, key_of(lane, serial));
	if (at->key)
		return -EEXIST;
	stored.key = key_of(lane, serial);
	*at = stored;
	index->n++;
	return 0;
}

void lane_index_deinit(struct lane_index *index)
{
	free(index->at);
	*index = (struct lane_index){.at = NULL};
}
