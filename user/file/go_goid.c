// SPDX-License-Identifier: LGPL-2.1-or-later
/* go_goid.c: see go_goid.h. DWARF is read in a sandbox, and only of programs whose version does not
 * say it. */
#include "user/file/go_goid.h"

#include "user/file/debug_files.h"
#include "user/file/go_version.h"
#include "user/sandbox/sandbox.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <string.h>

/* Of all units together: siblings of a damaged file may lead round, in each of them. */
enum { G_BYTES_MAX = 4096, CHILDREN_MAX = 1 << 22 };

/* The child of @die that has that tag and name. False: it has none, or it is not among the *@left
 * that may be looked at, which become fewer. */
static bool find_child(Dwarf_Die *die, int tag, const char *name, uint32_t *left, Dwarf_Die *found)
{
	if (dwarf_child(die, found))
		return false;
	for (; *left; --*left) {
		const char *its = dwarf_tag(found) == tag ? dwarf_diename(found) : NULL;
		if (its && !strcmp(its, name))
			return true;
		if (dwarf_siblingof(found, found))
			return false;
	}
	return false;
}

static int find_inside(void *ctx, FILE *out, struct pugmark_diag *diag)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = debug_files_find,
		.section_address = dwfl_offline_section_address,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module = dwfl ? debug_files_report(dwfl, ctx) : NULL;
	Dwarf_Addr bias = 0;
	uint32_t left = CHILDREN_MAX;
	bool found = false;
	(void)diag;
	if (module)
		dwfl_report_end(dwfl, NULL, NULL);
	for (Dwarf_Die *cu = NULL;
	     module && !found && left && (cu = dwfl_module_nextcu(module, cu, &bias));) {
		Dwarf_Die g, goid;
		Dwarf_Attribute attr;
		Dwarf_Word at;
		found = find_child(cu, DW_TAG_structure_type, "runtime.g", &left, &g) &&
			find_child(&g, DW_TAG_member, "goid", &left, &goid) &&
			dwarf_attr(&goid, DW_AT_data_member_location, &attr) &&
			!dwarf_formudata(&attr, &at);
		if (found)
			fprintf(out, "%llu", (unsigned long long)at);
	}
	if (dwfl)
		dwfl_end(dwfl);
	return 0;
}

static uint32_t by_dwarf(const char *path)
{
	struct sandbox sandbox = {.subject = path, .grants = &path, .n_grants = 1};
	struct pugmark_diag diag;
	char text[16] = "";
	void *bytes = NULL;
	size_t len = 0;
	if (sandbox_or_here(&sandbox, find_inside, (void *)path, &bytes, &len, &diag))
		return 0;
	if (len && len < sizeof(text))
		memcpy(text, bytes, len);
	free(bytes);
	unsigned long at = strtoul(text, NULL, 10);
	/* Before it are the stack's bounds, and right before it the state of the goroutine. */
	return at >= 24 && at < G_BYTES_MAX && at % 8 == 0 ? (uint32_t)at : 0;
}

uint32_t go_goid_at(const char *path)
{
	uint32_t at;
	if (!go_version_read(path, &at))
		return 0;
	return at ? at : by_dwarf(path);
}
