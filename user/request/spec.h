/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* spec.h: what the user calls a request, as text: FUNC[..FUNC_B][,ID[:ID_B]].
 *
 *   handle              each activation of handle
 *   handle,2            the same; its second argument says of what (a query, a socket)
 *   accept..close       from the begin of a call of accept to the end of the next call of close
 *   accept..close,result:1
 *                       the same, where what accept returned is the first argument of close
 *   sqlite3_prepare_v2..sqlite3_finalize,*4:1
 *                       the same of what was left where the fourth argument points to
 *
 * FUNC is a glob or /a regular expression/. A comma belongs to the name unless an ID follows. */
#ifndef USER_REQUEST_SPEC_H
#define USER_REQUEST_SPEC_H

#include <pugmark/diag.h>

#include <stdbool.h>
#include <stdint.h>

/* What is known when a call ends, from REQUEST_RESULT on: also what an argument points to by then.
 */
enum request_id {
	REQUEST_NO_ID,
	REQUEST_ARG_1,
	REQUEST_ARG_6 = 6,
	REQUEST_RESULT,
	REQUEST_OUT_1,
	REQUEST_OUT_6 = REQUEST_OUT_1 + 5,
	N_REQUEST_IDS
};

static inline bool request_id_is_given(uint8_t id)
{
	return id >= REQUEST_RESULT;
}

struct request_spec {
	const char *text;    /* borrowed: as the user wrote it */
	char *first, *last;  /* heap: patterns; last is NULL for activations */
	uint8_t id, id_last; /* enum request_id: of calls of first and of last */
};

/* 0, -EINVAL or -ENOMEM with @diag filled; request_spec_deinit() either way. */
int request_spec_parse(const char *text, struct request_spec *out, struct pugmark_diag *diag);
void request_spec_deinit(struct request_spec *spec);

/* What `--when` takes: "FUNC > TIME" or "FUNC < TIME". */
struct request_when {
	char *func; /* heap */
	bool less;
	uint64_t limit_ns;
};

/* False: @text is none, or memory is out. The caller frees out->func. */
bool request_when_parse(const char *text, struct request_when *out);

#endif
