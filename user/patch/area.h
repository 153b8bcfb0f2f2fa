/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* area.h: what one program image is given (offline/patch/layout.h): a region of code near each
 * module, chunks for what its threads write, and the patches that lead there. */
#ifndef USER_PATCH_AREA_H
#define USER_PATCH_AREA_H

#include "offline/patch/emit.h"
#include "offline/patch/layout.h"
#include "offline/patch/unwind.h"
#include "user/file/text_span.h"
#include "user/kernel/bindings.h"
#include "user/patch/lanes.h"
#include "user/patch/placing_apart.h"
#include "user/patch/process/tracee.h"

/* A module as it may be patched in any process. */
struct patch_module {
	const struct pugmark_plan_site *sites;
	struct patch_placing placing; /* without places: is not to be patched */
	struct patch_heights heights;
	uint8_t *text;	     /* what the file has in the span */
	uint64_t dev, ino;   /* the file */
	uint32_t first_site; /* over all modules */
	struct text_span span;
	const uint64_t *returns; /* bits of the span, as return_bits_fill() has them */
	uint32_t n_words;
	/* The plan holds where these slots have these functions, and if @by_known_programs, in
	 * processes of a known program alone (user/kernel/bindings.h). */
	struct bindings bound;
};

struct patch_settings {
	struct patch_shared shared; /* as it begins */
	bool poison;		    /* tests: registers that are not live do not survive */
	bool known;		    /* the process runs one of the programs that were planned for */
	/* A folder and its absolute path, for files that debuggers are to find; -1: there are to be
	 * none. */
	int objects_fd;
	const char *objects_path;
};

/* The code near one module. */
struct area_region {
	uint64_t addr;	 /* in the process; 0: the module is not patched */
	uint64_t off_fd; /* in the first memfd */
	uint32_t bytes;
	uint64_t bias; /* of the module: run-time address minus ELF address */
	struct patch_code code;
	struct patch_unwind unwind;
	bool object;			    /* there is a file that tells debuggers of it */
	struct patch_made *made;	    /* by site of the module */
	const struct patch_entry **entries; /* by site as well: its change; NULL: none */
};

struct area {
	pid_t pid;
	uint32_t number;   /* among the lanes'; 0: was never patched */
	int fd, chunks_fd; /* the two memfds */
	uint64_t off_record;
	uint64_t local;		     /* in the process */
	struct patch_record *record; /* of which the first memfd has a copy */
	size_t record_bytes;
	struct area_region regions[64];
	uint32_t n_regions; /* as there are modules */
	int32_t *frame_add; /* by site, over all modules */
	uint32_t n_sites;
};

/* Gives the process @t what it needs; nothing is patched yet. It is stopped; or with @runs its
 * threads are for a moment, for *@stopped_ns. Returns 0, or -errno with *@why a sentence: what
 * stands against it (-ENODATA: nothing of the modules can be patched). */
int area_new(const struct tracee *t, bool runs, const struct patch_module *modules,
	     uint32_t n_modules, uint32_t n_sites, const struct patch_settings *settings,
	     struct area **out, uint64_t *stopped_ns, const char **why);
/* Whether site @i of the region's module is patched, for whoever looks at a moment after that of
 * the record's patched_ns. */
static inline bool area_is_patched(const struct area_region *r, uint32_t i)
{
	return r->entries[i] && r->entries[i]->written;
}
/* How its records are to be read. */
void area_image(const struct area *area, const struct patch_module *modules,
		struct lanes_image *image);
/* Frees what is here; the process keeps what it has. */
void area_free(struct area *area);

#endif
