// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_paths.c: see value_paths.h.
 *
 *   path = { "*" } name { "::" name } { "." name | "->" name | "[" number "]" } */
#include "user/values/types/value_paths.h"

#include "user/file/die_walk.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, LOOKED_MAX = 1 << 20 };

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
	while (*len && !strncmp(path + *len, "::", 2) && name_length(path + *len + 2))
		*len += 2 + name_length(path + *len + 2);
	return *len ? path : NULL;
}

static bool is_reference(const struct value_part *p)
{
	int tag = dwarf_tag((Dwarf_Die *)&p->type);

	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

static bool say(struct value_path_why *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Always false, for whoever returns it. */
static bool say(struct value_path_why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (why)
		vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return false;
}

static const char *type_name(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	if (name)
		return name;
	return dwarf_tag(type) == DW_TAG_array_type	? "an array"
	       : dwarf_tag(type) == DW_TAG_pointer_type ? "a pointer"
							: "a type without a name";
}

/* What the pointer or reference @p points to, @index elements further on, as @to without its value.
 */
static bool point(struct value_part *p, int64_t index, struct value_part *to,
		  struct value_path_why *why)
{
	Dwarf_Die of;

	if (dwarf_tag(&p->type) != DW_TAG_pointer_type && !is_reference(p))
		return say(why, "%s is no pointer", type_name(&p->type));
	if (!value_plain_type(&p->type, &of))
		return say(why, "it is not said what the pointer points to");
	*to = (struct value_part){.type = of};
	to->off = (uint64_t)index * value_type_size(&of);
	return true;
}

/* The index at @w, "[number]", which is gone over. */
static bool take_index(struct value_walk *w, int64_t *index, struct value_path_why *why)
{
	char *end;

	*index = strtoll(w->at + 1, &end, 0);
	if (end == w->at + 1 || *end != ']')
		return say(why, "an index is a number and a ]");
	w->at = end + 1;
	return true;
}

/* The element of the array @p at @index, and at the indices that follow in @w where it has more
 * dimensions. */
static bool element(struct value_part *p, int64_t index, struct value_walk *w,
		    struct value_path_why *why)
{
	uint64_t place = 0, count;
	bool any = false;
	Dwarf_Die of, child;

	if (dwarf_tag(&p->type) != DW_TAG_array_type || !value_plain_type(&p->type, &of))
		return say(why, "%s is no array and no pointer", type_name(&p->type));
	for (int more = dwarf_child(&p->type, &child); !more; more = !die_next(&child)) {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!value_dimension(&child, &count))
			return say(why, "an array of unknown size");
		if (any && *w->at != '[')
			return say(why, "an array of several dimensions: each wants an [index]");
		if (any && !take_index(w, &index, why))
			return false;
		if (index < 0 || (uint64_t)index >= count)
			return say(why, "the array has %" PRIu64 " elements, counted from 0",
				   count);
		place = place * count + (uint64_t)index;
		any = true;
	}
	uint64_t each = value_type_size(&of);
	if (!any || !each)
		return say(why, "an array of unknown size");
	p->off += place * each;
	p->type = of;
	return true;
}

struct member_search {
	const char *name;
	size_t len;
	uint32_t looked; /* members that were met, up to LOOKED_MAX */
};

/* Also of members without a name and of base classes. */
static bool member(struct member_search *s, struct value_part *p, int depth)
{
	Dwarf_Die child;

	for (int more = dwarf_child(&p->type, &child); !more; more = !die_next(&child)) {
		int tag = dwarf_tag(&child);
		const char *own = dwarf_diename(&child);
		struct value_part inner = *p;

		if (s->looked == LOOKED_MAX)
			return false;
		s->looked++;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&child, DW_AT_external) || !value_plain_type(&child, &inner.type))
			continue;
		bool is = own && strlen(own) == s->len && !strncmp(own, s->name, s->len);
		uint64_t at = value_constant(&child, DW_AT_data_member_location, 0);
		inner.bits = value_bits_of(&child, at);
		if (!inner.bits.n)
			inner.off += at;
		if (is || ((!own || tag == DW_TAG_inheritance) && depth < DEPTH &&
			   member(s, &inner, depth + 1))) {
			*p = inner;
			return true;
		}
	}
	return false;
}

/* That @name is no member, and what the members are. */
static bool say_members(struct value_path_why *why, Dwarf_Die *type, const char *name, size_t len)
{
	Dwarf_Die child;
	int more = dwarf_child(type, &child), n = 0;

	if (more || dwarf_tag(type) == DW_TAG_array_type || dwarf_tag(type) == DW_TAG_pointer_type)
		return say(why, "%s has no members", type_name(type));
	say(why, "%s has no member %.*s; it has", type_name(type), (int)len, name);
	for (; why && !more; more = !die_next(&child)) {
		const char *own = dwarf_diename(&child);
		size_t at = strlen(why->text);

		if (own && dwarf_tag(&child) == DW_TAG_member)
			snprintf(why->text + at, sizeof(why->text) - at, "%s %s", n++ ? "," : "",
				 own);
	}
	return false;
}

void value_walk_begin(struct value_walk *w, const char *path)
{
	size_t len = 0;
	const char *name = value_path_name(path, &len);

	*w = (struct value_walk){.stars = strspn(path, "*"), .at = name ? name + len : ""};
}

static enum value_walked walked(bool points)
{
	return points ? VALUE_WALK_POINTER : VALUE_WALK_NO;
}

enum value_walked value_walk_on(struct value_walk *w, struct value_part *p, struct value_part *to,
				struct value_path_why *why)
{
	for (;;) {
		if (is_reference(p))
			return walked(point(p, 0, to, why));
		if (!*w->at && !w->stars)
			return VALUE_WALK_END;
		if (!*w->at) {
			w->stars--;
			return walked(point(p, 0, to, why));
		}
		if (*w->at == '[') {
			int64_t index;

			if (!take_index(w, &index, why))
				return VALUE_WALK_NO;
			if (dwarf_tag(&p->type) == DW_TAG_pointer_type)
				return walked(point(p, index, to, why));
			if (!element(p, index, w, why))
				return VALUE_WALK_NO;
			continue;
		}
		if (w->at[0] == '-' && w->at[1] == '>') {
			w->at++; /* what is left begins with the > and is a member's */
			return walked(point(p, 0, to, why));
		}
		size_t len = name_length(w->at + 1);
		if ((*w->at != '.' && *w->at != '>') || !len) {
			say(why, "behind a name there is .member, ->member or [number]");
			return VALUE_WALK_NO;
		}
		struct member_search search = {w->at + 1, len, 0};
		if (!member(&search, p, 0)) {
			if (search.looked == LOOKED_MAX)
				say(why, "%s has more members than are looked at",
				    type_name(&p->type));
			else
				say_members(why, &p->type, w->at + 1, len);
			return VALUE_WALK_NO;
		}
		w->at += 1 + len;
	}
}

bool value_path_follow(struct value_part *p, const char *path, struct value_memory *memory)
{
	enum value_walked how;
	struct value_walk w;
	struct value_part to;

	value_walk_begin(&w, path);
	while ((how = value_walk_on(&w, p, &to, NULL)) == VALUE_WALK_POINTER) {
		to.value.place = VALUE_IN_MEMORY;
		to.value.at_quality =
			value_bytes_read(&p->value, memory, p->off, &to.value.addr, 8);
		if (to.value.at_quality >= VALUE_UNKNOWN)
			return false;
		*p = to;
	}
	return how == VALUE_WALK_END;
}
