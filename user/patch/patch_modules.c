// SPDX-License-Identifier: LGPL-2.1-or-later
/* patch_modules.c: see patch_modules.h. */
#include "user/patch/patch_modules.h"

#include "user/kernel/return_bits.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

/* For tests: each second witness, chosen at random from @seed on, stays a probe. */
static void mix(struct patch_placing *placing, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;

	for (uint32_t i = 0; i < placing->n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x >> 20 & 1 || !placing->places[i].form)
			continue;
		placing->places[i].form = PATCH_NONE;
		placing->places[i].reason = PATCH_MIXED;
	}
}

/* One that cannot be patched stays with its probes. */
static int add_module(struct patch_modules *all, const struct recorder_options *options, uint32_t m,
		      const struct text_span *span, const uint64_t *returns,
		      struct pugmark_diag *diag)
{
	const struct recorder_module *module = &options->modules[m];
	struct patch_module *to = &all->at[m];
	struct pugmark_diag unread;
	struct stat st;

	*to = (struct patch_module){
		.sites = module->sites,
		.first_site = all->n_sites,
		.span = *span,
		.returns = returns,
		.n_words = return_bits_words(span),
	};
	all->n_sites += module->n_sites;
	if (!module->plan || bindings_read(module->path, module->plan, span, &to->bound, &unread))
		return 0;
	to->text = text_span_bytes(module->path, span);
	if (stat(module->path, &st) || !to->text)
		return 0;
	int err = patch_placing_apart(module->path, module->plan, module->sites, module->n_sites,
				      span, &to->placing, &to->heights, diag);
	if (err)
		return err == -ENOTSUP ? 0 : err;
	if (options->carrier == CARRIER_MIXED)
		mix(&to->placing, options->carrier_seed + m);
	to->dev = st.st_dev;
	to->ino = st.st_ino;
	return 0;
}

int patch_modules_init(struct patch_modules *all, const struct recorder_options *o,
		       const struct text_span *spans, struct pugmark_diag *diag)
{
	uint64_t n_words = 0;
	int err = 0;

	for (uint32_t m = 0; m < o->n_modules; m++)
		n_words += return_bits_words(&spans[m]);
	all->returns = calloc(n_words + 1, sizeof(*all->returns));
	if (!all->returns)
		return -ENOMEM;
	return_bits_fill(all->returns, o, spans);
	uint64_t *words = all->returns;
	for (uint32_t m = 0; !err && m < o->n_modules && m < PATCH_MODULES_MAX; m++) {
		err = add_module(all, o, m, &spans[m], words, diag);
		words += all->at[m].n_words;
		all->n = m + 1;
	}
	return err;
}

void patch_modules_deinit(struct patch_modules *all)
{
	for (uint32_t m = 0; m < all->n; m++) {
		patch_placing_deinit(&all->at[m].placing);
		patch_heights_deinit(&all->at[m].heights);
		bindings_deinit(&all->at[m].bound);
		free(all->at[m].text);
	}
	free(all->returns);
}
