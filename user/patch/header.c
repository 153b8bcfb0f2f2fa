// SPDX-License-Identifier: LGPL-2.1-or-later
/* header.c: see header.h. */
#include "user/patch/header.h"

#include "offline/patch/runtime.h"
#include "user/patch/object.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The next region behind number @i that has code; NULL: there is none. */
static const struct area_region *next_region(const struct area *a, uint32_t i)
{
	while (++i < a->n_regions)
		if (a->regions[i].addr)
			return &a->regions[i];
	return NULL;
}

/* What a debugger is told of region @i, if there is to be a file of it. */
static void describe_region(struct area *a, uint32_t i, const struct patch_settings *settings,
			    struct patch_header *header)
{
	struct area_region *r = &a->regions[i];
	char name[OBJECT_NAME_BYTES];

	object_name(name, a->pid, i);
	r->object = r->unwind.index && settings->objects_fd >= 0 &&
		    snprintf(header->name, sizeof(header->name), "%s/%s", settings->objects_path,
			     name) < (int)sizeof(header->name) &&
		    !object_write(settings->objects_fd, name, r);
	if (!r->object)
		header->name[0] = 0;
}

void header_write(struct area *a, uint32_t i, const struct unwinders *u,
		  const struct patch_settings *settings, struct patch_header *header)
{
	const struct area_region *r = &a->regions[i], *next = next_region(a, i);

	header->code_from = r->addr + PATCH_CODE_START;
	header->code_to = r->addr + r->unwind.code_end;
	header->index = r->addr + r->unwind.index;
	header->find_next = next ? next->addr + PATCH_CODE_START + pugmark_patch_find : u->find_was;
	header->map = (struct patch_map){
		.name = r->addr + offsetof(struct patch_header, name),
		.next = next ? next->addr + offsetof(struct patch_header, map) : 0,
		.prev = header->map.name ? header->map.name - offsetof(struct patch_header, name) +
						   offsetof(struct patch_header, map)
					 : 0,
	};
	describe_region(a, i, settings, header);
	memcpy(r->code.bytes, header, sizeof(*header));
}

int header_record(struct area *a, const struct tracee *t, const struct unwinders *u)
{
	const struct area_region *first = next_region(a, UINT32_MAX);
	bool objects = true;

	for (uint32_t i = 0; i < a->n_regions; i++)
		objects &= !a->regions[i].addr || a->regions[i].object;
	return unwinders_record(u, t, first->addr + PATCH_CODE_START + pugmark_patch_find,
				objects ? first->addr + offsetof(struct patch_header, map) : 0,
				a->local + PATCH_LOCAL_OBJECTS, a->record);
}
