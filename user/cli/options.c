// SPDX-License-Identifier: LGPL-2.1-or-later
/* options.c: see options.h. */
#include "user/cli/options.h"

#include "user/cli/command.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELP_COLUMN = 23, ROW_VALUE = 256 /* getopt's for the first row */ };

/* ---- help ---- */

static void print_row(const struct option_row *o)
{
	int len = o->letter ? printf("  -%c, --%s", o->letter, o->name)
			    : printf("      --%s", o->name);

	if (o->value)
		len += printf(" %s", o->value);
	if (len >= HELP_COLUMN)
		len = putchar('\n') * 0;
	for (const char *line = o->help, *end; line; line = end ? end + 1 : NULL, len = 0) {
		end = strchr(line, '\n');
		printf("%*s%.*s\n", HELP_COLUMN - len, "",
		       end ? (int)(end - line) : (int)strlen(line), line);
	}
}

static void print_help(const struct option_table *t)
{
	printf("%s\n", t->usage);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->rows[i].help)
			print_row(&t->rows[i]);
	printf("\n%s", t->after);
}

/* ---- values ---- */

/* A positive number that is all of @text. */
static bool parse_number(const char *text, double max, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out > 0 && *out <= max;
}

static bool is_number(const struct option_row *o)
{
	return o->number || o->u32 || o->u64 || o->real;
}

static int take_number(const struct option_table *t, const struct option_row *o, void *args)
{
	double value;

	if (!parse_number(optarg, o->max, &value) || (o->whole && value != floor(value)))
		return command_usage(t->command,
				     "--%s %s: '%s' is not a number that fits: %sup to %.0f, above "
				     "0",
				     o->name, o->value, optarg, o->whole ? "a whole one, " : "",
				     o->max);
	if (o->number)
		return o->number(args, value);
	value *= o->unit > 0 ? o->unit : 1;
	if (o->u32)
		*(uint32_t *)((char *)args + o->u32) = value;
	else if (o->u64)
		*(uint64_t *)((char *)args + o->u64) = value;
	else
		*(double *)((char *)args + o->real) = value;
	return EXIT_OK;
}

static int take_text(const struct option_table *t, const struct option_row *o, const char **text,
		     bool again)
{
	if (again && !o->last_counts)
		return command_usage(t->command, "--%s twice: '%s' and '%s'", o->name, *text,
				     optarg);
	*text = optarg;
	return EXIT_OK;
}

static int take_one_of_list(const struct option_table *t, const struct option_row *o,
			    struct option_list *list)
{
	if (list->n == OPTION_LIST_MAX)
		return command_usage(t->command, "more than %d times --%s", OPTION_LIST_MAX,
				     o->name);
	list->at[list->n++] = optarg;
	return EXIT_OK;
}

/* @again: it was given before. */
static int take(const struct option_table *t, const struct option_row *o, void *args, bool again)
{
	char *base = args;
	int status = EXIT_OK;

	if (o->flag)
		*(bool *)(base + o->flag) = true;
	if (o->text)
		status = take_text(t, o, (const char **)(base + o->text), again);
	if (!status && o->list)
		status = take_one_of_list(t, o, (struct option_list *)(base + o->list));
	if (!status && o->word)
		status = o->word(args, optarg);
	if (!status && is_number(o))
		status = take_number(t, o, args);
	return status;
}

/* ---- getopt ---- */

static bool takes_value(const struct option_row *o)
{
	return o->text || o->list || o->word || is_number(o);
}

void options_for_getopt(const struct option_table *t, struct option rows[OPTIONS_MAX + 1],
			char letters[OPTIONS_LETTERS_MAX])
{
	*letters++ = '+';
	for (uint32_t i = 0; i < t->n; i++) {
		const struct option_row *o = &t->rows[i];

		rows[i] = (struct option){o->name, takes_value(o) ? required_argument : no_argument,
					  NULL, ROW_VALUE + (int)i};
		if (o->letter)
			*letters++ = (char)o->letter;
		if (o->letter && takes_value(o))
			*letters++ = ':';
	}
	rows[t->n] = (struct option){0};
	*letters = 0;
}

static const struct option_row *row_of(const struct option_table *t, int opt)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (opt == ROW_VALUE + (int)i || opt == t->rows[i].letter)
			return &t->rows[i];
	return NULL;
}

int options_parse(const struct option_table *t, void *args, int argc, char **argv)
{
	struct option rows[OPTIONS_MAX + 1];
	char letters[OPTIONS_LETTERS_MAX];
	uint64_t given = 0; /* a bit for each row that was */
	int opt, status = EXIT_OK;

	opterr = 0;
	options_for_getopt(t, rows, letters);
	while (!status && (opt = getopt_long(argc, argv, letters, rows, NULL)) != -1) {
		const struct option_row *o = row_of(t, opt);

		if (!o)
			return command_usage(t->command, "unknown or incomplete option '%s'",
					     argv[optind - 1]);
		if (!strcmp(o->name, "help")) {
			print_help(t);
			return OPTIONS_HELP;
		}
		uint64_t bit = 1ull << (o - t->rows);
		status = take(t, o, args, given & bit);
		given |= bit;
	}
	return status;
}
