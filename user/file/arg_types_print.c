// SPDX-License-Identifier: LGPL-2.1-or-later
/* arg_types_print.c: see arg_types.h: the values of a call, as their types say. What was not read
 * is
 * `?`: its page was not there, or there was no room for it. */
#include "user/file/arg_types.h"

#include <inttypes.h>
#include <string.h>

struct printing {
	const struct arg_values *values;
	struct outbuf *out;
	bool json;
	uint32_t read, word; /* which come next */
};

/* @number: of the argument, whose name a declaration may leave out. */
static void put_key(struct printing *p, const char *name, uint32_t number)
{
	if (number)
		outbuf_text(p->out, p->json ? "," : ", ");
	if (p->json) {
		outbuf_char(p->out, '"');
		if (*name)
			outbuf_json_text(p->out, name);
		else
			outbuf_dec(p->out, number);
		outbuf_text(p->out, "\":");
	} else if (*name) {
		outbuf_safe_text(p->out, name);
		outbuf_char(p->out, '=');
	}
}

static void put_word(struct printing *p, const char *word)
{
	if (!p->json) {
		outbuf_safe_text(p->out, word);
		return;
	}
	outbuf_json(p->out, "", word);
}

static void put_unknown(struct printing *p)
{
	outbuf_text(p->out, p->json ? "null" : "?");
}

/* Texts are any bytes. */
static void put_text(struct printing *p, const char *text, bool cut)
{
	outbuf_char(p->out, '"');
	if (p->json)
		outbuf_json_text(p->out, text);
	else
		outbuf_safe_text(p->out, text);
	outbuf_text(p->out, cut ? "…\"" : "\"");
}

static void put_enum(struct printing *p, const struct arg_type *t, uint64_t value, uint64_t mask,
		     int64_t number)
{
	for (uint32_t i = 0; i < t->n_names; i++)
		if (((uint64_t)t->names[i].value & mask) == value) {
			put_word(p, t->names[i].name);
			return;
		}
	/* flags: names that together are the value */
	uint64_t left = value;
	char joined[256] = "";
	for (uint32_t i = 0; i < t->n_names && left; i++) {
		uint64_t bit = (uint64_t)t->names[i].value & mask;
		size_t len = strlen(joined), more = strlen(t->names[i].name);
		if (!bit || (bit & (bit - 1)) || !(left & bit) || len + more + 2 > sizeof(joined))
			continue;
		if (len)
			strcat(joined, "|");
		strcat(joined, t->names[i].name);
		left &= ~bit;
	}
	if (left || !*joined)
		outbuf_format(p->out, "%" PRId64, number);
	else
		put_word(p, joined);
}

static void put_char(struct printing *p, char c)
{
	char text[2] = {c, 0};
	outbuf_char(p->out, p->json ? '"' : '\'');
	if (p->json)
		outbuf_json_text(p->out, text);
	else
		outbuf_safe_text(p->out, c ? text : "\\0");
	outbuf_char(p->out, p->json ? '"' : '\'');
}

static void put_real(struct printing *p, const struct arg_type *t, uint64_t value)
{
	float single;
	double number;
	memcpy(&single, &value, sizeof(single));
	memcpy(&number, &value, sizeof(number));
	double real = t->bytes == 4 ? (double)single : number;
	bool finite = real - real == 0;
	int digits = t->bytes == 4 ? 9 : 17; /* that no other value has */
	const char *quote = p->json && !finite ? "\"" : "";
	outbuf_format(p->out, "%s%.*g%s", quote, digits, real, quote);
}

static void put_number(struct printing *p, const struct arg_type *t, uint64_t value)
{
	unsigned bits = 8u * t->bytes;
	uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
	value &= mask;
	int64_t number =
		bits < 64 ? (int64_t)(value << (64 - bits)) >> (64 - bits) : (int64_t)value;
	switch (t->kind) {
	case ARG_INT:
		outbuf_format(p->out, "%" PRId64, number);
		break;
	case ARG_UNSIGNED:
		outbuf_format(p->out, "%" PRIu64, value);
		break;
	case ARG_BOOL:
		outbuf_text(p->out, value ? "true" : "false");
		break;
	case ARG_CHAR:
		put_char(p, (char)value);
		break;
	case ARG_ENUM:
		put_enum(p, t, value, mask, number);
		break;
	case ARG_REAL:
		put_real(p, t, value);
		break;
	default:
		if (!value)
			outbuf_text(p->out, p->json ? "null" : "NULL");
		else
			outbuf_format(p->out, p->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, value);
	}
}

/* Whether the next read has found something. */
static bool take_read(struct printing *p)
{
	const struct arg_values *v = p->values;
	uint32_t i = p->read++;
	if (i >= ARG_READS_MAX || !v->n_words || !(v->words[0] >> i & 1))
		return false;
	return p->word < v->n_words;
}

/* The text that was read next, of at most @bytes; @cut: it goes on. */
static void take_text(struct printing *p, uint32_t bytes, char *text, bool *cut)
{
	uint32_t max = (bytes + 7) / 8, n = 0;
	bool ended = false;
	memset(text, 0, ARG_TEXT_BYTES + 8);
	while (!ended && n < max && p->word < p->values->n_words) {
		uint64_t word = p->values->words[p->word++];
		memcpy(text + 8 * n++, &word, 8);
		ended = memchr(&word, 0, 8) != NULL;
	}
	text[bytes] = 0;
	*cut = !ended && bytes == ARG_TEXT_BYTES;
	if (*cut)
		text[bytes - 1] = 0;
}

static void put_read(struct printing *p, const struct arg_type *t)
{
	bool is_text = t->kind == ARG_TEXT || t->kind == ARG_CHARS;
	if (t->kind == ARG_UNREAD || !take_read(p)) {
		put_unknown(p);
	} else if (is_text) {
		char text[ARG_TEXT_BYTES + 8];
		uint32_t bytes = t->kind == ARG_TEXT || t->bytes > ARG_TEXT_BYTES ? ARG_TEXT_BYTES
										  : t->bytes;
		bool cut;
		take_text(p, bytes, text, &cut);
		put_text(p, text, cut);
	} else {
		put_number(p, t, p->values->words[p->word++]);
	}
}

static void put_struct(struct printing *p, const struct arg_type *t, uint64_t address)
{
	static const struct arg_type pointer = {.kind = ARG_POINTER, .bytes = 8};
	if (!address) {
		for (uint32_t i = 0; i < t->n_fields; i++)
			p->read += t->fields[i].kind != ARG_UNREAD;
		put_number(p, &pointer, 0);
		return;
	}
	outbuf_char(p->out, '{');
	for (uint32_t i = 0; i < t->n_fields; i++) {
		put_key(p, t->fields[i].name, i);
		put_read(p, &t->fields[i]);
	}
	if (t->more && !p->json)
		outbuf_text(p->out, t->n_fields ? ", …" : "…");
	outbuf_char(p->out, '}');
}

static void put_argument(struct printing *p, const struct arg_type *t)
{
	static const struct arg_type pointer = {.kind = ARG_POINTER, .bytes = 8};
	const struct arg_values *v = p->values;
	bool in_register = t->kind != ARG_UNREAD && t->in < v->n_registers;
	uint64_t value = in_register ? v->registers[t->in] : 0;
	if (!in_register) {
		put_unknown(p);
	} else if (t->kind == ARG_STRUCT) {
		put_struct(p, t, value);
	} else if (t->kind == ARG_TEXT) {
		uint32_t i = p->read;
		bool known = i < ARG_READS_MAX && v->n_words && v->words[0] >> i & 1;
		if (known) {
			put_read(p, t);
		} else {
			p->read++;
			put_number(p, &pointer, value);
		}
	} else {
		put_number(p, t, value);
	}
}

void arg_function_print(const struct arg_function *f, const struct arg_values *v, bool json,
			struct outbuf *out)
{
	struct printing p = {.values = v, .out = out, .json = json, .word = 1};
	if (json)
		outbuf_char(out, '{');
	for (uint32_t i = 0; i < f->n_args; i++) {
		put_key(&p, f->args[i].name, i);
		put_argument(&p, &f->args[i]);
	}
	if (json)
		outbuf_char(out, '}');
}
