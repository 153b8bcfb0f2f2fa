// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_cfg.c: `pugmark cfg`: opens a binary's static model and shows what was asked for. */
#include "user/cli/command.h"
#include "user/model/cfg_print.h"
#include "user/view/lines/block_counts.h"

#include "offline/base/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum action { SUMMARY, LIST, FUNCTION, DOT, CALL_GRAPH, EXPORT };

struct request {
	enum action action;
	bool call_sites;
	const char *argument; /* of the action: a function, or a file to export to */
	const struct cfg_format *format;
	const char *binary;
	const char *trace; /* a recording, or NULL */
};

static const char help[] =
	"usage: pugmark cfg [options] BINARY\n"
	"\n"
	"Shows the static model of BINARY (an x86-64 ELF program or library): a summary, or\n"
	"  -l, --list           its functions\n"
	"  -F, --function NAME  the blocks, edges and call sites of a function, given by its "
	"symbol,\n"
	"                       its C++ name, or an address in it (hexadecimal, after 0x)\n"
	"  -d, --dot NAME       a Graphviz picture of a function's blocks\n"
	"  -t, --trace DIR      with -d: how often each block ran and each edge was taken in the\n"
	"                       recording DIR, which must be of level paths\n"
	"  -c, --call-sites     with -F or -d: its call-site graph instead\n"
	"  -g, --call-graph     which function calls which, and from how many sites\n"
	"  -e, --export FILE    the whole model, one item a line, for other tools (- is stdout)\n"
	"\n"
	"      --format text|json\n"
	"                       how to print (text; with -d, json is the graph itself)\n"
	"  -h, --help           this text\n";

enum { OPT_FORMAT = 256 };

static const struct option options[] = {
	{"list", no_argument, NULL, 'l'},	  {"function", required_argument, NULL, 'F'},
	{"dot", required_argument, NULL, 'd'},	  {"trace", required_argument, NULL, 't'},
	{"call-sites", no_argument, NULL, 'c'},	  {"call-graph", no_argument, NULL, 'g'},
	{"export", required_argument, NULL, 'e'}, {"format", required_argument, NULL, OPT_FORMAT},
	{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0},
};
const struct command_words cfg_words = {.options = options, .writes = "export"};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(int argc, char **argv, struct request *request)
{
	static const char actions[] = {
		[LIST] = 'l', [FUNCTION] = 'F', [DOT] = 'd', [CALL_GRAPH] = 'g', [EXPORT] = 'e'};
	int option;
	command_options_begin();
	while ((option = command_option(&cfg_words, argc, argv)) >= 0) {
		const char *action =
			option < 256 ? memchr(actions + 1, option, sizeof(actions) - 1) : NULL;
		if (action && request->action != SUMMARY)
			return command_usage("cfg", "more than one thing to show");
		if (action) {
			request->action = (enum action)(action - actions);
			request->argument = optarg;
		} else if (option == 't') {
			request->trace = optarg;
		} else if (option == 'c') {
			request->call_sites = true;
		} else if (option == OPT_FORMAT && !strcmp(optarg, "json")) {
			request->format = &cfg_json;
		} else if (option == OPT_FORMAT && !strcmp(optarg, "text")) {
			request->format = &cfg_text;
		} else if (option == OPT_FORMAT) {
			return command_usage("cfg", "no format '%s' (text, json)", optarg);
		} else if (option == 'h') {
			fputs(help, stdout);
			return EXIT_OK;
		} else {
			return command_usage(
				"cfg", option == ':' ? "'%s' needs a value" : "no option '%s'",
				argv[optind - 1]);
		}
	}
	if (optind + 1 != argc)
		return command_usage("cfg", optind == argc ? "which binary?" : "one binary only");
	if (request->call_sites && request->action != FUNCTION && request->action != DOT)
		return command_usage("cfg", "--call-sites goes with --function or --dot");
	if (request->trace && (request->action != DOT || request->call_sites))
		return command_usage("cfg", "--trace goes with --dot, without --call-sites");
	request->binary = argv[optind];
	return -1;
}

/* A function by name, or by an address in it. */
static uint32_t find_function(const struct pugmark_model *model, const char *name)
{
	uint32_t func = pugmark_model_func_named(model, name);
	if (func != PUGMARK_NONE || strncmp(name, "0x", 2))
		return func;
	char *end;
	errno = 0;
	uint64_t addr = strtoull(name, &end, 16);
	return *end || errno || end == name + 2 ? PUGMARK_NONE : pugmark_model_func_at(model, addr);
}

static int fail(const char *what, int err)
{
	struct pugmark_diag diag;
	pugmark_diag_set(&diag, err, what, PUGMARK_NO_OFFSET, "%s", whole_file_why(err));
	return command_fail(&diag);
}

static int export(const struct request *request, const struct pugmark_model *model)
{
	if (!strcmp(request->argument, "-")) {
		cfg_export(model, stdout);
		return EXIT_OK;
	}
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return fail(request->argument, -errno);
	cfg_export(model, out);
	bool failed = ferror(out);
	failed = fclose(out) || failed;
	int err = failed ? -ENOMEM : whole_file_write(request->argument, text, len);
	free(text);
	return err ? fail(request->argument, err) : EXIT_OK;
}

/* The module of the recording that was recorded from the file of @model. */
static int find_module(const struct trace_view *view, const struct pugmark_model *model,
		       uint32_t *out, struct pugmark_diag *diag)
{
	uint32_t n;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(view->rec, &n);
	for (*out = 0; *out < n; ++*out) {
		const struct pugmark_recording_module *m = &modules[*out];
		if (m->build_id_len && m->build_id_len == model->build_id_len &&
		    m->text_addr == model->text_addr && m->text_end == model->text_end &&
		    !memcmp(m->build_id, model->build_id, m->build_id_len))
			return 0;
	}
	return pugmark_diag_set(diag, -ESTALE, view->dir, PUGMARK_NO_OFFSET,
				model->build_id_len ? "not a recording of %s"
						    : "%s has no build-id to find it by",
				model->path);
}

static int show_with_counts(const struct request *request, const struct pugmark_model *model,
			    uint32_t func)
{
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct block_counts counts = {0};
	struct trace_view view;
	uint32_t module;
	trace_view_init(&view, "cfg", "text");
	int err = trace_view_open(&view, request->trace, &diag);
	if (!err)
		err = find_module(&view, model, &module, &diag);
	if (!err)
		err = block_counts_collect(&view, module, model, &counts, &diag);
	if (!err)
		cfg_dot_blocks(model, func, counts.blocks, counts.edges, stdout);
	bool gaps = counts.gaps;
	block_counts_deinit(&counts);
	trace_view_deinit(&view);
	return err ? command_fail(&diag) : gaps ? EXIT_GAPS : EXIT_OK;
}

static int show(const struct request *request, const struct pugmark_model *model)
{
	const struct cfg_format *format = request->format;
	uint32_t func = PUGMARK_NONE;
	int err = 0;
	if (request->action == FUNCTION || request->action == DOT) {
		func = find_function(model, request->argument);
		if (func == PUGMARK_NONE) {
			struct pugmark_diag diag;
			pugmark_diag_set(&diag, -ENOENT, request->binary, PUGMARK_NO_OFFSET,
					 "no function '%s' (see: pugmark cfg --list)",
					 request->argument);
			return command_fail(&diag);
		}
	}
	/* A picture as JSON is the graph itself. */
	enum action action = request->action;
	if (action == DOT && format == &cfg_json)
		action = FUNCTION;
	switch (action) {
	case SUMMARY:
		err = format->summary(model, stdout);
		break;
	case LIST:
		err = format->list(model, stdout);
		break;
	case FUNCTION:
		err = request->call_sites ? format->call_sites(model, func, stdout)
					  : format->function(model, func, stdout);
		break;
	case DOT:
		if (request->trace)
			return show_with_counts(request, model, func);
		err = request->call_sites ? cfg_dot_sites(model, func, stdout)
					  : cfg_dot_blocks(model, func, NULL, NULL, stdout);
		break;
	case CALL_GRAPH:
		err = format->call_graph(model, stdout);
		break;
	case EXPORT:
		return export(request, model);
	}
	/* What was not printed is main()'s to say. */
	return err && !ferror(stdout) ? fail(request->binary, err) : EXIT_OK;
}

int cmd_cfg(int argc, char **argv)
{
	struct request request = {.format = &cfg_text};
	int status = parse(argc, argv, &request);
	if (status >= 0)
		return status;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	struct pugmark_model *model;
	if (pugmark_model_open(request.binary, &model, &diag))
		return command_fail(&diag);
	status = show(&request, model);
	pugmark_model_free(model);
	return status;
}
