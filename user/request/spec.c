// SPDX-License-Identifier: LGPL-2.1-or-later
/* spec.c: see spec.h. */
#include "user/request/spec.h"

#include "user/view/trace/when.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads one identity at @text; returns what follows it, or NULL: there is none. */
static const char *read_id(const char *text, uint8_t *out)
{
	if (!strncmp(text, "result", 6)) {
		*out = REQUEST_RESULT;
		return text + 6;
	}
	bool through = *text == '*';
	text += through;
	if (*text < '1' || *text > '6')
		return NULL;
	*out = (uint8_t)(*text - '1' + (through ? REQUEST_OUT_1 : REQUEST_ARG_1));
	return text + 1;
}

/* Whether @text is ID or ID:ID. */
static bool read_ids(const char *text, struct request_spec *out)
{
	uint8_t id, id_last;
	const char *at = read_id(text, &id);
	if (!at)
		return false;
	id_last = id;
	if (*at == ':' && !(at = read_id(at + 1, &id_last)))
		return false;
	if (*at)
		return false;
	out->id = id;
	out->id_last = id_last;
	return true;
}

/* The two dots between two patterns: not within slashes, and not of an ellipsis. */
static char *find_dots(char *text)
{
	char *at = text;
	if (*at == '/' && !(at = strchr(at + 1, '/')))
		return NULL;
	for (; (at = strstr(at, "..")); at += strspn(at, "."))
		if (strspn(at, ".") == 2)
			return at;
	return NULL;
}

int request_spec_parse(const char *text, struct request_spec *out, struct pugmark_diag *diag)
{
	*out = (struct request_spec){.text = text, .first = strdup(text)};
	if (!out->first)
		return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET, "out of memory");
	char *comma = strrchr(out->first, ',');
	bool ids = comma && read_ids(comma + 1, out);
	if (ids)
		*comma = 0;
	if (comma && !ids && comma[1] && !comma[1 + strspn(comma + 1, "0123456789:*")])
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"'%s': an identity is an argument from 1 to 6, what it "
					"points to at the end (*1 to *6), or `result`",
					text);
	char *dots = find_dots(out->first);
	if (dots) {
		*dots = 0;
		out->last = strdup(dots + 2);
		if (!out->last)
			return pugmark_diag_set(diag, -ENOMEM, NULL, PUGMARK_NO_OFFSET,
						"out of memory");
	}
	if (!*out->first || (out->last && !*out->last))
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"'%s' is no request: FUNC[..FUNC_B][,ID[:ID_B]]", text);
	if (ids && !out->last && out->id != out->id_last)
		return pugmark_diag_set(diag, -EINVAL, NULL, PUGMARK_NO_OFFSET,
					"'%s': a second identity goes with a second function, "
					"FUNC_A..FUNC_B",
					text);
	return 0;
}

void request_spec_deinit(struct request_spec *spec)
{
	free(spec->first);
	free(spec->last);
	*spec = (struct request_spec){0};
}

/* The last sign that a duration follows: names have such signs too. */
bool request_when_parse(const char *text, struct request_when *out)
{
	size_t at = strlen(text);
	while (at && text[at - 1] != '<' && text[at - 1] != '>')
		at--;
	if (at < 2)
		return false;
	const char *time = text + at + strspn(text + at, " ");
	if (!when_parse_duration(time, &out->limit_ns) || !out->limit_ns)
		return false;
	out->less = text[at - 1] == '<';
	for (at--; at && text[at - 1] == ' ';)
		at--;
	out->func = at ? strndup(text, at) : NULL;
	return out->func;
}
