// SPDX-License-Identifier: LGPL-2.1-or-later
/* format.c: which arguments a format reads, and of scanf() which memory it writes, and where they
 * are by the ABI of x86-64: integers and pointers in the general registers that are left, numbers
 * with a fraction in vector registers, the rest on the stack above the return address; or all of it
 * through a va_list. What printf() makes of them is kept as p->text. */
#include "offline/dep/build_impl.h"

#include <stdlib.h>

enum { FORMAT_MAX = 4096, TEXT_MAX = 1 << 16 };

/* struct __va_list_tag of the ABI. */
struct va_area {
	uint32_t gp, fp;
	uint64_t overflow, saved;
};

struct arguments {
	struct dep_build *b;
	struct dep_pending *p;
	bool listed; /* through @area; else in registers */
	struct va_area area;
	unsigned general, vector; /* registers used so far */
	uint64_t stack;
};

/* A text is no better known than what it is made of. */
static void rely_on(struct arguments *a, uint8_t quality)
{
	a->p->text.known &= quality != VALUE_UNKNOWN;
	a->p->assumed |= quality != VALUE_EXACT;
}

static uint64_t from_memory(struct arguments *a, uint64_t addr, unsigned len)
{
	uint64_t word = 0;
	uint8_t quality = VALUE_UNKNOWN;
	dep_note_reads(a->b, &a->p->reads, addr, len);
	value_memory_read(a->b->memory, addr, &word, sizeof(word), &quality);
	rely_on(a, quality);
	return word;
}

static uint64_t from_stack(struct arguments *a, unsigned len)
{
	uint64_t at = len > 8 ? (a->stack + 15) & ~(uint64_t)15 : a->stack;
	a->stack = at + len;
	return from_memory(a, at, len);
}

/* The next integer or pointer. */
static uint64_t next_general(struct arguments *a)
{
	enum { SAVED_END = 48 };
	if (a->listed && a->area.gp < SAVED_END) {
		a->area.gp += 8;
		return from_memory(a, a->area.saved + a->area.gp - 8, 8);
	}
	if (!a->listed && a->general < DEP_ARGS) {
		static const uint8_t gprs[] = {VALUE_RDI, VALUE_RSI, VALUE_RDX, VALUE_RCX, 8, 9};
		a->p->regs |= 1u << a->general;
		rely_on(a, value_quality(a->b->machine, (uint64_t)1 << gprs[a->general]));
		return a->p->args[a->general++];
	}
	return from_stack(a, 8);
}

/* The next double. */
static double next_real(struct arguments *a)
{
	enum { SAVED_END = 176, VECTORS = 8 };
	uint64_t bits;
	double value;
	if (a->listed && a->area.fp < SAVED_END) {
		a->area.fp += 16;
		bits = from_memory(a, a->area.saved + a->area.fp - 16, 8);
	} else if (!a->listed && a->vector < VECTORS) {
		memcpy(&bits, value_machine_state(a->b->machine)->vec[a->vector], sizeof(bits));
		rely_on(a,
			value_quality(a->b->machine, (uint64_t)1 << (VALUE_BIT_VEC + a->vector)));
		a->p->regs |= 1u << (8 + a->vector++);
	} else {
		bits = from_stack(a, 8);
	}
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static long double next_long_double(struct arguments *a)
{
	long double value = 0;
	from_stack(a, 16);
	uint8_t quality = VALUE_UNKNOWN;
	value_memory_read(a->b->memory, a->stack - 16, &value, 10, &quality);
	rely_on(a, quality);
	return value;
}

/* The string at @addr, of @max bytes at most. */
static void take_string(struct arguments *a, const struct dep_conversion *how, uint64_t addr,
			uint64_t max)
{
	uint64_t n = 0;
	char c;
	uint8_t quality;
	struct dep_text string = {.known = true};
	while (n < max && !value_memory_read(a->b->memory, addr + n, &c, 1, &quality)) {
		rely_on(a, quality);
		if (!c)
			break;
		dep_render_plain(&string, &c, 1);
		n++;
	}
	dep_note_reads(a->b, &a->p->reads, addr, n);
	dep_render_plain(&string, "", 1);
	if (string.known)
		dep_render_string(&a->p->text, how, string.at);
	a->p->text.known &= string.known;
	free(string.at);
}

/* A number of a format, or the argument that stands for it. */
static int number(struct arguments *a, const char **at)
{
	if (**at == '*') {
		++*at;
		return (int)next_general(a);
	}
	return (int)strtol(*at, (char **)at, 10);
}

/* Flags, width, precision and length: @at is behind the '%'. Returns where the kind is. */
static const char *read_conversion(struct arguments *a, const char *at, struct dep_conversion *out)
{
	size_t flags = strspn(at, "-+ #0'I");
	*out = (struct dep_conversion){.precision = -1};
	a->p->text.known &= flags < sizeof(out->flags) && !memchr(at, 'I', flags);
	if (a->p->text.known)
		memcpy(out->flags, at, flags);
	at += flags;
	out->width = *at == '*' || (*at >= '1' && *at <= '9') ? number(a, &at) : 0;
	if (*at == '.') {
		at++;
		out->precision = number(a, &at);
	}
	for (; *at && strchr("hlqjztL", *at); at++)
		out->length = *at == 'h'   ? (out->length == 'h' ? 'H' : 'h')
			      : *at == 'L' ? 'L'
					   : 'l';
	out->kind = *at;
	a->p->text.known &= dep_conversion_is_small(out);
	return at;
}

/* One conversion: @at is behind its '%'. Returns where it ends. */
static const char *convert(struct arguments *a, const char *at)
{
	struct dep_conversion c;
	struct dep_text *text = &a->p->text;
	at = read_conversion(a, at, &c);
	if (!c.kind)
		return at;
	if (c.kind == 's')
		take_string(a, &c, next_general(a),
			    c.precision < 0 || c.precision > TEXT_MAX ? TEXT_MAX : c.precision);
	else if (strchr("diouxXcCpSn", c.kind))
		dep_render_integer(text, &c, next_general(a));
	else if (strchr("eEfFgGaA", c.kind))
		dep_render_real(text, &c, c.length == 'L' ? next_long_double(a) : next_real(a));
	else
		text->known = false;
	return at + 1;
}

/* Where the arguments behind the format are, and in @text the format; false where that is not
 * known. */
static bool begin(struct arguments *a, char *text, unsigned format, int list)
{
	enum { STACK_ARGS = 8 }; /* above the return address */
	struct dep_pending *p = a->p;
	size_t n = 0;
	a->general = format + 1;
	a->stack = p->sp + STACK_ARGS;
	while (n + 1 < FORMAT_MAX &&
	       !value_memory_read(a->b->memory, p->args[format] + n, &text[n], 1, NULL) && text[n])
		n++;
	text[n] = 0;
	dep_note_reads(a->b, &p->reads, p->args[format], n);
	if (list < 0 || list >= DEP_ARGS)
		return true;
	a->listed = true;
	if (value_memory_read(a->b->memory, p->args[list], &a->area, sizeof(a->area), NULL)) {
		p->known = false;
		return false;
	}
	a->stack = a->area.overflow;
	return true;
}

void dep_format_reads(struct dep_build *b, struct dep_pending *p, unsigned format, int list)
{
	char text[FORMAT_MAX];
	struct arguments a = {.b = b, .p = p};
	if (!begin(&a, text, format, list))
		return;
	p->text.known = true;
	for (const char *at = text; *at;) {
		size_t plain = strcspn(at, "%");
		dep_render_plain(&p->text, at, plain);
		at += plain;
		if (at[0] == '%' && at[1] == '%') {
			dep_render_plain(&p->text, at, 1);
			at += 2;
		} else if (*at) {
			at = convert(&a, at + 1);
		}
	}
}

/* Behind "[...]" of scanf(): a "]" that is the first character is one of the set. */
static const char *behind_set(const char *at)
{
	at += *at == '^';
	at += *at == ']';
	at += strcspn(at, "]");
	return *at ? at + 1 : at;
}

/* How many bytes a number takes, by the modifiers before it. */
static uint32_t number_bytes(char modifier, unsigned times, bool real)
{
	switch (modifier) {
	case 'h':
		return times > 1 ? 1 : 2;
	case 'l':
	case 'j':
	case 'z':
	case 't':
		return 8;
	case 'q':
	case 'L':
		return real ? 16 : 8;
	default:
		return 4;
	}
}

/* One conversion of scanf(): @at is behind its '%'. Returns where it ends. */
static const char *scan(struct arguments *a, const char *at)
{
	char *end;
	bool kept = *at != '*', given = false;
	unsigned long width = strtoul(at + !kept, &end, 10);
	char modifier = 0;
	unsigned times = 0;
	for (at = end; *at && strchr("hlqjztLm'I", *at); at++) {
		given |=
			*at == 'm'; /* the string is in memory of its own, the pointer is written */
		if (*at == modifier || !modifier)
			times++;
		modifier = *at;
	}
	char kind = *at;
	if (!kind)
		return at;
	at = kind == '[' ? behind_set(at + 1) : at + 1;
	if (!kept || kind == '%')
		return at;
	struct dep_range r = {.addr = next_general(a), .counted = kind != 'n'};
	if (given || kind == 'p')
		r.len = 8;
	else if (kind == 'c')
		r.len = width ? (uint32_t)width : 1;
	else if (kind != 's' && kind != '[')
		r.len = number_bytes(modifier, times, strchr("aAeEfFgG", kind));
	if (a->p->n_scanned < DEP_SCANNED)
		a->p->scanned[a->p->n_scanned++] = r;
	else
		a->p->known = false;
	return at;
}

void dep_format_scans(struct dep_build *b, struct dep_pending *p, unsigned format, int list)
{
	char text[FORMAT_MAX];
	struct arguments a = {.b = b, .p = p};
	if (!begin(&a, text, format, list))
		return;
	for (const char *at = text; (at = strchr(at, '%'));)
		at = scan(&a, at + 1);
}
