/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model_numbers.h: models of functions that compute numbers and are not one function of doubles. */
#ifndef OFFLINE_REPLAY_MODELS_MODEL_NUMBERS_H
#define OFFLINE_REPLAY_MODELS_MODEL_NUMBERS_H

#include "offline/replay/models/model_guest.h"

/* A result: of which of the two, the row in models.c says. */
struct model_value {
	uint64_t word;
	double real;
};

void model_abs(struct guest *g, struct model_value *out);
void model_labs(struct guest *g, struct model_value *out);
void model_htons(struct guest *g, struct model_value *out);
void model_htonl(struct guest *g, struct model_value *out);
void model_ldexp(struct guest *g, struct model_value *out);
void model_frexp(struct guest *g, struct model_value *out);
void model_modf(struct guest *g, struct model_value *out);
void model_strtod(struct guest *g, struct model_value *out);
void model_atof(struct guest *g, struct model_value *out);
void model_lround(struct guest *g, struct model_value *out);
void model_lrint(struct guest *g, struct model_value *out);

#endif
