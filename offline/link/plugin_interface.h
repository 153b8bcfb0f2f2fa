/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plugin_interface.h: whether a program that loads libraries at run time (dlopen) is made to be
 * called by them: an interpreter and its extensions, a server and its modules. Which of them it
 * will load is not known before it runs. */
#ifndef OFFLINE_PLUGIN_INTERFACE_H
#define OFFLINE_PLUGIN_INTERFACE_H

#include <pugmark/model.h>

#include <stdbool.h>

/* *@asks: plugin_interface_find() would look into modules, if there were any. Without a list of
 * them, which takes longer than this. Returns 0 or -errno with @diag filled. */
int plugin_interface_asks(const struct pugmark_model *model, const uint8_t *entered, bool *asks,
			  struct pugmark_diag *diag);

/* Looks for the first of the files @modules that is made for @model: it calls, by name, an exported
 * function of @model which is not in @entered (one byte a function), all else that it imports is
 * in @model or in what the two are linked with, and the name of its folder is in @model's data.
 * None is found where neither @model nor what it is linked with loads libraries. What is no
 * ELF file, or has symbols that cannot be read, is made for nobody. Returns 0 and in *@at its
 * index, @n if there is none; or -errno with
 * @diag filled. */
int plugin_interface_find(const struct pugmark_model *model, const uint8_t *entered,
			  char *const *modules, uint32_t n, uint32_t *at,
			  struct pugmark_diag *diag);

#endif
