// SPDX-License-Identifier: LGPL-2.1-or-later
/* value_names.c: functions by the plans that the recording holds, lines and variables by the files
 * that were traced, if they are still there with the same build id. */
#include "user/values/names/value_names.h"

#include "offline/base/demangle.h"
#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "offline/elf/private_elf.h"
#include "offline/plan/plan_file.h"
#include "user/cli/printable.h"
#include "user/file/build_id.h"
#include "user/file/dwarf_lines.h"
#include "user/values/names/value_lines.h"
#include "user/values/dwarf/thread_block.h"

#include <errno.h>
#include <gelf.h>
#include <pugmark/plan.h>
#include <pugmark/recording.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum is_recorded { IS_NOT_ASKED, IS_RECORDED, IS_GONE, IS_ANOTHER, IS_NOT_TOLD };

struct value_names {
	struct pugmark_recording *rec;
	const struct captures *captures;
	const struct pugmark_recording_module *modules;
	struct pugmark_plan **plans; /* one a module; NULL: none */
	char ***plain; /* by module and function: its name without parameters, where it
			* is mangled and was asked for */
	struct value_vars **vars;
	struct dwarf_lines **lines;
	bool *asked, *asked_lines; /* for vars, for lines */
	uint8_t *is;		   /* enum is_recorded of its file; 0: not looked at yet */
	uint32_t untold; /* where what was looked for last is inlined without a told entry */
	uint32_t n;
};

int value_names_open(const char *dir, const struct captures *captures, struct value_names **out,
		     struct pugmark_diag *diag)
{
	struct value_names *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->captures = captures;
	int err = pugmark_recording_open(dir, &v->rec, diag);
	if (!err) {
		v->modules = pugmark_recording_modules(v->rec, &v->n);
		v->plans = calloc(v->n + 1, sizeof(*v->plans));
		v->vars = calloc(v->n + 1, sizeof(*v->vars));
		v->asked = calloc(v->n + 1, sizeof(*v->asked));
		v->lines = calloc(v->n + 1, sizeof(struct dwarf_lines *));
		v->asked_lines = calloc(v->n + 1, sizeof(*v->asked_lines));
		v->plain = calloc(v->n + 1, sizeof(*v->plain));
		v->is = calloc(v->n + 1, sizeof(*v->is));
		err = v->plans && v->vars && v->asked && v->lines && v->asked_lines && v->plain &&
				      v->is
			      ? 0
			      : -ENOMEM;
	}
	for (uint32_t m = 0; !err && m < v->n; m++) {
		if (v->modules[m].plan)
			err = plan_open_recorded(v->modules[m].plan, &v->plans[m], diag);
		if (!err && v->plans[m] &&
		    !(v->plain[m] = calloc(v->plans[m]->n_funcs + 1, sizeof(**v->plain))))
			err = -ENOMEM;
	}
	if (err) {
		value_names_free(v);
		return err;
	}
	*out = v;
	return 0;
}

void value_names_free(struct value_names *v)
{
	if (!v)
		return;
	for (uint32_t m = 0; m < v->n; m++) {
		for (uint32_t f = 0; v->plain && v->plain[m] && f < v->plans[m]->n_funcs; f++)
			free(v->plain[m][f]);
		if (v->plain)
			free(v->plain[m]);
		if (v->plans && v->plans[m])
			pugmark_plan_free(v->plans[m]);
		if (v->vars)
			value_vars_free(v->vars[m]);
		if (v->lines)
			dwarf_lines_free(v->lines[m]);
	}
	free(v->lines);
	free(v->asked_lines);
	free(v->plain);
	free(v->plans);
	free(v->vars);
	free(v->asked);
	free(v->is);
	pugmark_recording_free(v->rec);
	free(v);
}

/* The module whose text @addr lies in. */
static bool module_of(const struct value_names *v, uint64_t addr, uint32_t *module, uint64_t *elf)
{
	for (uint32_t m = 0; m < v->n; m++) {
		uint64_t bias;

		if (!captures_bias(v->captures, m, &bias) ||
		    addr - bias < v->modules[m].text_addr || addr - bias >= v->modules[m].text_end)
			continue;
		*module = m;
		*elf = addr - bias;
		return true;
	}
	return false;
}

static const char *plain_name(const struct value_names *v, uint32_t m, uint32_t func)
{
	const char *name = v->plans[m]->strings + v->plans[m]->funcs[func].name;
	char **plain = &v->plain[m][func];

	if (!demangle_is_mangled(name))
		return name;
	if (!*plain)
		*plain = demangle_bare(name);
	return *plain ? *plain : name;
}

const char *value_names_symbol(const struct value_names *v, uint64_t addr)
{
	uint32_t m;
	uint64_t elf;

	if (!module_of(v, addr, &m, &elf) || !v->plans[m])
		return NULL;
	const struct pugmark_plan *plan = v->plans[m];
	uint32_t low = SEARCH_FIRST_NOT(0, plan->n_funcs, i, plan->funcs[i].addr <= elf);
	return low ? plan->strings + plan->funcs[low - 1].name : NULL;
}

const char *value_names_at(const struct value_names *v, uint64_t addr, uint32_t *module,
			   uint64_t *elf)
{
	if (!module_of(v, addr, module, elf) || !v->plans[*module])
		return NULL;
	const struct pugmark_plan *plan = v->plans[*module];
	uint32_t low = SEARCH_FIRST_NOT(0, plan->n_funcs, i, plan->funcs[i].addr <= *elf);
	return low ? plain_name(v, *module, low - 1) : NULL;
}

bool value_names_is_entry(const struct value_names *v, uint64_t addr)
{
	uint32_t module;
	uint64_t elf;

	return module_of(v, addr, &module, &elf) && v->plans[module] &&
	       pugmark_plan_func_at(v->plans[module], elf) != PUGMARK_NONE;
}

/* The captures' number of the file that is mapped at the run-time address @addr at the start. */
static uint32_t file_at(const struct captures *captures, uint64_t addr)
{
	uint32_t n;
	const struct capture_mapping *maps = captures_mappings(captures, &n);

	for (uint32_t i = 0; i < n; i++)
		if (addr >= maps[i].start && addr < maps[i].end)
			return maps[i].file;
	return CAPTURE_NONE;
}

/* Without a build-id the bytes say it that the recording keeps of the file. */
static enum is_recorded compare_file(const struct value_names *v, uint32_t m)
{
	const struct pugmark_recording_module *mod = &v->modules[m];
	struct build_id id = build_id_read(mod->path);
	uint64_t bias;

	if (access(mod->path, F_OK))
		return IS_GONE;
	if (!build_id_is(&id, mod->build_id, mod->build_id_len))
		return IS_ANOTHER;
	if (id.len)
		return IS_RECORDED;
	if (!captures_bias(v->captures, m, &bias))
		return IS_NOT_TOLD;
	int is = captures_file_is(v->captures, file_at(v->captures, bias + mod->text_addr));
	return is < 0 ? IS_NOT_TOLD : is ? IS_RECORDED : IS_ANOTHER;
}

static enum is_recorded is_recorded(const struct value_names *v, uint32_t m)
{
	if (v->is[m] == IS_NOT_ASKED)
		v->is[m] = compare_file(v, m);
	return v->is[m];
}

/* The file of module @m, if it is what was traced. */
static const char *file_of(const struct value_names *v, uint32_t m)
{
	return is_recorded(v, m) == IS_RECORDED ? v->modules[m].path : NULL;
}

const char *value_names_file(const struct value_names *v, uint32_t m)
{
	return m < v->n ? file_of(v, m) : NULL;
}

struct value_damage value_names_damage(const struct value_names *v)
{
	const struct pugmark_recording_info *info = pugmark_recording_info(v->rec);
	uint64_t events = 0;
	uint32_t n;
	const struct pugmark_recording_task *tasks = pugmark_recording_tasks(v->rec, &n);

	for (uint32_t i = 0; i < n; i++)
		events += tasks[i].n_events;
	return (struct value_damage){!captures_ended(v->captures), info->meta_damaged,
				     info->damaged_bytes || events < info->events || !info->closed,
				     !strcmp(info->stopped, "disk")};
}

void value_names_tell_stale(const struct value_names *v)
{
	static const char *const why[] = {
		[IS_GONE] = "it is gone",
		[IS_ANOTHER] = "not the file that was recorded",
		[IS_NOT_TOLD] = "whether it is what was recorded cannot be told, as it has no "
				"build-id and none of its code is kept",
	};

	for (uint32_t m = 0; m < v->n; m++) {
		const char *path = v->modules[m].path;

		if (!v->plans[m] || is_recorded(v, m) == IS_RECORDED)
			continue;
		fputs("pugmark: ", stderr);
		if (*path)
			printable_print(stderr, path, PRINT_TEXT);
		else
			fprintf(stderr, "module %u", m);
		fprintf(stderr, ": %s: no lines, types and variables of it are known\n",
			*path ? why[is_recorded(v, m)] : "which file it is of is not known");
	}
}

void value_names_tell_entries(const struct value_names *v, const char *place)
{
	if (!v->untold)
		return;
	fputs("pugmark: ", stderr);
	printable_print(stderr, place, PRINT_TEXT);
	fprintf(stderr,
		": DWARF does not say where it is entered at %u of the places that it was inlined "
		"at: an instance is when its lowest address is executed, and rounds of a loop that "
		"begin behind that are not told apart\n",
		v->untold);
}

bool value_names_text(const struct value_names *v, uint32_t m, uint64_t *from, uint64_t *to)
{
	if (m >= v->n)
		return false;
	*from = v->modules[m].text_addr;
	*to = v->modules[m].text_end;
	return true;
}

uint32_t value_names_modules(const struct value_names *v)
{
	return v->n;
}

/* Of the function that begins at @addr. */
static const char *entry_name(void *ctx, uint64_t addr)
{
	const struct value_names *v = ctx;
	uint32_t module;
	uint64_t elf;

	return value_names_is_entry(v, addr) ? value_names_at(v, addr, &module, &elf) : NULL;
}

struct value_vars *value_names_vars(struct value_names *v, uint32_t m)
{
	if (m >= v->n)
		return NULL;
	if (!v->asked[m]) {
		const char *path = file_of(v, m);

		v->vars[m] = path ? value_vars_open(path) : NULL;
		v->asked[m] = true;
		if (v->vars[m])
			value_vars_symbols(v->vars[m], (struct value_symbols){entry_name, v});
	}
	return v->vars[m];
}

struct value_vars *value_names_vars_at(struct value_names *v, uint32_t m, uint64_t elf)
{
	struct value_vars *vars = value_names_vars(v, m);
	Dwarf_Die function;

	return vars && value_scopes_function(value_vars_scopes(vars), elf, &function) ? vars : NULL;
}

/* What DWARF says of the lines of module @m, or NULL. */
static const struct dwarf_lines *lines_of(struct value_names *v, uint32_t m)
{
	struct pugmark_diag diag;

	if (!v->asked_lines[m]) {
		const char *path = file_of(v, m);

		if (path && dwarf_lines_open(path, &v->lines[m], &diag))
			v->lines[m] = NULL;
		v->asked_lines[m] = true;
	}
	return v->lines[m];
}

uint32_t value_names_line(struct value_names *v, uint64_t addr, const char **file)
{
	uint32_t m;
	uint64_t elf;

	if (!module_of(v, addr, &m, &elf))
		return 0;
	const struct dwarf_lines *lines = lines_of(v, m);
	const struct source_row *row = lines ? dwarf_lines_row_at(lines, elf) : NULL;
	if (!row || !row->line)
		return 0;
	*file = dwarf_lines_file(lines, row->file);
	return row->line;
}

uint32_t value_names_frames(struct value_names *v, uint64_t addr,
			    struct value_frame out[VALUE_FRAMES])
{
	uint32_t m, n = 0;
	uint64_t elf;

	out[0] = (struct value_frame){0};
	out[0].line = value_names_line(v, addr, &out[0].file);
	const char *function = value_names_at(v, addr, &m, &elf);
	const struct dwarf_lines *lines = function ? lines_of(v, m) : NULL;
	uint32_t at = lines ? dwarf_lines_inline_at(lines, elf) : SOURCE_NONE;
	while (at != SOURCE_NONE && n < VALUE_FRAMES - 1) {
		const struct source_inline *in = &dwarf_lines_inlines(lines)[at];

		out[n++].function = in->name;
		out[n] = (struct value_frame){.line = in->line};
		if (in->line)
			out[n].file = dwarf_lines_file(lines, in->file);
		at = in->parent;
	}
	out[n++].function = function;
	return n;
}

static int add(uint64_t **out, uint32_t *n, uint64_t addr)
{
	uint64_t *more = realloc(*out, (*n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	*out = more;
	more[(*n)++] = addr;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int find_functions(const struct value_names *v, const char *name, uint64_t **out,
			  uint32_t *n)
{
	int err = 0;

	for (uint32_t m = 0; !err && m < v->n; m++) {
		const struct pugmark_plan *plan = v->plans[m];
		uint64_t bias;

		if (!plan || !captures_bias(v->captures, m, &bias))
			continue;
		for (uint32_t f = 0; !err && f < plan->n_funcs; f++)
			if (demangle_means(plan->strings + plan->funcs[f].name, name))
				err = add(out, n, bias + plan->funcs[f].addr);
	}
	return err;
}

struct found_ctx {
	uint64_t **out, bias;
	uint32_t *n;
	uint32_t untold;
};

static int found(void *ctx, uint64_t addr, bool told)
{
	struct found_ctx *c = ctx;

	c->untold += !told;
	return add(c->out, c->n, c->bias + addr);
}

static int find_inlined(struct value_names *v, const char *name, uint64_t **out, uint32_t *n)
{
	int err = 0;

	v->untold = 0;
	for (uint32_t m = 0; !err && m < v->n; m++) {
		struct found_ctx c = {.out = out, .n = n};
		struct value_vars *vars = value_names_vars(v, m);

		if (vars && captures_bias(v->captures, m, &c.bias))
			err = value_vars_inlined(vars, name, found, &c);
		v->untold += c.untold;
	}
	return err;
}

/* Where statements of that line begin, as with gdb; or else its code. */
static int find_line(const struct value_names *v, const char *name, unsigned line, uint64_t **out,
		     uint32_t *n)
{
	int err = 0;

	for (uint32_t m = 0; !err && m < v->n; m++) {
		struct value_line_places places = {0};
		struct pugmark_diag diag;
		struct dwarf_lines *lines;
		const char *path = file_of(v, m);
		uint64_t bias;

		if (!path || !captures_bias(v->captures, m, &bias) ||
		    dwarf_lines_open(path, &lines, &diag))
			continue;
		err = value_line_places(lines, name, line, v->modules[m].text_addr,
					v->modules[m].text_end, &places);
		for (size_t i = 0; !err && i < places.n; i++)
			err = add(out, n, bias + places.at[i]);
		VEC_FREE(&places);
		dwarf_lines_free(lines);
	}
	return err;
}

int value_names_find(struct value_names *v, const char *place, uint64_t **out, uint32_t *n,
		     struct pugmark_diag *diag)
{
	const char *colon = strrchr(place, ':');
	char *end, *file = NULL;
	uint64_t bias;
	int err = 0;

	*out = NULL;
	*n = 0;
	if (!strncmp(place, "0x", 2)) {
		uint64_t addr = strtoull(place, &end, 16);

		if (!*end && captures_bias(v->captures, 0, &bias) && v->n &&
		    addr >= v->modules[0].text_addr && addr < v->modules[0].text_end)
			err = add(out, n, bias + addr);
	} else if (colon && colon[1] >= '0' && colon[1] <= '9') {
		file = strndup(place, colon - place);
		err = file ? find_line(v, file, strtoul(colon + 1, NULL, 10), out, n) : -ENOMEM;
		free(file);
	} else {
		err = find_functions(v, place, out, n);
		err = err ? err : find_inlined(v, place, out, n);
	}
	if (!err && !*n)
		err = pugmark_diag_set(diag, -ENOENT, place, PUGMARK_NO_OFFSET,
				       "no such function, line or address in what was traced (for "
				       "lines the binary must be there, with its DWARF)");
	if (err) {
		free(*out);
		*out = NULL;
		return err;
	}
	qsort(*out, *n, sizeof(**out), by_value);
	return 0;
}

int value_names_entries(struct value_names *v, uint64_t **out, uint32_t *n)
{
	uint64_t bias;
	int err = 0;

	*out = NULL;
	*n = 0;
	for (uint32_t m = 0; m < v->n; m++)
		for (uint32_t i = 0; !err && v->plans[m] && captures_bias(v->captures, m, &bias) &&
				     i < v->plans[m]->n_funcs;
		     i++)
			err = add(out, n, bias + v->plans[m]->funcs[i].addr);
	if (*n)
		qsort(*out, *n, sizeof(**out), by_value);
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

/* In the symbol table of the file at @path. */
static bool find_symbol(const char *path, const char *name, uint64_t *addr, uint64_t *size,
			bool *thread)
{
	private_elf_guard struct private_elf file = {0};
	bool found = false;

	private_elf_open(path, &file);
	Elf *elf = file.elf;
	for (Elf_Scn *scn = NULL; !found && elf && (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr shdr;
		Elf_Data *data = elf_getdata(scn, NULL);
		GElf_Sym sym;

		if (!gelf_getshdr(scn, &shdr) || !data ||
		    (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
			continue;
		for (int i = 0; !found && gelf_getsym(data, i, &sym); i++) {
			const char *s = elf_strptr(elf, shdr.sh_link, sym.st_name);

			found = s && sym.st_shndx != SHN_UNDEF &&
				(GELF_ST_TYPE(sym.st_info) == STT_OBJECT ||
				 GELF_ST_TYPE(sym.st_info) == STT_TLS) &&
				demangle_means(s, name);
			if (found) {
				*thread = GELF_ST_TYPE(sym.st_info) == STT_TLS;
				*addr = sym.st_value;
				*size = sym.st_size;
			}
		}
	}
	return found;
}

bool value_names_bias(const struct value_names *v, uint32_t m, uint64_t *bias)
{
	return captures_bias(v->captures, m, bias);
}

bool value_names_thread_block(const struct value_names *v, uint32_t m, uint64_t *below)
{
	private_elf_guard struct private_elf file = {0};
	const char *path = file_of(v, m);

	if (path)
		private_elf_open(path, &file);
	return value_thread_block(file.elf, below);
}

bool value_names_variable(struct value_names *v, const char *name, uint64_t *addr, uint64_t *size,
			  bool *thread)
{
	for (uint32_t m = 0; m < v->n; m++) {
		const char *path = file_of(v, m);
		uint64_t bias, below;

		if (!path || !captures_bias(v->captures, m, &bias) ||
		    !find_symbol(path, name, addr, size, thread))
			continue;
		if (*thread && !value_names_thread_block(v, m, &below))
			continue;
		*addr += *thread ? 0 - below : bias;
		return true;
	}
	return false;
}
