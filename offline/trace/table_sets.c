// SPDX-License-Identifier: LGPL-2.1-or-later
/* table_sets.c: see table_sets.h. */
#include "offline/trace/table_sets.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct table_sets {
	pthread_mutex_t lock;
	struct table_set *idle;
};

int table_sets_new(struct table_sets **out)
{
	struct table_sets *sets = calloc(1, sizeof(*sets));
	if (!sets)
		return -ENOMEM;
	pthread_mutex_init(&sets->lock, NULL);
	*out = sets;
	return 0;
}

void table_sets_free(struct table_sets *sets)
{
	if (!sets)
		return;
	for (struct table_set *set = sets->idle, *next; set; set = next) {
		next = set->next;
		for (uint32_t i = 0; i <= SEGMENT_MAX_MODULES; i++)
			parse_tables_free(set->tables[i]);
		free(set);
	}
	pthread_mutex_destroy(&sets->lock);
	free(sets);
}

struct table_set *table_sets_take(struct table_sets *sets)
{
	pthread_mutex_lock(&sets->lock);
	struct table_set *set = sets->idle;
	if (set)
		sets->idle = set->next;
	pthread_mutex_unlock(&sets->lock);
	return set ? set : calloc(1, sizeof(*set));
}

void table_sets_give_back(struct table_sets *sets, struct table_set *set)
{
	if (!set)
		return;
	pthread_mutex_lock(&sets->lock);
	set->next = sets->idle;
	sets->idle = set;
	pthread_mutex_unlock(&sets->lock);
}
