/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cfg_print.h: the ways in which `pugmark cfg` writes a model. */
#ifndef USER_CFG_PRINT_H
#define USER_CFG_PRINT_H

#include <stdio.h>

#include <pugmark/model.h>

/* The whole module, one item a line; docs/model.md describes the format. */
void cfg_export(const struct pugmark_model *model, FILE *out);

#endif
