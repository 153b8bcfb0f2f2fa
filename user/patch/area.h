/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* area.h: what one program image is given (offline/patch/layout.h): a region of code near each
 * module, chunks for what its threads write, and the patches that lead there. */
#ifndef USER_PATCH_AREA_H
#define USER_PATCH_AREA_H

#include "offline/patch/emit.h"
#include "offline/patch/layout.h"
#include "user/file/text_span.h"
#include "user/patch/lanes.h"
#include "user/patch/tracee.h"

/* A module as it may be patched in any process. */
struct patch_module {
	const struct pugmark_model *model; /* NULL: is not to be patched */
	const struct pugmark_plan_site *sites;
	struct patch_placing placing;
	uint64_t dev, ino;   /* the file */
	uint32_t first_site; /* over all modules */
	struct text_span span;
	const uint64_t *returns; /* bits of the span, as return_bits_fill() has them */
	uint32_t n_words;
};

struct patch_settings {
	uint32_t n_chunks;
	bool waits;  /* for a chunk, where none is free */
	bool poison; /* tests: registers that are not live do not survive */
};

/* The code near one module. */
struct area_region {
	uint64_t addr;	 /* in the process; 0: the module is not patched */
	uint64_t off_fd; /* in the memfd */
	uint32_t bytes;
	uint64_t bias; /* of the module: run-time address minus ELF address */
	struct patch_code code;
	struct patch_made *made; /* by site of the module */
	bool *patched;
};

struct area {
	pid_t pid;
	uint32_t number; /* among the lanes'; 0: was never patched */
	int fd;
	uint64_t off_chunks;
	uint64_t rings, local, shared; /* in the process */
	struct area_region regions[64];
	uint32_t n_regions; /* as there are modules */
	int32_t *frame_add; /* by site, over all modules */
	uint32_t n_sites, n_patched;
};

/* Gives the stopped process @t what it needs; nothing is patched yet. Returns 0, or -errno with
 * *@why a sentence: what stands against it (-ENODATA: nothing of the modules can be patched). */
int area_new(const struct tracee *t, const struct patch_module *modules, uint32_t n_modules,
	     uint32_t n_sites, const struct patch_settings *settings, struct area **out,
	     const char **why);
/* Writes all patches, or takes them back; no thread may run meanwhile, or be where they are. What
 * is not as it is expected to be in the process is left alone. Returns how many, or -errno. */
int area_write(struct area *area, const struct tracee *t, const struct patch_module *modules);
int area_restore(struct area *area, const struct tracee *t, const struct patch_module *modules);
/* How its records are to be read. */
void area_image(const struct area *area, const struct patch_module *modules,
		struct lanes_image *image);
/* Frees what is here; the process keeps what it has. */
void area_free(struct area *area);

#endif
