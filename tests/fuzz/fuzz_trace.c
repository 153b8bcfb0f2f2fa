// SPDX-License-Identifier: LGPL-2.1-or-later
/* fuzz_trace.c: any files as a recording with two modules: it is refused, or recovered to the end
 * of every thread, with functions that its plans have, and its certificate says how much. */
#include "tests/fuzz/as_folder.h"

#include <pugmark/certificate.h>
#include <pugmark/plan.h>
#include <pugmark/recording.h>
#include <pugmark/trace.h>
#include <pugmark/trace_event.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct pugmark_trace *trace, uint32_t task)
{
	const struct pugmark_trace_event *e;
	struct pugmark_trace_iter *iter;
	int got;

	if (pugmark_trace_iter_new(trace, task, &iter))
		return;
	while ((got = pugmark_trace_next(iter, &e)) == 1) {
		MUST(e->kind <= PUGMARK_TRACE_SWITCH);
		MUST(pugmark_trace_func_name(trace, e->module, e->func));
	}
	MUST(got <= 0);
	pugmark_trace_iter_free(iter);
}

/* The same again, as a certificate. */
static void certify(struct pugmark_trace *trace, uint32_t n)
{
	struct pugmark_thread_certificate *parts = calloc(n + 1, sizeof(*parts));
	struct pugmark_certificate whole;
	uint64_t gaps = 0;
	int err = parts ? 0 : -1;

	for (uint32_t i = 0; i < n && !err; i++) {
		err = pugmark_certify_thread(trace, i, NULL, NULL, &parts[i]);
		gaps += err ? 0 : parts[i].n_gaps;
	}
	if (!err) {
		pugmark_certificate_join(trace, parts, &whole);
		MUST(whole.gaps == gaps);
		MUST(!whole.complete || (n && !gaps && !whole.damaged_bytes));
	}
	for (uint32_t i = 0; i < n && parts; i++)
		pugmark_thread_certificate_deinit(&parts[i]);
	free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"meta.json", "events", "plan-0.pmp", "plan-1.pmp"};
	const char *dir = as_folder(data, size, names, 4);
	struct pugmark_diag diag = {.text = ""};
	struct pugmark_trace *trace;
	uint32_t n;

	if (pugmark_trace_open(dir, &trace, &diag)) {
		MUST(*diag.text);
		return 0;
	}
	pugmark_recording_tasks(pugmark_trace_recording(trace), &n);
	for (uint32_t i = 0; i < n; i++)
		walk(trace, i);
	certify(trace, n);
	pugmark_trace_free(trace);
	return 0;
}
