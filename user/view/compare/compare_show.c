// SPDX-License-Identifier: LGPL-2.1-or-later
/* compare_show.c: see compare_show.h. */
#include "user/view/compare/compare_show.h"

enum { MEAN_WIDTH = 22 };

static void put_mean(struct outbuf *out, struct compare_mean mean)
{
	unsigned len = outbuf_bounds(
		out, (struct time_bounds){(uint64_t)mean.min_ns, (uint64_t)mean.max_ns});
	outbuf_spaces(out, len < MEAN_WIDTH ? MEAN_WIDTH - len : 1);
}

static uint32_t put_kind(struct outbuf *out, const struct compare *c, int slower, uint32_t limit)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->n; i++)
		n += c->rows[i].slower == slower;
	outbuf_format(out, "functions of which a call certainly took %s: %u\n",
		      slower > 0 ? "longer" : "less", n);
	for (uint32_t i = 0, shown = 0; i < c->n && shown < limit; i++) {
		const struct compare_row *row = &c->rows[i];
		if (row->slower != slower)
			continue;
		shown++;
		outbuf_text(out, slower > 0 ? "+ total " : "- total ");
		for (int side = 0; side < 2; side++) {
			put_mean(out, row->total[side]);
			outbuf_text(out, side ? "  self " : "-> ");
		}
		for (int side = 0; side < 2; side++) {
			put_mean(out, row->self[side]);
			outbuf_text(out, side ? "  " : "-> ");
		}
		outbuf_safe_text(out, row->name);
		outbuf_text(out, row->import ? " (import)\n" : "\n");
	}
	if (n > limit)
		outbuf_format(out, "and %u more\n", n - limit);
	return n;
}

uint32_t compare_show_text(struct outbuf *out, const struct compare *c, uint32_t limit)
{
	return put_kind(out, c, 1, limit) + put_kind(out, c, -1, limit);
}

static void json_means(struct outbuf *out, const char *key, const struct compare_row *row,
		       const struct compare_mean mean[2])
{
	outbuf_format(out, ",\"%s\":[", key);
	for (int side = 0; side < 2; side++)
		if (row->calls[side])
			outbuf_format(out, "%s[%.0f,%.0f]", side ? "," : "", mean[side].min_ns,
				      mean[side].max_ns);
		else
			outbuf_text(out, side ? ",null" : "null");
	outbuf_char(out, ']');
}

void compare_show_json(struct outbuf *out, const struct compare *c)
{
	outbuf_char(out, '[');
	for (uint32_t i = 0; i < c->n; i++) {
		const struct compare_row *row = &c->rows[i];
		outbuf_json(out, i ? ",\n{\"function\":" : "\n{\"function\":", row->name);
		outbuf_json(out, ",\"module\":", row->module);
		outbuf_format(out, ",\"calls\":[%llu,%llu],\"slower\":%d,\"apart_ns\":%.0f",
			      (unsigned long long)row->calls[0], (unsigned long long)row->calls[1],
			      row->slower, row->apart_ns);
		json_means(out, "total_ns", row, row->total);
		json_means(out, "self_ns", row, row->self);
		outbuf_text(out, row->import ? ",\"import\":true}" : "}");
	}
	outbuf_char(out, ']');
}
