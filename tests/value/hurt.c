// SPDX-License-Identifier: LGPL-2.1-or-later
/* hurt.c: how much of what is wrong in a recording the replay finds by itself, where no checksum
 * tells: one capture of a task is taken away, or one bit of it is another one, and its segment is
 * made anew, with the right sums.
 *
 *   hurt [-n TIMES] [-s SEED] DIR COPY
 *
 * COPY is a copy of DIR, whose captures are written over. Prints, for each of both, how many were
 * found (a gap, or values that do not go up to the end), how many changed nothing, how many only
 * what is not called exact, and how many made exact values that are not those of DIR: before they
 * were found ("late"), or without being found ("silent"), by what was changed. Compared are the
 * general registers at POINTS moments, and at the end all memory that may be written. Exit 1: one
 * that was taken away was silent, or more than a tenth of the bits were. */
#include "offline/base/codec.h"
#include "offline/capture/capture_code.h"
#include "offline/capture/captures_impl.h"
#include "offline/replay/replay.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { POINTS = 300, PARTS = 8 };
enum verdict { FOUND, LATE, NOTHING, INEXACT, SILENT, VERDICTS };
static const char *const verdicts[] = {"found", "found late", "changed nothing", "inexact alone",
				       "silent"};
static const char *const parts[PARTS] = {
	"registers",  "stack pointer", "instruction pointer", "system call",
	"its result", "bytes",	       "addresses of bytes",  "hash"};

struct moment {
	uint64_t count, gpr[16];
	uint16_t exact;
};

/* What DIR comes to. */
struct truth {
	struct moment at[POINTS];
	unsigned n;
	uint64_t count;
	struct value_replay *replay;
	struct value_run *run;
};

static void *check(void *p)
{
	if (!p) {
		fprintf(stderr, "hurt: out of memory\n");
		exit(2);
	}
	return p;
}

static struct value_run *begin(const char *dir, struct value_replay **replay)
{
	struct pugmark_diag diag = {.text = ""};
	struct value_run *run = NULL;
	uint32_t n;
	*replay = NULL;
	if (value_replay_open(dir, replay, &diag))
		return NULL;
	const uint32_t *tasks = captures_tasks(value_replay_captures(*replay), &n);
	if (!n || value_run_new(*replay, tasks[0], &run, &diag))
		return NULL;
	value_run_snapshot_every(run, UINT64_MAX / 2);
	return run;
}

static struct moment moment_of(struct value_run *run)
{
	struct moment m = {.count = value_run_count(run)};
	struct value_machine *machine = value_run_machine(run);
	memcpy(m.gpr, value_machine_state(machine)->gpr, sizeof(m.gpr));
	for (unsigned i = 0; i < 16 && !value_machine_memory(machine)->on_supposition; i++)
		m.exact |= (value_quality(machine, 1ull << i) == VALUE_EXACT) << i;
	return m;
}

static void learn(const char *dir, struct truth *t)
{
	t->run = begin(dir, &t->replay);
	if (!t->run || value_run_forward(t->run, UINT64_MAX / 4, NULL) != VALUE_REPLAY_END) {
		fprintf(stderr, "hurt: %s is not known to its end\n", dir);
		exit(2);
	}
	t->count = value_run_count(t->run);
	value_run_free(t->run);
	value_replay_free(t->replay);
	t->run = begin(dir, &t->replay);
	for (unsigned i = 0; i < POINTS; i++) {
		value_run_forward(t->run, t->count * (i + 1) / (POINTS + 1), NULL);
		t->at[t->n++] = moment_of(t->run);
	}
	value_run_forward(t->run, UINT64_MAX / 4, NULL);
}

/* Whether all bytes that are exact in both are the same. @differs: some are not at all. */
static bool same_memory(struct value_run *a, struct value_run *b, bool *differs)
{
	struct value_memory *x = value_machine_memory(value_run_machine(a));
	struct value_memory *y = value_machine_memory(value_run_machine(b));
	const struct value_region *regions;
	size_t n = value_memory_regions(x, &regions);
	bool same = true;
	for (size_t r = 0; r < n; r++)
		for (uint64_t at = regions[r].start; at < regions[r].end; at += VALUE_PAGE) {
			uint8_t bytes[2][VALUE_PAGE], qualities[2][VALUE_PAGE];
			if (!(regions[r].prot & VALUE_WRITE) ||
			    value_memory_read(x, at, bytes[0], VALUE_PAGE, NULL) ||
			    value_memory_read(y, at, bytes[1], VALUE_PAGE, NULL) ||
			    value_memory_read_qualities(x, at, qualities[0], VALUE_PAGE) ||
			    value_memory_read_qualities(y, at, qualities[1], VALUE_PAGE))
				continue;
			for (unsigned i = 0; i < VALUE_PAGE; i++) {
				if (bytes[0][i] == bytes[1][i])
					continue;
				*differs = true;
				same &= qualities[0][i] || qualities[1][i];
			}
		}
	return same;
}

static enum verdict judge(const char *copy, const struct truth *t)
{
	struct value_replay *replay;
	struct value_run *run = begin(copy, &replay);
	bool wrong = false, differs = false;
	enum value_replay_stop stop = VALUE_REPLAY_LIMIT;
	for (unsigned i = 0; run && i < t->n && stop == VALUE_REPLAY_LIMIT; i++) {
		stop = value_run_forward(run, t->at[i].count, NULL);
		if (stop != VALUE_REPLAY_LIMIT)
			break;
		struct moment m = moment_of(run);
		for (unsigned k = 0; k < 16; k++) {
			bool other = m.gpr[k] != t->at[i].gpr[k];
			differs |= other;
			wrong |= other && m.exact & t->at[i].exact & 1u << k;
		}
	}
	if (run && stop == VALUE_REPLAY_LIMIT)
		stop = value_run_forward(run, UINT64_MAX / 4, NULL);
	bool ends = run && stop == VALUE_REPLAY_END;
	if (ends)
		wrong |= !same_memory(t->run, run, &differs) ||
			 (value_run_count(run) != t->count && !value_run_supposed(run));
	value_run_free(run);
	value_replay_free(replay);
	if (!ends)
		return wrong ? LATE : FOUND;
	return wrong ? SILENT : differs ? INEXACT : NOTHING;
}

/* Changes a bit of what the record tells; says which part it is of. */
static int flip(struct capture *c, struct capture_range *ranges)
{
	for (;;) {
		unsigned part = (unsigned)rand() % 7, reg = (unsigned)rand() % 16;
		uint64_t bit = 1ull << (unsigned)rand() % 64;
		switch (part) {
		case 0:
			if (!(c->known >> reg & 1))
				break;
			c->regs[reg] ^= bit;
			return 0;
		case 1:
			c->sp ^= bit;
			return 1;
		case 2:
			if (c->place != CAPTURE_NONE)
				break;
			c->ip ^= bit;
			return 2;
		case 3:
			if (c->kind != CAPTURE_KERNEL)
				break;
			if (reg % 7 == 6)
				c->nr ^= 1u << (unsigned)rand() % 9;
			else
				c->args[reg % 7 % 6] ^= bit;
			return 3;
		case 4:
			if (c->kind != CAPTURE_KERNEL)
				break;
			c->result ^= (int64_t)bit;
			return 4;
		case 5: {
			if (!c->n_ranges)
				break;
			struct capture_range *r = &ranges[(unsigned)rand() % c->n_ranges];
			if (r->unread || !r->len)
				break;
			uint8_t *bytes = check(malloc(r->len));
			memcpy(bytes, r->bytes, r->len);
			bytes[(unsigned)rand() % r->len] ^= 1u << (unsigned)rand() % 8;
			r->bytes = bytes; /* for as long as the segment is made */
			return 5;
		}
		case 6:
			if (c->n_ranges && rand() % 2) {
				ranges[(unsigned)rand() % c->n_ranges].addr ^= bit;
				return 6;
			}
			if (!c->has_hash)
				break;
			c->hash ^= 1u << (unsigned)rand() % 16;
			return 7;
		}
	}
}

/* Makes the records of segment @raw anew, the @which-th taken away or changed. */
static const uint8_t *make_anew(const uint8_t *raw, struct capture_encoder *enc, uint32_t which,
				bool remove, uint32_t *len, int *part)
{
	struct capture_decoder *dec = check(capture_decoder_new());
	struct capture c;
	bool bad = capture_decoder_open(dec, raw, *len);
	for (uint32_t i = 0; !bad && capture_decoder_next(dec, &c) == 1; i++) {
		struct capture_range *ranges = check(calloc(c.n_ranges + 1, sizeof(*ranges)));
		if (c.n_ranges)
			memcpy(ranges, c.ranges, c.n_ranges * sizeof(*ranges));
		c.ranges = ranges;
		if (i == which && !remove)
			*part = flip(&c, ranges);
		if (i != which || !remove)
			bad |= capture_encoder_add(enc, &c);
		free(ranges);
	}
	capture_decoder_free(dec);
	return bad ? NULL : capture_encoder_finish(enc, len);
}

/* Writes @dir's captures over those of @copy, with one record changed. The part, or -1. */
static int hurt(const char *dir, const char *copy, bool remove)
{
	struct capture_segments segments;
	struct codec *codec = check(codec_new());
	struct capture_encoder *enc = check(capture_encoder_new());
	struct bytes stored = {0}, raw = {0};
	char path[4096];
	uint64_t records = 0;
	int part = -1;
	snprintf(path, sizeof(path), "%s/captures", dir);
	if (capture_segments_open(path, &segments))
		exit(2);
	uint32_t task = UINT32_MAX;
	for (uint32_t i = 0; i < segments.n; i++)
		if (segments.at[i].header.kind == CAPTURE_SEGMENT_RECORDS) {
			task = task == UINT32_MAX ? segments.at[i].header.task : task;
			records += segments.at[i].header.task == task ? segments.at[i].header.n : 0;
		}
	uint64_t which = 1 + (uint64_t)rand() % (records - 1); /* the first is the start */
	snprintf(path, sizeof(path), "%s/captures", copy);
	unlink(path);
	FILE *out = check(fopen(path, "w"));
	for (uint32_t i = 0; i < segments.n; i++) {
		struct segment_header h = segments.at[i].header;
		bool ours = h.kind == CAPTURE_SEGMENT_RECORDS && h.task == task;
		bool here = ours && which >= h.first_event && which < h.first_event + h.n;
		uint8_t head[SEGMENT_HEADER_BYTES];
		if (segment_load(segments.fd, &segments.at[i], codec, &stored, &raw))
			exit(2);
		const uint8_t *payload = raw.data;
		uint32_t len = h.raw_bytes;
		if (here) {
			payload = check((void *)make_anew(raw.data, enc, which - h.first_event,
							  remove, &len, &part));
			h.n -= remove;
		} else if (ours && remove && h.first_event > which) {
			h.first_event--;
		}
		uint8_t *packed = check(malloc(codec_bound(len)));
		h.raw_bytes = len;
		h.stored_bytes = codec_compress(codec, payload, len, packed, &h.codec);
		h.crc = crc32(0, packed, h.stored_bytes);
		h.number = i;
		segment_header_write(&h, head);
		fwrite(head, 1, sizeof(head), out);
		fwrite(packed, 1, h.stored_bytes, out);
		free(packed);
	}
	fclose(out);
	capture_segments_deinit(&segments);
	capture_encoder_free(enc);
	codec_free(codec);
	bytes_deinit(&stored);
	bytes_deinit(&raw);
	return part;
}

static bool try(const char *dir, const char *copy, const struct truth *t, unsigned times,
		bool remove)
{
	unsigned all[VERDICTS] = {0}, silent[PARTS] = {0}, tried[PARTS] = {0};
	for (unsigned i = 0; i < times; i++) {
		int part = hurt(dir, copy, remove);
		enum verdict v = judge(copy, t);
		all[v]++;
		if (part >= 0) {
			tried[part]++;
			silent[part] += v == SILENT;
		}
	}
	printf("%s, %u times:", remove ? "a capture taken away" : "a bit of a capture changed",
	       times);
	for (unsigned v = 0; v < VERDICTS; v++)
		printf(" %u %s%s", all[v], verdicts[v], v + 1 < VERDICTS ? "," : "");
	putchar('\n');
	for (unsigned p = 0; p < PARTS && !remove; p++)
		if (tried[p])
			printf("  %s: %u, %u of them silent\n", parts[p], tried[p], silent[p]);
	return remove ? !all[SILENT] : all[SILENT] * 10 <= times;
}

int main(int argc, char **argv)
{
	static struct truth truth;
	unsigned times = 100, seed = 1;
	int option;
	while ((option = getopt(argc, argv, "n:s:")) != -1) {
		if (option == 'n')
			times = strtoul(optarg, NULL, 0);
		else if (option == 's')
			seed = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind != 2)
		return 2;
	srand(seed);
	learn(argv[optind], &truth);
	bool fine = try(argv[optind], argv[optind + 1], &truth, times, true);
	fine &= try(argv[optind], argv[optind + 1], &truth, times, false);
	value_run_free(truth.run);
	value_replay_free(truth.replay);
	return !fine;
}
