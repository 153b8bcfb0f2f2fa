// SPDX-License-Identifier: LGPL-2.1-or-later
/* models.c: a row a function: what of its arguments it looks at, and what it does. Where a function
 * of the machine that reads does the work, its result is taken as it is. */
#include "offline/replay/models/models.h"

#include "offline/replay/models/model_guest.h"
#include "offline/replay/models/model_numbers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the result of a function is. */
enum model_result {
	RESULT_INT,    /* eax, the upper half is zero */
	RESULT_WORD,   /* rax */
	RESULT_DOUBLE, /* xmm0 */
	RESULT_NONE,   /* a function without one */
};

struct model {
	const char *name;
	uint8_t looks_at; /* arguments in general registers, a bit each */
	uint8_t result;	  /* enum model_result */
	void (*run)(struct guest *g, struct model_value *out);
	double (*one)(double);	       /* of xmm0 */
	double (*two)(double, double); /* of xmm0, xmm1 */
};

/* --- memory ------------------------------------------------------------------------------------
 */

static void run_memcpy(struct guest *g, struct model_value *out)
{
	guest_copy(g, g->arg[0], g->arg[1], g->arg[2]);
	out->word = g->arg[0];
}

static void run_mempcpy(struct guest *g, struct model_value *out)
{
	run_memcpy(g, out);
	out->word += g->arg[2];
}

static void run_memset(struct guest *g, struct model_value *out)
{
	guest_fill(g, g->arg[0], (uint8_t)g->arg[1], g->arg[2]);
	out->word = g->arg[0];
}

static void run_bzero(struct guest *g, struct model_value *out)
{
	guest_fill(g, g->arg[0], 0, g->arg[1]);
	out->word = g->arg[0];
}

/* Of the first two bytes that are not the same, as every glibc for this processor has it. */
static uint32_t difference(const uint8_t *a, const uint8_t *b, uint64_t len, bool strings)
{
	for (uint64_t i = 0; i < len; i++)
		if (a[i] != b[i])
			return (uint32_t)(a[i] - b[i]);
		else if (strings && !a[i])
			return 0;
	return 0;
}

static void run_memcmp(struct guest *g, struct model_value *out)
{
	const uint8_t *a = guest_bytes(g, g->arg[0], g->arg[2]);
	const uint8_t *b = guest_bytes(g, g->arg[1], g->arg[2]);

	out->word = a && b ? difference(a, b, g->arg[2], false) : 0;
}

static void run_memchr(struct guest *g, struct model_value *out)
{
	uint64_t addr = g->arg[0], left = g->arg[2];
	uint8_t bytes[VALUE_PAGE], quality;

	/* It may look at less than it is told: up to where it finds something. */
	while (left && !g->err) {
		uint64_t n = VALUE_PAGE - addr % VALUE_PAGE;

		n = n < left ? n : left;
		g->err = value_memory_read(g->memory, addr, bytes, n, NULL);
		const uint8_t *at = g->err ? NULL : memchr(bytes, (uint8_t)g->arg[1], n);
		uint64_t used = at ? (uint64_t)(at - bytes) + 1 : n;
		if (!g->err)
			g->err = value_memory_read(g->memory, addr, bytes, used, &quality);
		if (!g->err && quality > g->quality)
			g->quality = quality;
		if (at) {
			out->word = addr + used - 1;
			break;
		}
		addr += n;
		left -= n;
	}
	if (g->quality == VALUE_UNKNOWN)
		g->err = -ENOSYS;
}

static void run_rawmemchr(struct guest *g, struct model_value *out)
{
	g->arg[2] = GUEST_MAX_BYTES;
	run_memchr(g, out);
}

static void run_memrchr(struct guest *g, struct model_value *out)
{
	const uint8_t *a = guest_bytes(g, g->arg[0], g->arg[2]);

	if (a)
		out->word = guest_found(g->arg[0], a, memrchr(a, (int)g->arg[1], g->arg[2]));
}

/* Blocks that are given back belong to the library: it may keep two words of its own in front. */
static void run_free(struct guest *g, struct model_value *out)
{
	(void)out;
	if (g->arg[0] &&
	    value_memory_limit_quality(g->memory, g->arg[0], 16, VALUE_ASSUMED) == -ENOMEM)
		g->err = -ENOMEM;
}

/* --- strings -----------------------------------------------------------------------------------
 */

static void run_strlen(struct guest *g, struct model_value *out)
{
	const char *s = guest_string(g, g->arg[0], UINT64_MAX);

	out->word = s ? strlen(s) : 0;
}

static void run_strnlen(struct guest *g, struct model_value *out)
{
	const char *s = guest_string(g, g->arg[0], g->arg[1]);

	out->word = s ? strnlen(s, g->arg[1]) : 0;
}

/* Of characters of four bytes: how many there are before one that is 0, at most @max. What lies
 * behind is not looked at. */
static uint64_t wide_length(struct guest *g, uint64_t max)
{
	uint64_t n = 0;
	uint32_t c = 1;

	for (; !g->err && n < max; n++) {
		g->err = n < GUEST_MAX_BYTES / sizeof(c)
				 ? value_memory_read(g->memory, g->arg[0] + n * sizeof(c), &c,
						     sizeof(c), NULL)
				 : -ENOSYS;
		if (g->err || !c)
			break;
	}
	guest_bytes(g, g->arg[0], (n < max ? n + 1 : n) * sizeof(c));
	return g->err ? 0 : n;
}

static void run_wcslen(struct guest *g, struct model_value *out)
{
	out->word = wide_length(g, UINT64_MAX);
}

static void run_wcsnlen(struct guest *g, struct model_value *out)
{
	out->word = wide_length(g, g->arg[1]);
}

static void run_strcmp(struct guest *g, struct model_value *out)
{
	const char *a = guest_string(g, g->arg[0], UINT64_MAX);
	const char *b = guest_string(g, g->arg[1], UINT64_MAX);

	out->word =
		a && b ? difference((const uint8_t *)a, (const uint8_t *)b, UINT64_MAX, true) : 0;
}

static void run_strncmp(struct guest *g, struct model_value *out)
{
	const char *a = guest_string(g, g->arg[0], g->arg[2]);
	const char *b = guest_string(g, g->arg[1], g->arg[2]);

	out->word =
		a && b ? difference((const uint8_t *)a, (const uint8_t *)b, g->arg[2], true) : 0;
}

#define FINDS(name, call)                                                                          \
	static void run_##name(struct guest *g, struct model_value *out)                           \
	{                                                                                          \
		char *s = guest_string(g, g->arg[0], UINT64_MAX);                                  \
                                                                                                   \
		if (s)                                                                             \
			out->word = guest_found(g->arg[0], s, call);                               \
	}
FINDS(strchr, strchr(s, (int)g->arg[1]))
FINDS(strrchr, strrchr(s, (int)g->arg[1]))
FINDS(strchrnul, strchrnul(s, (int)g->arg[1]))
#undef FINDS

#define BOTH(name, value)                                                                          \
	static void run_##name(struct guest *g, struct model_value *out)                           \
	{                                                                                          \
		const char *s = guest_string(g, g->arg[0], UINT64_MAX);                            \
		const char *t = guest_string(g, g->arg[1], UINT64_MAX);                            \
                                                                                                   \
		if (s && t)                                                                        \
			out->word = value;                                                         \
	}
BOTH(strstr, guest_found(g->arg[0], s, strstr(s, t)))
BOTH(strpbrk, guest_found(g->arg[0], s, strpbrk(s, t)))
BOTH(strspn, strspn(s, t))
BOTH(strcspn, strcspn(s, t))
#undef BOTH

/* Copies at most @max bytes of the string at the second argument to @to, and a zero byte. Returns
 * how many there were. */
static uint64_t copy_string(struct guest *g, uint64_t to, uint64_t max, bool ends)
{
	const char *s = guest_string(g, g->arg[1], max);
	uint64_t len = s ? strnlen(s, max) : 0;

	if (s)
		guest_copy(g, to, g->arg[1], len);
	if (s && ends)
		guest_fill(g, to + len, 0, 1);
	return len;
}

static void run_strcpy(struct guest *g, struct model_value *out)
{
	copy_string(g, g->arg[0], UINT64_MAX, true);
	out->word = g->arg[0];
}

static void run_stpcpy(struct guest *g, struct model_value *out)
{
	out->word = g->arg[0] + copy_string(g, g->arg[0], UINT64_MAX, true);
}

static void run_strncpy(struct guest *g, struct model_value *out)
{
	uint64_t len = copy_string(g, g->arg[0], g->arg[2], false);

	guest_fill(g, g->arg[0] + len, 0, g->arg[2] - len);
	out->word = g->arg[0];
}

static void run_strcat(struct guest *g, struct model_value *out)
{
	const char *s = guest_string(g, g->arg[0], UINT64_MAX);

	if (s)
		copy_string(g, g->arg[0] + strlen(s), UINT64_MAX, true);
	out->word = g->arg[0];
}

static void run_strncat(struct guest *g, struct model_value *out)
{
	const char *s = guest_string(g, g->arg[0], UINT64_MAX);

	if (s)
		copy_string(g, g->arg[0] + strlen(s), g->arg[2], true);
	out->word = g->arg[0];
}

/* By name. */
static const struct model models[] = {
	{"_ZdaPv", 1, RESULT_NONE, run_free, 0, 0},
	{"_ZdaPvm", 1, RESULT_NONE, run_free, 0, 0},
	{"_ZdlPv", 1, RESULT_NONE, run_free, 0, 0},
	{"_ZdlPvm", 1, RESULT_NONE, run_free, 0, 0},
	{"__memcpy_chk", 7, RESULT_WORD, run_memcpy, 0, 0},
	{"__memmove_chk", 7, RESULT_WORD, run_memcpy, 0, 0},
	{"__mempcpy_chk", 7, RESULT_WORD, run_mempcpy, 0, 0},
	{"__memset_chk", 7, RESULT_WORD, run_memset, 0, 0},
	{"__stpcpy_chk", 3, RESULT_WORD, run_stpcpy, 0, 0},
	{"__strcat_chk", 3, RESULT_WORD, run_strcat, 0, 0},
	{"__strcpy_chk", 3, RESULT_WORD, run_strcpy, 0, 0},
	{"__strncat_chk", 7, RESULT_WORD, run_strncat, 0, 0},
	{"__strncpy_chk", 7, RESULT_WORD, run_strncpy, 0, 0},
	{"abs", 1, RESULT_INT, model_abs, 0, 0},
	{"acos", 0, RESULT_DOUBLE, 0, acos, 0},
	{"asin", 0, RESULT_DOUBLE, 0, asin, 0},
	{"atan", 0, RESULT_DOUBLE, 0, atan, 0},
	{"atan2", 0, RESULT_DOUBLE, 0, 0, atan2},
	{"atof", 1, RESULT_DOUBLE, model_atof, 0, 0},
	{"bcmp", 7, RESULT_INT, run_memcmp, 0, 0},
	{"bzero", 3, RESULT_WORD, run_bzero, 0, 0},
	{"cbrt", 0, RESULT_DOUBLE, 0, cbrt, 0},
	{"ceil", 0, RESULT_DOUBLE, 0, ceil, 0},
	{"cfree", 1, RESULT_NONE, run_free, 0, 0},
	{"cos", 0, RESULT_DOUBLE, 0, cos, 0},
	{"cosh", 0, RESULT_DOUBLE, 0, cosh, 0},
	{"exp", 0, RESULT_DOUBLE, 0, exp, 0},
	{"exp2", 0, RESULT_DOUBLE, 0, exp2, 0},
	{"explicit_bzero", 3, RESULT_WORD, run_bzero, 0, 0},
	{"expm1", 0, RESULT_DOUBLE, 0, expm1, 0},
	{"fabs", 0, RESULT_DOUBLE, 0, fabs, 0},
	{"floor", 0, RESULT_DOUBLE, 0, floor, 0},
	{"fmax", 0, RESULT_DOUBLE, 0, 0, fmax},
	{"fmin", 0, RESULT_DOUBLE, 0, 0, fmin},
	{"fmod", 0, RESULT_DOUBLE, 0, 0, fmod},
	{"free", 1, RESULT_NONE, run_free, 0, 0},
	{"frexp", 1, RESULT_DOUBLE, model_frexp, 0, 0},
	{"htonl", 1, RESULT_INT, model_htonl, 0, 0},
	{"htons", 1, RESULT_INT, model_htons, 0, 0},
	{"hypot", 0, RESULT_DOUBLE, 0, 0, hypot},
	{"labs", 1, RESULT_WORD, model_labs, 0, 0},
	{"ldexp", 1, RESULT_DOUBLE, model_ldexp, 0, 0},
	{"llround", 0, RESULT_WORD, model_lround, 0, 0},
	{"log", 0, RESULT_DOUBLE, 0, log, 0},
	{"log10", 0, RESULT_DOUBLE, 0, log10, 0},
	{"log1p", 0, RESULT_DOUBLE, 0, log1p, 0},
	{"log2", 0, RESULT_DOUBLE, 0, log2, 0},
	{"lrint", 0, RESULT_WORD, model_lrint, 0, 0},
	{"lround", 0, RESULT_WORD, model_lround, 0, 0},
	{"memchr", 7, RESULT_WORD, run_memchr, 0, 0},
	{"memcmp", 7, RESULT_INT, run_memcmp, 0, 0},
	{"memcpy", 7, RESULT_WORD, run_memcpy, 0, 0},
	{"memmove", 7, RESULT_WORD, run_memcpy, 0, 0},
	{"mempcpy", 7, RESULT_WORD, run_mempcpy, 0, 0},
	{"memrchr", 7, RESULT_WORD, run_memrchr, 0, 0},
	{"memset", 7, RESULT_WORD, run_memset, 0, 0},
	{"modf", 1, RESULT_DOUBLE, model_modf, 0, 0},
	{"nearbyint", 0, RESULT_DOUBLE, 0, nearbyint, 0},
	{"ntohl", 1, RESULT_INT, model_htonl, 0, 0},
	{"ntohs", 1, RESULT_INT, model_htons, 0, 0},
	{"pow", 0, RESULT_DOUBLE, 0, 0, pow},
	{"rawmemchr", 3, RESULT_WORD, run_rawmemchr, 0, 0},
	{"remainder", 0, RESULT_DOUBLE, 0, 0, remainder},
	{"rint", 0, RESULT_DOUBLE, 0, rint, 0},
	{"round", 0, RESULT_DOUBLE, 0, round, 0},
	{"scalbn", 1, RESULT_DOUBLE, model_ldexp, 0, 0},
	{"sin", 0, RESULT_DOUBLE, 0, sin, 0},
	{"sinh", 0, RESULT_DOUBLE, 0, sinh, 0},
	{"sqrt", 0, RESULT_DOUBLE, 0, sqrt, 0},
	{"stpcpy", 3, RESULT_WORD, run_stpcpy, 0, 0},
	{"strcat", 3, RESULT_WORD, run_strcat, 0, 0},
	{"strchr", 3, RESULT_WORD, run_strchr, 0, 0},
	{"strchrnul", 3, RESULT_WORD, run_strchrnul, 0, 0},
	{"strcmp", 3, RESULT_INT, run_strcmp, 0, 0},
	{"strcpy", 3, RESULT_WORD, run_strcpy, 0, 0},
	{"strcspn", 3, RESULT_WORD, run_strcspn, 0, 0},
	{"strlen", 1, RESULT_WORD, run_strlen, 0, 0},
	{"strncat", 7, RESULT_WORD, run_strncat, 0, 0},
	{"strncmp", 7, RESULT_INT, run_strncmp, 0, 0},
	{"strncpy", 7, RESULT_WORD, run_strncpy, 0, 0},
	{"strnlen", 3, RESULT_WORD, run_strnlen, 0, 0},
	{"strpbrk", 3, RESULT_WORD, run_strpbrk, 0, 0},
	{"strrchr", 3, RESULT_WORD, run_strrchr, 0, 0},
	{"strspn", 3, RESULT_WORD, run_strspn, 0, 0},
	{"strstr", 3, RESULT_WORD, run_strstr, 0, 0},
	{"strtod", 3, RESULT_DOUBLE, model_strtod, 0, 0},
	{"tan", 0, RESULT_DOUBLE, 0, tan, 0},
	{"tanh", 0, RESULT_DOUBLE, 0, tanh, 0},
	{"trunc", 0, RESULT_DOUBLE, 0, trunc, 0},
	{"wcslen", 1, RESULT_WORD, run_wcslen, 0, 0},
	{"wcsnlen", 3, RESULT_WORD, run_wcsnlen, 0, 0},
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct model *)a)->name, ((const struct model *)b)->name);
}

static const struct model *find_model(const char *name)
{
	const struct model key = {.name = name};

	return bsearch(&key, models, sizeof(models) / sizeof(*models), sizeof(*models), by_name);
}

const char *import_model_by_standard(const char *name)
{
	const struct model *m = find_model(name);
	bool is = m && m->run && m->result != RESULT_DOUBLE && m->run != run_free &&
		  m->run != model_lround && m->run != model_lrint;

	return is ? m->name : NULL;
}

/* Whether IEEE 754 says each bit of the result. */
static bool is_rounded_exactly(const struct model *m)
{
	static double (*const one[])(double) = {ceil, floor,	 trunc, round,
						rint, nearbyint, sqrt,	fabs};
	static double (*const two[])(double, double) = {fmin, fmax, fmod, remainder};

	for (unsigned i = 0; i < sizeof(one) / sizeof(*one); i++)
		if (m->one == one[i])
			return true;
	for (unsigned i = 0; i < sizeof(two) / sizeof(*two); i++)
		if (m->two == two[i])
			return true;
	return m->run == model_ldexp || m->run == model_frexp || m->run == model_modf;
}

void import_clobber(struct value_machine *m)
{
	uint64_t general = 0x0fc7; /* rax, rcx, rdx, rsi, rdi, r8 to r11 */

	value_forget(m,
		     general | 0xffffull << VALUE_BIT_VEC | 0xffffull << VALUE_BIT_HIGH |
			     1ull << VALUE_BIT_WIDE | 1ull << VALUE_BIT_FLAGS,
		     VALUE_UNKNOWN);
}

/* The upper part of xmm0 is what the function has left there. */
static void set_double(struct value_machine *m, double v, uint8_t quality)
{
	struct value_known *known = value_machine_known(m);
	uint8_t bytes[32] = {0};

	memcpy(bytes, &v, sizeof(v));
	value_set_vec(m, 0, bytes, quality);
	known->inexact |= 1ull << VALUE_BIT_VEC | 1ull << VALUE_BIT_HIGH;
	memset(known->vec[0], quality, 8);
	memset(known->vec[0] + 8, VALUE_UNKNOWN, 24);
}

int import_model(const char *name, struct value_machine *m)
{
	const struct model *model = find_model(name);
	struct model_value v = {0};
	struct guest g;

	if (!model)
		return -ENOSYS;
	guest_init(&g, m);
	guest_look(&g, model->looks_at);
	if (model->one)
		v.real = model->one(guest_double(&g, 0));
	else if (model->two)
		v.real = model->two(guest_double(&g, 0), guest_double(&g, 1));
	else if (!g.err)
		model->run(&g, &v);
	guest_deinit(&g);
	if (g.err)
		return g.err;
	if (model->result == RESULT_DOUBLE && !is_rounded_exactly(model) && !g.quality)
		g.quality = VALUE_ASSUMED;
	import_clobber(m);
	if (model->result == RESULT_DOUBLE)
		set_double(m, v.real, g.quality);
	else if (model->result != RESULT_NONE)
		value_set_gpr(m, VALUE_RAX, model->result == RESULT_INT ? (uint32_t)v.word : v.word,
			      g.quality);
	return 0;
}
