// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_merge.c: `pugmark merge`: one recording out of one under each share. */
#include "user/cli/command.h"
#include "user/share/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: pugmark merge [options] -o WHOLE PART...\n"
	"\n"
	"Puts recordings of the same run together, one under each share of a plan (man "
	"pugmark-plan\n"
	"has how shares are made). WHOLE is a recording like any other. Where two of the runs were "
	"not\n"
	"the same run, the thread ends in a gap there, and that is said.\n"
	"  -o, --output DIR         the recording to make; one that is there becomes DIR.old\n"
	"      --format text|json   how to print (text)\n"
	"  -q, --quiet              only errors, and where runs differ\n"
	"  -h, --help               this text\n"
	"Exit status: 0; 3 if runs differ; 1 for an error; 2 for wrong usage.\n";

static const struct option long_options[] = {
	{"output", required_argument, NULL, 'o'},
	{"format", required_argument, NULL, 'f'},
	{"quiet", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};
const struct command_words merge_words = {
	.options = long_options, .letters = ":o:qh", .writes = "output"};

struct merge_request {
	const char *output;
	bool json, quiet;
};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct merge_request *r, int argc, char **argv)
{
	int opt;
	command_options_begin();
	while ((opt = command_option(&merge_words, argc, argv)) >= 0)
		switch (opt) {
		case 'o':
			r->output = optarg;
			break;
		case 'f':
			r->json = !strcmp(optarg, "json");
			if (!r->json && strcmp(optarg, "text"))
				return command_usage("merge", "no format '%s' (text, json)",
						     optarg);
			break;
		case 'q':
			r->quiet = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_OK;
		default:
			return command_usage("merge",
					     opt == ':' ? "'%s' needs a value" : "no option '%s'",
					     argv[optind - 1]);
		}
	if (!r->output)
		return command_usage("merge", "where to? (-o WHOLE)");
	return optind < argc ? -1 : command_usage("merge", "which recordings?");
}

static void print_text(const struct merge_request *r, const struct merge_result *m)
{
	if (!r->quiet)
		printf("%u shares, %u thread%s: %llu events of the parts made %llu, in %.2f s "
		       "(%.1f M a second)\n",
		       m->shares, m->threads, m->threads == 1 ? "" : "s",
		       (unsigned long long)m->taken, (unsigned long long)m->events, m->seconds,
		       m->seconds > 0 ? m->events / m->seconds / 1e6 : 0);
	if (!r->quiet && m->alone)
		printf("exact if the runs agree in %llu decisions that one of them alone tells "
		       "(shares of --tellers 2 have each told by two)\n",
		       (unsigned long long)m->alone);
	if (m->diverged) {
		fprintf(stderr, "pugmark: %u thread%s diverged: ", m->diverged,
			m->diverged == 1 ? "" : "s");
		command_print_safe(stderr, m->first_divergence);
		fputc('\n', stderr);
	}
}

static void print_json(const struct merge_result *m)
{
	printf("{\"shares\": %u, \"threads\": %u, \"taken\": %llu, \"events\": %llu, "
	       "\"seconds\": %.6f, \"diverged\": %u, \"alone\": %llu}\n",
	       m->shares, m->threads, (unsigned long long)m->taken, (unsigned long long)m->events,
	       m->seconds, m->diverged, (unsigned long long)m->alone);
}

int cmd_merge(int argc, char **argv)
{
	struct merge_request r = {0};
	struct merge_result result;
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	int status = parse(&r, argc, argv);
	if (status >= 0)
		return status;
	int err = merge_recordings((const char *const *)argv + optind, argc - optind, r.output,
				   &result, &diag);
	if (err) {
		free(result.first_divergence);
		return command_fail(&diag);
	}
	if (r.json)
		print_json(&result);
	else
		print_text(&r, &result);
	status = result.diverged ? EXIT_GAPS : EXIT_OK;
	free(result.first_divergence);
	return status;
}
