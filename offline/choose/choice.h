/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* choice.h: what marks cost. Private to the choice. */
#ifndef OFFLINE_CHOICE_H
#define OFFLINE_CHOICE_H

#include "offline/choose/choose.h"

/* What the marks of @func cost in a run, in ns, by the estimates. */
double choice_function_cost(const struct program *prog, const uint8_t *marks, uint32_t func);

#endif
