// SPDX-License-Identifier: LGPL-2.1-or-later
/* model_numbers.c: each with this machine's function of the same name. */
#include "offline/replay/models/model_numbers.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdlib.h>

void model_abs(struct guest *g, struct model_value *out)
{
	int32_t v = (int32_t)g->arg[0];

	out->word = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
}

void model_labs(struct guest *g, struct model_value *out)
{
	int64_t v = (int64_t)g->arg[0];

	out->word = v < 0 ? 0ull - (uint64_t)v : (uint64_t)v;
}

void model_htons(struct guest *g, struct model_value *out)
{
	out->word = htons((uint16_t)g->arg[0]);
}

void model_htonl(struct guest *g, struct model_value *out)
{
	out->word = htonl((uint32_t)g->arg[0]);
}

void model_ldexp(struct guest *g, struct model_value *out)
{
	out->real = ldexp(guest_double(g, 0), (int)g->arg[0]);
}

void model_frexp(struct guest *g, struct model_value *out)
{
	int exponent = 0;

	out->real = frexp(guest_double(g, 0), &exponent);
	guest_write(g, g->arg[0], &exponent, sizeof(exponent));
}

void model_modf(struct guest *g, struct model_value *out)
{
	double whole = 0;

	out->real = modf(guest_double(g, 0), &whole);
	guest_write(g, g->arg[0], &whole, sizeof(whole));
}

void model_strtod(struct guest *g, struct model_value *out)
{
	const char *s = guest_string(g, g->arg[0], UINT64_MAX);
	char *end = NULL;

	if (!s)
		return;
	out->real = strtod(s, &end);
	uint64_t at = guest_found(g->arg[0], s, end);
	if (g->arg[1])
		guest_write(g, g->arg[1], &at, sizeof(at));
}

void model_atof(struct guest *g, struct model_value *out)
{
	g->arg[1] = 0;
	model_strtod(g, out);
}

void model_lround(struct guest *g, struct model_value *out)
{
	out->word = (uint64_t)lround(guest_double(g, 0));
}

void model_lrint(struct guest *g, struct model_value *out)
{
	out->word = (uint64_t)lrint(guest_double(g, 0));
}
