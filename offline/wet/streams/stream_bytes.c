// SPDX-License-Identifier: LGPL-2.1-or-later
/* stream_bytes.c: a stream as bytes. All of it is in the right side then:
 *
 *   context, bits of tables      a byte each
 *   hits                         a bit each
 *   words                        how many, their lengths in bytes (two in a byte), and they
 *   table                        how many entries are not 0, and of each how many are in between,
 *                                and its value
 *
 * A word is of each miss; but for FCM also of each hit: its index. */
#include "offline/wet/streams/stream_impl.h"

#include <errno.h>
#include <string.h>

static void save_hits(const struct wet_side *s, struct bytes *to)
{
	uint8_t byte = 0;
	for (size_t i = 0; i < s->n; i++) {
		byte |= (uint8_t)(!!entry_at(s, i) << i % 8);
		if (i % 8 == 7 || i + 1 == s->n) {
			bytes_put(to, &byte, 1);
			byte = 0;
		}
	}
}

static void save_words(const struct wet_stream *w, const struct wet_side *s, struct bytes *to)
{
	size_t n = is_fcm(w->predictor) ? s->n_words : s->n, misses = 0, k = 0;
	uint8_t pair = 0;
	uint64_t word;
	bytes_put_varint(to, n);
	for (size_t i = 0; i < s->n; i++) {
		if (!wet_side_word(w, s, i, &misses, &word))
			continue;
		pair |= (uint8_t)((word_bits(word) - 4) / 8 << 4 * (k % 2));
		if (k++ % 2 || k == n) {
			bytes_put(to, &pair, 1);
			pair = 0;
		}
	}
	misses = 0;
	for (size_t i = 0; i < s->n; i++)
		if (wet_side_word(w, s, i, &misses, &word))
			bytes_put(to, &word, (word_bits(word) - 4) / 8);
}

void wet_stream_save(const struct wet_stream *w, struct bytes *to)
{
	const struct wet_side *s = &w->side[1];
	uint8_t head[2] = {(uint8_t)w->context, (uint8_t)w->table_bits};
	size_t entries = is_fcm(w->predictor) ? (size_t)1 << w->table_bits : w->context, used = 0,
	       last = 0;
	bytes_put(to, head, sizeof(head));
	save_hits(s, to);
	save_words(w, s, to);
	for (size_t i = 0; i < entries; i++)
		used += s->table[i] != 0;
	bytes_put_varint(to, used);
	for (size_t i = 0; i < entries; i++)
		if (s->table[i]) {
			bytes_put_varint(to, i - last);
			bytes_put_varint(to, s->table[i]);
			last = i;
		}
}

/* @n entries by their bits of @hits, and the words at @in: each has one, but for hits of FCM, and
 * that of a hit is an index. */
static int load_entries(const struct wet_stream *w, struct wet_side *s, uint64_t n,
			const uint8_t *hits, struct cursor *in)
{
	uint64_t n_words, k = 0;
	if (!cursor_varint(in, &n_words) || n_words > n ||
	    (n_words + 1) / 2 > (uint64_t)(in->end - in->at))
		return -EBADMSG;
	const uint8_t *lengths = in->at;
	in->at += (n_words + 1) / 2;
	for (uint64_t i = 0; i < n; i++) {
		bool hit = hits[i / 8] >> i % 8 & 1;
		uint64_t word = 0;
		if (!hit || !is_fcm(w->predictor)) {
			unsigned len = k < n_words ? lengths[k / 2] >> 4 * (k % 2) & 15 : 9;
			if (len > 8 || len > (uint64_t)(in->end - in->at))
				return -EBADMSG;
			memcpy(&word, in->at, len);
			in->at += len;
			k++;
		}
		if (hit && word >= w->context)
			return -EBADMSG;
		if (!put_entry(s, hit ? (unsigned)word + 1 : 0, word))
			return -ENOMEM;
	}
	return k == n_words ? 0 : -EBADMSG;
}

static bool load_table(struct wet_side *s, size_t entries, struct cursor *in)
{
	uint64_t used, at = 0, gap;
	if (!cursor_varint(in, &used) || used > entries)
		return false;
	for (uint64_t i = 0; i < used; i++) {
		if (!cursor_varint(in, &gap) || gap >= entries - at)
			return false;
		at += gap;
		if (!cursor_varint(in, &s->table[at]))
			return false;
	}
	return in->at == in->end;
}

int wet_stream_load(enum wet_predictor predictor, uint64_t n, const uint8_t *bytes, size_t len,
		    struct wet_stream **out)
{
	struct cursor in = {bytes, bytes + len};
	uint8_t context, bits;
	if (!cursor_byte(&in, &context) || !cursor_byte(&in, &bits) || !context ||
	    context > WET_CONTEXT_MAX || bits < 2 || bits > TABLE_BITS_MAX ||
	    n > 8 * (uint64_t)(in.end - in.at))
		return -EBADMSG;
	struct wet_stream *w = wet_stream_new(predictor, context, bits, NULL, 0);
	if (!w)
		return -ENOMEM;
	struct wet_side *s = &w->side[1];
	const uint8_t *hits = in.at;
	in.at += (n + 7) / 8;
	w->length = n;
	int err = load_entries(w, s, n, hits, &in);
	if (!err && !load_table(s, is_fcm(predictor) ? (size_t)1 << bits : context, &in))
		err = -EBADMSG;
	if (err) {
		wet_stream_free(w);
		return err;
	}
	*out = w;
	return 0;
}
