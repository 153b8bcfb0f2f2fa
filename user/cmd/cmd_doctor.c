// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_doctor.c: `pugmark doctor`: examines, measures, prints, keeps the costs for planning. */
#include "user/cli/command.h"
#include "user/cli/tty.h"
#include "user/cmd/doctor_names.h"
#include "user/cmd/doctor_process.h"
#include "user/measure/doctor.h"
#include "user/measure/measure_costs.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct doctor_findings {
	struct doctor_report report;
	struct measured_costs costs;
	bool measured;
	struct pugmark_diag not_measured, not_saved;
};

static int print_help(void)
{
	puts("usage: pugmark doctor [--format text|json] [--debuginfod] [BINARY | [-p] PID]\n\n"
	     "Says what this kernel and this user can do, and measures what a probe costs here.\n"
	     "The costs are kept in $XDG_CACHE_HOME/pugmark/costs.json, where plans take them "
	     "from.\n\n"
	     "Of BINARY it says which functions have names, and what would bring the others'.\n"
	     "Of process PID it says which carrier of events is possible there, and why (-p PID: "
	     "also\n"
	     "where a file has that name).\n\n"
	     "  --format text|json   how to print (text)\n"
	     "  --debuginfod         ask the servers of $DEBUGINFOD_URLS for names that it "
	     "lacks\n\n"
	     "Exit status: 0 recording works here, 1 something it needs is missing, 2 wrong "
	     "usage.");
	return EXIT_OK;
}

static const char *state_word(enum doctor_state state)
{
	return state == DOCTOR_OK ? "ok" : state == DOCTOR_NOTE ? "note" : "missing";
}

static void print_text(const struct doctor_findings *f)
{
	static const enum tty_style styles[] = {STYLE_GOOD, STYLE_BAD, STYLE_WARN};
	struct tty term = tty_of(STDOUT_FILENO);

	for (unsigned i = 0; i < f->report.n; i++) {
		const struct doctor_item *item = &f->report.items[i];

		printf("%s%-8s%s %-15s ", tty_style(&term, styles[item->state]),
		       state_word(item->state), tty_style(&term, STYLE_NONE), item->name);
		command_print_safe(stdout, item->value);
		putchar('\n');
		if (*item->advice) {
			printf("%25s", "");
			command_print_safe(stdout, item->advice);
			putchar('\n');
		}
	}
	if (!f->measured) {
		if (*f->not_measured.text)
			command_say(stdout,
				    "\nprobe costs could not be measured: ", f->not_measured.text,
				    "\n");
		return;
	}
	puts("\nadded by a probe with an empty program, ns");
	for (unsigned i = 0; i < COST_INSNS; i++)
		printf("  %-10s %8.0f  %s\n", f->costs.rows[i].name, f->costs.rows[i].empty_ns,
		       f->costs.rows[i].stepped ? "stepped" : "emulated");
	puts("added by a witness, ns");
	for (unsigned i = 0; i < COST_WITNESSES; i++) {
		const struct cost_witness *w = &f->costs.witnesses[i];

		printf("  %-28s %8.0f  %.2f of an empty program there (%.2f..%.2f)\n", w->name,
		       w->added_ns, w->over_empty, w->low, w->high);
	}
	if (*f->not_saved.text)
		command_say(stdout, "the costs could not be kept: ", f->not_saved.text, "\n");
}

static int print_json(const struct doctor_findings *f)
{
	json_t *root = json_object(), *items = json_array();

	for (unsigned i = 0; i < f->report.n; i++) {
		const struct doctor_item *item = &f->report.items[i];

		json_array_append_new(items, json_pack("{s:s,s:s,s:s,s:s}", "name", item->name,
						       "state", state_word(item->state), "value",
						       item->value, "advice", item->advice));
	}
	json_object_set_new(root, "can_record", json_boolean(f->report.can_record));
	json_object_set_new(root, "items", items);
	if (f->measured) {
		json_t *empty = json_object();

		for (unsigned i = 0; i < COST_INSNS; i++)
			json_object_set_new(empty, f->costs.rows[i].name,
					    json_real(f->costs.rows[i].empty_ns));
		json_t *ns = json_pack("{s:f,s:f,s:o}", "emulated", f->costs.emulated_ns, "stepped",
				       f->costs.stepped_ns, "empty", empty);
		json_t *over = json_object();

		for (unsigned i = 0; i < COST_WITNESSES; i++) {
			const struct cost_witness *w = &f->costs.witnesses[i];

			json_object_set_new(ns, w->key, json_real(w->added_ns));
			json_object_set_new(over, w->key,
					    json_pack("[f,f,f]", w->low, w->over_empty, w->high));
		}
		json_object_set_new(root, "costs_ns", ns);
		json_object_set_new(root, "over_empty", over);
	}
	int bad =
		json_dumpf(root, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(root);
	return bad;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{"format", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct doctor_findings f = {.measured = false};
	bool json = false;
	const char *process = NULL;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "hp:", options, NULL)) != -1) {
		if (opt == 'h')
			return print_help();
		if (opt == 'p') {
			process = optarg;
			continue;
		}
		if (opt != 'f')
			return command_usage("doctor", "unknown option '%s'", argv[optind - 1]);
		if (strcmp(optarg, "json") && strcmp(optarg, "text"))
			return command_usage("doctor", "'%s' is no format: text or json", optarg);
		json = !strcmp(optarg, "json");
	}
	if (optind + (process == NULL) < argc)
		return command_usage("doctor", "'%s' is one argument too many", argv[argc - 1]);
	if (process)
		return doctor_process(process, json);
	if (optind < argc && doctor_is_process(argv[optind]))
		return doctor_process(argv[optind], json);
	if (optind < argc)
		return doctor_names(argv[optind], json);
	doctor_examine(&f.report);
	if (f.report.can_record) {
		f.measured = !costs_measure(&f.costs, &f.not_measured);
		if (f.measured)
			costs_save(&f.costs, &f.not_saved);
	}
	if (json)
		print_json(&f);
	else
		print_text(&f);
	return f.report.can_record && f.measured ? EXIT_OK : EXIT_ERROR;
}
