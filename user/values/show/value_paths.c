// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_paths.c: see value_paths.h.
 *
 *   path = { "*" } name { "." name | "->" name | "[" number "]" } */
#include "user/values/show/value_paths.h"

#include "user/file/die_walk.h"

#include <ctype.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$')
		n++;
	return n;
}

const char *value_path_name(const char *path, size_t *len)
{
	while (*path == '*')
		path++;
	*len = name_length(path);
	return *len ? path : NULL;
}

/* What the pointer or reference points to, @index elements further on. */
static bool point(struct value_part *p, int64_t index, struct value_memory *memory)
{
	struct value_bytes to = {.place = VALUE_IN_MEMORY};
	Dwarf_Die of;

	to.at_quality = value_bytes_read(&p->value, memory, p->off, &to.addr, 8);
	if (to.at_quality >= VALUE_UNKNOWN || !value_plain_type(&p->type, &of))
		return false;
	to.addr += (uint64_t)index * value_type_size(&of);
	*p = (struct value_part){.type = of, .value = to};
	return true;
}

static bool is_reference(const struct value_part *p)
{
	int tag = dwarf_tag((Dwarf_Die *)&p->type);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool element(struct value_part *p, int64_t index, struct value_memory *memory)
{
	Dwarf_Word size;
	Dwarf_Die of, child;
	unsigned dimensions = 0;

	if (dwarf_tag(&p->type) == DW_TAG_pointer_type)
		return point(p, index, memory);
	if (dwarf_tag(&p->type) != DW_TAG_array_type || !value_plain_type(&p->type, &of) ||
	    dwarf_aggregate_size(&p->type, &size))
		return false;
	for (int more = dwarf_child(&p->type, &child); !more; more = !die_next(&child))
		dimensions += dwarf_tag(&child) == DW_TAG_subrange_type;
	uint64_t each = value_type_size(&of);
	if (dimensions != 1 || !each || index < 0 || (uint64_t)index >= size / each)
		return false;
	p->off += (uint64_t)index * each;
	p->type = of;
	return true;
}

/* Also of members without a name and of base classes. */
static bool member(struct value_part *p, const char *name, size_t len, int depth)
{
	Dwarf_Die child;

	for (int more = dwarf_child(&p->type, &child); !more; more = !die_next(&child)) {
		int tag = dwarf_tag(&child);
		const char *own = dwarf_diename(&child);
		struct value_part inner = *p;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&child, DW_AT_external) || !value_plain_type(&child, &inner.type))
			continue;
		bool is = own && strlen(own) == len && !strncmp(own, name, len);
		inner.bits = (struct value_bits){
			value_constant(&child, DW_AT_data_bit_offset, UINT64_MAX),
			value_constant(&child, DW_AT_bit_size, 0)};
		if (inner.bits.n && inner.bits.first == UINT64_MAX)
			continue; /* DWARF 3 */
		if (!inner.bits.n)
			inner.off += value_constant(&child, DW_AT_data_member_location, 0);
		if (is || ((!own || tag == DW_TAG_inheritance) && depth < DEPTH &&
			   member(&inner, name, len, depth + 1))) {
			*p = inner;
			return true;
		}
	}
	return false;
}

bool value_path_follow(struct value_part *p, const char *path, struct value_memory *memory)
{
	size_t stars = strspn(path, "*"), len;
	const char *at = value_path_name(path, &len);

	if (!at)
		return false;
	for (at += len; *at; at += len) {
		char *end;

		if (is_reference(p) && !point(p, 0, memory))
			return false;
		if (*at == '[') {
			int64_t index = strtoll(at + 1, &end, 0);

			if (end == at + 1 || *end != ']' || !element(p, index, memory))
				return false;
			len = (size_t)(end + 1 - at);
			continue;
		}
		bool arrow = at[0] == '-' && at[1] == '>';
		if (!arrow && *at != '.')
			return false;
		at += arrow ? 2 : 1;
		len = name_length(at);
		if (!len ||
		    (arrow &&
		     (dwarf_tag(&p->type) != DW_TAG_pointer_type || !point(p, 0, memory))) ||
		    !member(p, at, len, 0))
			return false;
	}
	if (is_reference(p) && !point(p, 0, memory))
		return false;
	while (stars--)
		if (dwarf_tag(&p->type) != DW_TAG_pointer_type || !point(p, 0, memory))
			return false;
	return true;
}
