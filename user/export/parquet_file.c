// SPDX-License-Identifier: LGPL-2.1-or-later
/* parquet_file.c: see parquet_file.h.
 *
 *   "PAR1"  (a group: (a column: [dictionary page] data page)...)...  metadata  its length  "PAR1"
 *
 * A page is a header, in Thrift's compact protocol, and its bytes: which rows are not null (a bit
 * each), and the values of these. Metadata says where each column of each group lies; it is made as
 * the groups are written, a few dozen bytes a column and group, and written at the end. */
#include "user/export/parquet_file.h"

#include "offline/base/write_all.h"
#include "user/export/protobuf.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { GROUP_ROWS = 1 << 17, TEXT_BYTES_MAX = 1 << 24 };
enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };
/* Type, Encoding, PageType, CompressionCodec, FieldRepetitionType, ConvertedType */
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { UNCOMPRESSED = 0, OPTIONAL = 1, UTF8 = 0 };
/* Thrift's compact protocol. A field is named by how far it is behind the last one of its struct.
 */
enum { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct column {
	const struct parquet_column *is;
	uint8_t *valid; /* heap: a bit a row */
	uint32_t n;	/* values that are not null */
	int64_t *ints;	/* heap, PARQUET_INT */
	uint8_t *codes; /* heap, PARQUET_WORD: index of words */
	const char *words[PARQUET_WORDS_MAX];
	uint32_t n_words;
	struct protobuf text; /* PARQUET_TEXT: as it is written */
};

struct parquet_file {
	int fd, err;
	uint64_t at; /* bytes written */
	uint32_t rows, n_columns, n_groups;
	uint64_t all_rows;
	struct protobuf page, head, groups; /* a page; its header; metadata of the groups */
	struct column columns[];
};

/* ---- Thrift ---- */

static void put_byte(struct protobuf *to, unsigned byte)
{
	if (protobuf_room(to, 1))
		to->at[to->n++] = (uint8_t)byte;
}

static void put_bytes(struct protobuf *to, const void *data, size_t n)
{
	if (!n || !protobuf_room(to, n))
		return;
	memcpy(to->at + to->n, data, n);
	to->n += n;
}

static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static void put_field(struct protobuf *to, unsigned behind, unsigned type)
{
	put_byte(to, behind << 4 | type);
}

static void put_number(struct protobuf *to, unsigned behind, unsigned type, int64_t value)
{
	put_field(to, behind, type);
	protobuf_varint(to, zigzag(value));
}

static void put_string(struct protobuf *to, const char *text)
{
	protobuf_varint(to, strlen(text));
	put_bytes(to, text, strlen(text));
}

static void put_list(struct protobuf *to, uint32_t n, unsigned type)
{
	put_byte(to, (n < 15 ? n : 15) << 4 | type);
	if (n >= 15)
		protobuf_varint(to, n);
}

static void put_end(struct protobuf *to)
{
	put_byte(to, 0);
}

/* ---- values ---- */

/* The low @width bits of 32 values, one behind the other. */
static void pack(struct protobuf *to, const uint64_t values[MINIBLOCK], unsigned width)
{
	uint64_t bits = 0;
	unsigned n = 0;
	if (!width || !protobuf_room(to, MINIBLOCK * 8))
		return;
	for (unsigned i = 0; i < MINIBLOCK; i++) {
		bits |= values[i] << n;
		n += width;
		if (n < 64)
			continue;
		memcpy(to->at + to->n, &bits, 8);
		to->n += 8;
		n -= 64;
		bits = n ? values[i] >> (width - n) : 0;
	}
	memcpy(to->at + to->n, &bits, n / 8);
	to->n += n / 8;
}

/* A block of differences: the least of them, four widths, and what is above the least. */
static void put_block(struct protobuf *to, const int64_t *values, uint32_t n)
{
	uint64_t above[BLOCK] = {0};
	uint8_t widths[MINIBLOCKS] = {0};
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < n; i++) {
		above[i] = (uint64_t)values[i] - (uint64_t)values[(int64_t)i - 1];
		least = (int64_t)above[i] < least ? (int64_t)above[i] : least;
	}
	for (uint32_t m = 0; m < MINIBLOCKS; m++) {
		uint64_t any = 0;
		for (uint32_t i = m * MINIBLOCK; i < (m + 1) * MINIBLOCK && i < n; i++)
			any |= above[i] -= (uint64_t)least;
		widths[m] = any ? (uint8_t)(64 - __builtin_clzll(any)) : 0;
	}
	protobuf_varint(to, zigzag(least));
	put_bytes(to, widths, sizeof(widths));
	for (uint32_t m = 0; m < MINIBLOCKS; m++)
		pack(to, above + m * MINIBLOCK, widths[m]);
}

static void put_ints(struct protobuf *to, const int64_t *values, uint32_t n)
{
	protobuf_varint(to, BLOCK);
	protobuf_varint(to, MINIBLOCKS);
	protobuf_varint(to, n);
	protobuf_varint(to, zigzag(n ? values[0] : 0));
	for (uint32_t i = 1; i < n; i += BLOCK)
		put_block(to, values + i, n - i < BLOCK ? n - i : BLOCK);
}

/* Eight bits each: a run of so many groups of eight. */
static void put_codes(struct protobuf *to, const uint8_t *codes, uint32_t n)
{
	static const uint8_t none[8];
	put_byte(to, 8);
	protobuf_varint(to, (uint64_t)((n + 7) / 8) << 1 | 1);
	put_bytes(to, codes, n);
	put_bytes(to, none, -n & 7);
}

static void put_valid(struct protobuf *to, const struct column *c, uint32_t rows)
{
	uint32_t bytes = (rows + 7) / 8;
	struct protobuf run = {0};
	protobuf_varint(&run, (uint64_t)bytes << 1 | 1);
	uint32_t length = (uint32_t)run.n + bytes;
	put_bytes(to, &length, sizeof(length));
	put_bytes(to, run.at, run.n);
	put_bytes(to, c->valid, bytes);
	to->failed |= run.failed;
	protobuf_deinit(&run);
}

/* ---- pages ---- */

static void put_out(struct parquet_file *f, const struct protobuf *what)
{
	if (what->failed && !f->err)
		f->err = -ENOMEM;
	if (!f->err)
		f->err = write_all(f->fd, what->at, what->n);
	f->at += what->n;
}

static void put_page(struct parquet_file *f, unsigned type, uint32_t n, unsigned encoding)
{
	struct protobuf *head = &f->head;
	head->n = 0;
	put_number(head, 1, THRIFT_I32, type);
	put_number(head, 1, THRIFT_I32, (int64_t)f->page.n);
	put_number(head, 1, THRIFT_I32, (int64_t)f->page.n);
	put_field(head, type == DATA_PAGE ? 2 : 4, THRIFT_STRUCT);
	put_number(head, 1, THRIFT_I32, n);
	put_number(head, 1, THRIFT_I32, encoding);
	if (type == DATA_PAGE) {
		put_number(head, 1, THRIFT_I32, RLE);
		put_number(head, 1, THRIFT_I32, RLE);
	}
	put_end(head);
	put_end(head);
	put_out(f, head);
	put_out(f, &f->page);
	f->page.n = 0;
}

static void put_dictionary(struct parquet_file *f, const struct column *c)
{
	for (uint32_t i = 0; i < c->n_words; i++) {
		uint32_t length = (uint32_t)strlen(c->words[i]);
		put_bytes(&f->page, &length, sizeof(length));
		put_bytes(&f->page, c->words[i], length);
	}
	put_page(f, DICTIONARY_PAGE, c->n_words, PLAIN);
}

static void describe_column(struct parquet_file *f, const struct column *c, unsigned encoding,
			    uint64_t from, uint64_t data_from)
{
	struct protobuf *to = &f->groups;
	bool is_word = c->is->kind == PARQUET_WORD;
	put_number(to, 2, THRIFT_I64, (int64_t)from);
	put_field(to, 1, THRIFT_STRUCT);
	put_number(to, 1, THRIFT_I32, c->is->kind == PARQUET_INT ? TYPE_INT64 : TYPE_BYTE_ARRAY);
	put_field(to, 1, THRIFT_LIST);
	put_list(to, is_word ? 3 : 2, THRIFT_I32);
	protobuf_varint(to, zigzag(RLE));
	protobuf_varint(to, zigzag(encoding));
	if (is_word)
		protobuf_varint(to, zigzag(PLAIN));
	put_field(to, 1, THRIFT_LIST);
	put_list(to, 1, THRIFT_BINARY);
	put_string(to, c->is->name);
	put_number(to, 1, THRIFT_I32, UNCOMPRESSED);
	put_number(to, 1, THRIFT_I64, f->rows);
	put_number(to, 1, THRIFT_I64, (int64_t)(f->at - from));
	put_number(to, 1, THRIFT_I64, (int64_t)(f->at - from));
	put_number(to, 2, THRIFT_I64, (int64_t)data_from);
	if (is_word)
		put_number(to, 2, THRIFT_I64, (int64_t)from);
	put_end(to);
	put_end(to);
}

static void write_column(struct parquet_file *f, struct column *c)
{
	uint64_t from = f->at, data_from;
	unsigned encoding = c->is->kind == PARQUET_INT	  ? DELTA_BINARY_PACKED
			    : c->is->kind == PARQUET_WORD ? RLE_DICTIONARY
							  : PLAIN;
	if (c->is->kind == PARQUET_WORD)
		put_dictionary(f, c);
	data_from = f->at;
	put_valid(&f->page, c, f->rows);
	if (c->is->kind == PARQUET_INT)
		put_ints(&f->page, c->ints, c->n);
	else if (c->is->kind == PARQUET_WORD)
		put_codes(&f->page, c->codes, c->n);
	else
		put_bytes(&f->page, c->text.at, c->text.n);
	f->page.failed |= c->text.failed;
	put_page(f, DATA_PAGE, f->rows, encoding);
	describe_column(f, c, encoding, from, data_from);
	memset(c->valid, 0, GROUP_ROWS / 8);
	c->n = 0;
	c->text.n = 0;
}

static void write_group(struct parquet_file *f)
{
	uint64_t from = f->at;
	if (!f->rows)
		return;
	put_field(&f->groups, 1, THRIFT_LIST);
	put_list(&f->groups, f->n_columns, THRIFT_STRUCT);
	for (uint32_t i = 0; i < f->n_columns; i++)
		write_column(f, &f->columns[i]);
	put_number(&f->groups, 1, THRIFT_I64, (int64_t)(f->at - from));
	put_number(&f->groups, 1, THRIFT_I64, f->rows);
	put_end(&f->groups);
	f->n_groups++;
	f->all_rows += f->rows;
	f->rows = 0;
}

/* ---- rows ---- */

static struct column *value_of(struct parquet_file *file, uint32_t column)
{
	struct column *c = &file->columns[column];
	c->valid[file->rows / 8] |= (uint8_t)(1u << (file->rows % 8));
	return c;
}

void parquet_int(struct parquet_file *file, uint32_t column, int64_t value)
{
	struct column *c = value_of(file, column);
	c->ints[c->n++] = value;
}

void parquet_word(struct parquet_file *file, uint32_t column, const char *word)
{
	uint32_t code = 0;
	if (!word)
		return;
	struct column *c = value_of(file, column);
	while (code < c->n_words && c->words[code] != word)
		code++;
	if (code == PARQUET_WORDS_MAX) {
		file->err = -E2BIG;
		return;
	}
	if (code == c->n_words)
		c->words[c->n_words++] = word;
	c->codes[c->n++] = (uint8_t)code;
}

void parquet_text(struct parquet_file *file, uint32_t column, const char *text)
{
	if (!text)
		return;
	struct column *c = value_of(file, column);
	uint32_t length = (uint32_t)strlen(text);
	put_bytes(&c->text, &length, sizeof(length));
	put_bytes(&c->text, text, length);
	c->n++;
}

int parquet_row_end(struct parquet_file *file)
{
	bool full = ++file->rows == GROUP_ROWS;
	for (uint32_t i = 0; i < file->n_columns; i++)
		full |= file->columns[i].text.n >= TEXT_BYTES_MAX;
	if (full)
		write_group(file);
	return file->err;
}

/* ---- the file ---- */

static bool make_column(struct column *c, const struct parquet_column *is)
{
	c->is = is;
	c->valid = calloc(1, GROUP_ROWS / 8);
	if (is->kind == PARQUET_INT)
		c->ints = malloc(GROUP_ROWS * sizeof(*c->ints));
	if (is->kind == PARQUET_WORD)
		c->codes = malloc(GROUP_ROWS);
	return c->valid && (c->ints || is->kind != PARQUET_INT) &&
	       (c->codes || is->kind != PARQUET_WORD);
}

int parquet_new(int dir, const char *name, const struct parquet_column *columns, uint32_t n,
		struct parquet_file **out)
{
	struct parquet_file *f = calloc(1, sizeof(*f) + n * sizeof(*f->columns));
	bool whole = f;
	if (!f)
		return -ENOMEM;
	f->n_columns = n;
	for (uint32_t i = 0; i < n; i++)
		whole = make_column(&f->columns[i], &columns[i]) && whole;
	f->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int err = f->fd < 0 ? -errno : whole ? 0 : -ENOMEM;
	if (err) {
		parquet_free(f);
		return err;
	}
	put_bytes(&f->head, "PAR1", 4);
	put_out(f, &f->head);
	*out = f;
	return 0;
}

static void put_schema(struct parquet_file *f, struct protobuf *to)
{
	put_list(to, f->n_columns + 1, THRIFT_STRUCT);
	put_field(to, 4, THRIFT_BINARY);
	put_string(to, "row");
	put_number(to, 1, THRIFT_I32, f->n_columns);
	put_end(to);
	for (uint32_t i = 0; i < f->n_columns; i++) {
		const struct parquet_column *is = f->columns[i].is;
		put_number(to, 1, THRIFT_I32,
			   is->kind == PARQUET_INT ? TYPE_INT64 : TYPE_BYTE_ARRAY);
		put_number(to, 2, THRIFT_I32, OPTIONAL);
		put_field(to, 1, THRIFT_BINARY);
		put_string(to, is->name);
		if (is->kind != PARQUET_INT)
			put_number(to, 2, THRIFT_I32, UTF8);
		put_end(to);
	}
}

int parquet_finish(struct parquet_file *file)
{
	struct protobuf *to = &file->page;
	write_group(file);
	to->n = 0;
	put_number(to, 1, THRIFT_I32, 1);
	put_field(to, 1, THRIFT_LIST);
	put_schema(file, to);
	put_number(to, 1, THRIFT_I64, (int64_t)file->all_rows);
	put_field(to, 1, THRIFT_LIST);
	put_list(to, file->n_groups, THRIFT_STRUCT);
	put_bytes(to, file->groups.at, file->groups.n);
	to->failed |= file->groups.failed;
	put_field(to, 2, THRIFT_BINARY);
	put_string(to, "pugmark");
	put_end(to);
	uint32_t length = (uint32_t)to->n;
	put_bytes(to, &length, sizeof(length));
	put_bytes(to, "PAR1", 4);
	put_out(file, to);
	if (close(file->fd) && !file->err)
		file->err = -errno;
	file->fd = -1;
	return file->err;
}

void parquet_free(struct parquet_file *file)
{
	if (!file)
		return;
	for (uint32_t i = 0; i < file->n_columns; i++) {
		free(file->columns[i].valid);
		free(file->columns[i].ints);
		free(file->columns[i].codes);
		protobuf_deinit(&file->columns[i].text);
	}
	protobuf_deinit(&file->page);
	protobuf_deinit(&file->head);
	protobuf_deinit(&file->groups);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}
