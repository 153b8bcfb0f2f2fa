// SPDX-License-Identifier: LGPL-2.1-or-later
/* cmd_verify.c: `pugmark verify`: recovers the whole recording, its threads side by side, and
 * prints the certificate. */
#include "user/cli/command.h"
#include "user/cli/outbuf.h"
#include "user/cli/parallel.h"
#include "user/cli/progress.h"
#include "user/cli/tty.h"
#include "user/values/show/values_check.h"
#include "user/view/report/deaths_text.h"
#include "user/view/trace/expected.h"
#include "user/view/trace/trace_view.h"

#include <pugmark/certificate.h>

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct verify {
	struct trace_view view;
	struct progress progress;
	struct pugmark_thread_certificate *parts; /* one a thread */
	struct pugmark_certificate whole;
	struct pugmark_expectations *expectations;
	_Atomic uint32_t failed_task;
	bool has_values;	       /* level values */
	struct pugmark_diag no_values; /* then: why nothing of them can be read; "": it can */
	struct values_result values;
};

static const char help[] =
	"usage: pugmark verify [options] DIR\n"
	"\n"
	"Recovers all of the recording DIR and prints its certificate: that it is complete, or "
	"where\n"
	"it is not: each gap's thread, cause, times, lost events, and the frames given up.\n"
	"      --format text|json   how to print (text)\n"
	"  -h, --help               this text\n"
	"\n"
	"Exit status: 0 complete, 3 not complete; 1 for an error, 2 for wrong usage.\n";

static void step(void *ctx, uint64_t n)
{
	progress_step(ctx, n);
}

static int certify(void *ctx, uint32_t worker, uint32_t task)
{
	struct verify *v = ctx;
	(void)worker;
	int err = pugmark_certify_thread(v->view.trace, task, step, &v->progress, &v->parts[task]);
	if (err)
		v->failed_task = task;
	return err;
}

static int verify(struct verify *v, struct pugmark_diag *diag)
{
	uint64_t total = 0;
	v->parts = calloc(v->view.n_tasks + 1, sizeof(*v->parts));
	if (!v->parts || pugmark_expectations_new(v->view.trace, &v->expectations))
		return trace_view_no_memory(&v->view, diag);
	for (uint32_t i = 0; i < v->view.n_tasks; i++)
		total += v->view.tasks[i].n_events;
	progress_start(&v->progress, "recovering the trace", total, false);
	int err = parallel_do(v->view.n_tasks, certify, v);
	progress_end(&v->progress);
	if (err)
		return trace_view_task_failed(&v->view, v->failed_task, err, diag);
	pugmark_certificate_join(v->view.trace, v->parts, &v->whole);
	return 0;
}

/* Level values: executes all again, to see whether what was captured agrees with it. */
static int verify_values(struct verify *v, struct pugmark_diag *diag)
{
	struct pugmark_diag none = {.offset = PUGMARK_NO_OFFSET};
	int err = values_check(v->view.dir, &v->values, &none);

	/* Without the file of captures, or its start, the result stays empty: nothing is known of
	 * values, but of calls. */
	bool gone = err == -ENODATA || (err == -EBADMSG && v->view.info->values);
	v->has_values = !err || (gone && v->view.info->values);
	if (err == -EBADMSG && gone)
		v->no_values = none;
	if (err && !gone)
		*diag = none;
	return gone ? 0 : err;
}

static bool is_complete(const struct verify *v)
{
	return v->whole.complete && (!v->has_values || v->values.complete);
}

static uint64_t after_start(const struct verify *v, uint64_t time_ns)
{
	return time_ns > v->view.start_ns ? time_ns - v->view.start_ns : 0;
}

/* Of a merged recording: the decisions in which its runs are taken to agree. */
static uint64_t merged_alone(const struct verify *v)
{
	json_t *meta = json_loads(v->view.info->meta, 0, NULL);
	json_int_t n = json_integer_value(json_object_get(meta, "merged_alone"));
	json_decref(meta);
	return n > 0 ? n : 0;
}

/* ---- text ---- */

static const char *cause_in_words(uint8_t cause)
{
	switch (cause) {
	case PUGMARK_CAUSE_LOST:
		return "events were lost while recording";
	case PUGMARK_CAUSE_MODEL:
		return "an event fits nothing that the model of the program allows";
	case PUGMARK_CAUSE_RECORDING:
		return "the recording is damaged or cut off";
	case PUGMARK_CAUSE_ATTACH:
		return "the recording began in the middle";
	case PUGMARK_CAUSE_UNWIND:
		return "an exception skipped calls that no event shows";
	case PUGMARK_CAUSE_STACK:
		return "the stack does not say during which call a callback or a signal came";
	case PUGMARK_CAUSE_PLAN:
		return "what is traced was changed: functions were taken out, or a library came";
	case PUGMARK_CAUSE_SWITCH:
		return "a thread left its stack where nothing known does that";
	case PUGMARK_CAUSE_UNRESOLVED:
		return "at a place that the plan names, nothing tells what happens";
	case PUGMARK_CAUSE_DIVERGED:
		return "merged of runs that were not the same run from here on";
	default:
		return trace_view_cause(cause);
	}
}

static void text_gap(const struct verify *v, struct outbuf *out, const struct pugmark_gap *g)
{
	outbuf_text(out, "  gap    ");
	if (v->view.info->times) {
		outbuf_duration(out, after_start(v, g->from_ns));
		outbuf_text(out, "..");
		outbuf_duration(out, after_start(v, g->to_ns));
		outbuf_text(out, ": ");
	}
	outbuf_text(out, cause_in_words(g->cause));
	if (g->lost)
		outbuf_format(out, ", %llu lost", (unsigned long long)g->lost);
	if (g->frames)
		outbuf_format(out, ", %u open call%s given up", g->frames,
			      g->frames > 1 ? "s" : "");
	expected_text(v->expectations, &v->view, g, out);
	outbuf_char(out, '\n');
}

static void text_threads(const struct verify *v, struct outbuf *out)
{
	for (uint32_t i = 0; i < v->view.n_tasks; i++) {
		const struct pugmark_recording_task *t = &v->view.tasks[i];
		const struct pugmark_thread_certificate *part = &v->parts[i];
		outbuf_format(out, "thread %d", t->tid);
		if (t->pid != t->tid)
			outbuf_format(out, " of process %d", t->pid);
		outbuf_char(out, ' ');
		outbuf_safe_text(out, t->comm);
		outbuf_format(out, ": %llu events from %llu witnesses",
			      (unsigned long long)part->events,
			      (unsigned long long)part->witness_events);
		if (part->n_gaps)
			outbuf_format(out, ", %llu gap%s", (unsigned long long)part->n_gaps,
				      part->n_gaps > 1 ? "s" : "");
		outbuf_char(out, '\n');
		for (uint64_t g = 0; g < part->n_gaps; g++)
			text_gap(v, out, &part->gaps[g]);
	}
}

static void text_values(const struct verify *v, struct outbuf *out)
{
	for (uint32_t i = 0; v->has_values && i < v->values.n; i++) {
		const struct values_task *t = &v->values.tasks[i];

		outbuf_format(
			out,
			"values of task %u: %llu instructions, %llu wholly exact, %llu assumed, "
			"%llu unknown, %llu behind a branch on something assumed; %s",
			t->task, (unsigned long long)t->instructions,
			(unsigned long long)(t->instructions - t->assumed - t->unknown -
					     t->supposed),
			(unsigned long long)t->assumed, (unsigned long long)t->unknown,
			(unsigned long long)t->supposed, t->complete ? "up to its end" : "a gap ");
		out_printable(out, t->gap, PRINT_TEXT);
		if (t->blind) {
			outbuf_format(out,
				      "; what %llu calls wrote is assumed, the first of them for ",
				      (unsigned long long)t->blind);
			out_printable(out, t->why, PRINT_TEXT);
		}
		outbuf_char(out, '\n');
		for (unsigned k = 0; k < t->n_most; k++) {
			const struct values_why *w = &t->most[k];
			outbuf_format(out, "  %llu %s at ", (unsigned long long)w->n,
				      w->unknown ? "unknown" : "assumed");
			out_printable(out, w->text, PRINT_TEXT);
			outbuf_char(out, '\n');
		}
	}
	if (v->has_values && v->values.damaged_bytes)
		outbuf_format(
			out,
			"%llu bytes of what was captured are damaged or cut: what they told is "
			"not known, tasks may be missing\n",
			(unsigned long long)v->values.damaged_bytes);
	else if (v->has_values && *v->no_values.text) {
		outbuf_text(out, "no values are known: ");
		outbuf_safe_text(out, v->no_values.text);
		outbuf_char(out, '\n');
	} else if (v->has_values && !v->values.n)
		outbuf_text(out, "the file captures is gone or of no task: no values are known\n");
}

/* Where the recording ended before what it is of did. */
static void text_stopped(const struct verify *v, struct outbuf *out)
{
	static const struct {
		const char *why, *words;
	} ends[] = {
		{"signal", "until it was interrupted"},
		{"duration", "for as long as --duration said"},
		{"disk", "until the disk was full"},
		{"overhead", "until it cost more than was allowed"},
		{"refused", "until it was known to cost more than was allowed"},
		{"memory", "until the recorder took more memory than was allowed"},
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(v->view.info->stopped, ends[i].why)) {
			outbuf_text(out, "; recorded ");
			outbuf_text(out, ends[i].words);
		}
}

/* Calls were not to be witnessed (--check-every): nothing says that they are complete. */
static bool values_alone(const struct verify *v)
{
	uint32_t n, n_sites = 0;
	const struct pugmark_recording_module *modules = pugmark_recording_modules(v->view.rec, &n);

	for (uint32_t i = 0; i < n; i++)
		n_sites += modules[i].n_sites;
	return v->has_values && !n_sites;
}

static void text_certificate(struct verify *v, struct outbuf *out)
{
	struct tty term = tty_of(STDOUT_FILENO);
	const struct pugmark_certificate *c = &v->whole;
	uint64_t alone = merged_alone(v);
	text_threads(v, out);
	deaths_text(&v->view, out);
	for (uint32_t i = 0; pugmark_recording_note(v->view.rec, i); i++) {
		outbuf_text(out, "note   ");
		outbuf_safe_text(out, pugmark_recording_note(v->view.rec, i));
		outbuf_char(out, '\n');
	}
	if (c->unplaced)
		outbuf_format(out,
			      "note   %llu events that the recorder counted are in no thread\n",
			      (unsigned long long)c->unplaced);
	if (values_alone(v)) {
		outbuf_text(out, "calls were not witnessed: values alone were recorded\n");
		text_values(v, out);
		return;
	}
	outbuf_text(out, tty_style(&term, c->complete ? STYLE_GOOD : STYLE_WARN));
	if (c->complete && alone)
		outbuf_format(out,
			      "complete if its runs agree in %llu decisions that one of them "
			      "alone tells",
			      (unsigned long long)alone);
	else if (c->complete)
		outbuf_text(out, "complete");
	else if (c->gaps)
		outbuf_format(out, "%llu gap%s", (unsigned long long)c->gaps,
			      c->gaps > 1 ? "s" : "");
	else
		outbuf_text(out, v->view.n_tasks ? "not complete" : "nothing recorded");
	outbuf_text(out, tty_style(&term, STYLE_NONE));
	outbuf_format(out, ": %llu events of %u thread%s, recovered from %llu witnesses",
		      (unsigned long long)c->events, v->view.n_tasks,
		      v->view.n_tasks == 1 ? "" : "s", (unsigned long long)c->witness_events);
	if (!c->complete && v->view.n_tasks)
		outbuf_text(out, "; exact everywhere else");
	text_stopped(v, out);
	outbuf_char(out, '\n');
	text_values(v, out);
}

/* ---- JSON ---- */

static void json_most(const struct values_task *t, struct outbuf *out)
{
	for (unsigned i = 0; i < t->n_most; i++) {
		const struct values_why *w = &t->most[i];

		outbuf_format(out,
			      "%s{\"quality\":\"%s\",\"instructions\":%llu,\"ip\":\"0x%llx\","
			      "\"why\":\"",
			      i ? "," : "", w->unknown ? "unknown" : "assumed",
			      (unsigned long long)w->n, (unsigned long long)w->ip);
		outbuf_json_text(out, w->text);
		outbuf_text(out, "\"}");
	}
}

static void json_values(const struct verify *v, struct outbuf *out)
{
	outbuf_text(out, ",\"values\":[");
	for (uint32_t i = 0; i < v->values.n; i++) {
		const struct values_task *t = &v->values.tasks[i];

		outbuf_format(out,
			      "%s{\"task\":%u,\"instructions\":%llu,\"assumed\":%llu,"
			      "\"unknown\":%llu,\"control_assumed\":%llu,\"complete\":%s,"
			      "\"gap\":\"",
			      i ? ",\n" : "", t->task, (unsigned long long)t->instructions,
			      (unsigned long long)t->assumed, (unsigned long long)t->unknown,
			      (unsigned long long)t->supposed, t->complete ? "true" : "false");
		outbuf_json_text(out, t->gap);
		outbuf_format(out, "\",\"not_executed\":%llu,\"why\":\"",
			      (unsigned long long)t->blind);
		outbuf_json_text(out, t->why);
		outbuf_text(out, "\",\"most\":[");
		json_most(t, out);
		outbuf_text(out, "]}");
	}
	outbuf_format(out, "],\"values_damaged_bytes\":%llu",
		      (unsigned long long)v->values.damaged_bytes);
}

static void json_gap(const struct verify *v, struct outbuf *out, uint32_t task, uint64_t index)
{
	const struct pugmark_gap *g = &v->parts[task].gaps[index];
	outbuf_format(out, "{\"tid\":%d,\"cause\":\"%s\",\"lost\":%llu,\"frames\":%u",
		      v->view.tasks[task].tid, trace_view_cause(g->cause),
		      (unsigned long long)g->lost, g->frames);
	if (v->view.info->times)
		outbuf_format(out, ",\"from_ns\":%llu,\"to_ns\":%llu",
			      (unsigned long long)after_start(v, g->from_ns),
			      (unsigned long long)after_start(v, g->to_ns));
	expected_json(v->expectations, &v->view, g, out);
	outbuf_char(out, '}');
}

static void json_threads(const struct verify *v, struct outbuf *out)
{
	outbuf_text(out, ",\"threads\":[");
	for (uint32_t i = 0; i < v->view.n_tasks; i++) {
		const struct pugmark_recording_task *t = &v->view.tasks[i];
		outbuf_format(out, "%s{\"tid\":%d,\"pid\":%d,\"name\":\"", i ? ",\n" : "", t->tid,
			      t->pid);
		outbuf_json_text(out, t->comm);
		outbuf_format(out, "\",\"events\":%llu,\"witness_events\":%llu,\"gaps\":%llu}",
			      (unsigned long long)v->parts[i].events,
			      (unsigned long long)v->parts[i].witness_events,
			      (unsigned long long)v->parts[i].n_gaps);
	}
	outbuf_text(out, "]");
}

static void json_certificate(struct verify *v, struct outbuf *out)
{
	const struct pugmark_certificate *c = &v->whole;
	outbuf_format(out, "{\"complete\":%s,\"events\":%llu,\"witness_events\":%llu,\"gaps\":[",
		      is_complete(v) && !values_alone(v) ? "true" : "false",
		      (unsigned long long)c->events, (unsigned long long)c->witness_events);
	bool first = true;
	for (uint32_t i = 0; i < v->view.n_tasks; i++)
		for (uint64_t g = 0; g < v->parts[i].n_gaps; g++) {
			outbuf_text(out, first ? "" : ",\n");
			first = false;
			json_gap(v, out, i, g);
		}
	outbuf_format(out, "],\"merged_alone\":%llu,\"closed\":%s,\"stopped\":\"",
		      (unsigned long long)merged_alone(v), c->closed ? "true" : "false");
	outbuf_json_text(out, v->view.info->stopped);
	outbuf_format(out, "\",\"lost\":%llu,\"unplaced\":%llu,\"damaged_bytes\":%llu,\"notes\":[",
		      (unsigned long long)c->lost, (unsigned long long)c->unplaced,
		      (unsigned long long)c->damaged_bytes);
	for (uint32_t i = 0; pugmark_recording_note(v->view.rec, i); i++) {
		outbuf_json(out, i ? "," : "", pugmark_recording_note(v->view.rec, i));
	}
	outbuf_text(out, "]");
	deaths_json(&v->view, out);
	json_threads(v, out);
	if (v->has_values)
		json_values(v, out);
	outbuf_text(out, "}\n");
}

/* ---- the command ---- */

static const struct verify_format {
	const char *name;
	void (*certificate)(struct verify *verify, struct outbuf *out);
} formats[] = {{"text", text_certificate}, {"json", json_certificate}};

static int own_option(void *ctx, int opt, const char *arg)
{
	struct verify *v = ctx;
	return trace_view_option(&v->view, opt, arg);
}

static const struct option options[] = {VIEW_OPTIONS_COMMON, {NULL, 0, NULL, 0}};
const struct command_words verify_words = {.options = options};

/* Returns an exit status, or -1 if there is something to do. */
static int parse(struct verify *v, int argc, char **argv, const struct verify_format **format)
{
	int status = trace_view_parse(&v->view, argc, argv, &verify_words, help, own_option, v);
	if (status >= 0)
		return status;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(v->view.format, formats[i].name))
			*format = &formats[i];
	if (!*format)
		return command_usage("verify", "no format '%s' (text, json)", v->view.format);
	return -1;
}

int cmd_verify(int argc, char **argv)
{
	struct verify v = {0};
	struct pugmark_diag diag = {.offset = PUGMARK_NO_OFFSET};
	const struct verify_format *format = NULL;
	trace_view_init(&v.view, "verify", "text");
	int status = parse(&v, argc, argv, &format);
	if (status < 0) {
		struct outbuf *out = malloc(sizeof(*out));
		int err = out ? trace_view_open(&v.view, v.view.dir, &diag)
			      : trace_view_no_memory(&v.view, &diag);
		if (!err)
			err = verify(&v, &diag);
		if (!err)
			err = verify_values(&v, &diag);
		if (!err) {
			outbuf_init(out, stdout);
			format->certificate(&v, out);
			outbuf_flush(out);
		}
		free(out);
		status = err ? command_fail(&diag) : is_complete(&v) ? EXIT_OK : EXIT_GAPS;
	}
	for (uint32_t i = 0; v.parts && i < v.view.n_tasks; i++)
		pugmark_thread_certificate_deinit(&v.parts[i]);
	free(v.parts);
	pugmark_expectations_free(v.expectations);
	values_check_deinit(&v.values);
	trace_view_deinit(&v.view);
	return status;
}
