// SPDX-License-Identifier: LGPL-2.1-or-later
/* code_names.c: see code_names.h. The map's folder is found while the process is there, and kept
 * open: a map may be written when it ends. That file is looked for anew each time, since it may be
 * another one by now; a dump is the one that the process has mapped first, and is kept open. */
#include "user/proc/code_names.h"

#include "offline/base/clock.h"
#include "offline/base/open_regular.h"
#include "offline/base/search.h"
#include "offline/base/vec.h"
#include "user/file/jit_dump.h"
#include "user/file/maps_lines.h"
#include "user/file/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of all that a process says. */
#define ALL_MAX (UINT64_C(64) << 20)
/* How long between two looks for a dump. */
#define LOOK_MIN_NS UINT64_C(20000000)
#define LOOK_MAX_NS UINT64_C(1000000000)
#define SECOND_NS INT64_C(1000000000)
/* The kernel counts the start of a process in ticks, and stamps files with the last tick. */
#define TICKS_NS INT64_C(100000000)

enum { TAIL = 64 };

/* Where a dump says what a piece of code is called. */
struct dump_load {
	uint64_t number, off;
};

struct code_names {
	int32_t pid, pid_inside; /* as we see it, and as it does */
	uid_t uid;		 /* its effective one */
	int64_t start_ns;	 /* when it began, by the clock of files; 0: not known */
	int folder;		 /* -1: not found */
	/* The map that was read last, and up to where. */
	dev_t dev;
	ino_t ino;
	uint64_t off;
	char tail[TAIL]; /* its last bytes before that */
	uint32_t n_tail;
	uint64_t since_ns; /* its last end had been reached by then; 0: never */
	struct perf_map map;
	/* The same of the dump. */
	int dump_fd; /* -1: there is none so far */
	uint64_t dump_off, dump_since_ns;
	uint64_t dump_next_ns, dump_wait_ns; /* when it is looked for next */
	struct jit_dump dump;
	VEC(struct dump_load) loads; /* by number */
	uint64_t all;		     /* bytes that were read of both */
	uint64_t read_ns;	     /* all that was there had been read by then; 0: never */
	bool too_many, told, said_so;
	bool more;		       /* code_names_more() */
	char bytes[CODE_TEXT_MAX / 2]; /* as read */
	struct chunk_code *text;       /* CODE_TEXT_MAX */
};

/* The number behind the last blank of @line. */
static long last_number(const char *line)
{
	const char *at = line + strcspn(line, "\n");
	while (at > line && at[-1] != '\t' && at[-1] != ' ')
		at--;
	return strtol(at, NULL, 10);
}

/* Whose the process is, and what number it has inside. */
static bool read_status(struct code_names *n)
{
	char path[64], line[256];
	unsigned real, effective;
	bool has_uid = false;
	snprintf(path, sizeof(path), "/proc/%d/status", n->pid);
	FILE *f = fopen(path, "re");
	n->pid_inside = n->pid;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) {
			n->uid = effective;
			has_uid = true;
		}
		if (!strncmp(line, "NSpid:", 6))
			n->pid_inside = (int32_t)last_number(line);
	}
	if (f)
		fclose(f);
	return has_uid && n->pid_inside > 0;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return ts.tv_sec * SECOND_NS + ts.tv_nsec;
}

/* When process @pid began, by CLOCK_REALTIME; 0: that is not known. */
static int64_t start_of(int32_t pid)
{
	char path[64], line[1024];
	unsigned long long ticks;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "re");
	const char *at = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	/* The name may hold anything; the start is the 20th behind it. */
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return 0;
	int64_t started_ns = (int64_t)(ticks * (uint64_t)SECOND_NS / sysconf(_SC_CLK_TCK));
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - started_ns);
}

/* Its /tmp, as it sees it, and not by way of a link: an absolute one would lead into ours. */
static int open_folder(const struct code_names *n)
{
	char path[64];
	const struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH,
	};
	snprintf(path, sizeof(path), "/proc/%d/root", n->pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	int fd = (int)syscall(SYS_openat2, root, "tmp", &how, sizeof(how));
	close(root);
	return fd;
}

struct code_names *code_names_new(int32_t pid)
{
	struct code_names *n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->pid = pid;
	n->dump_fd = -1;
	n->start_ns = start_of(pid);
	n->text = malloc(CODE_TEXT_MAX);
	n->folder = n->text && read_status(n) ? open_folder(n) : -1;
	if (n->text)
		return n;
	code_names_free(n);
	return NULL;
}

void code_names_free(struct code_names *n)
{
	if (!n)
		return;
	if (n->folder >= 0)
		close(n->folder);
	if (n->dump_fd >= 0)
		close(n->dump_fd);
	VEC_FREE(&n->loads);
	free(n->text);
	free(n);
}

/* Whether the file was written to since the process began: another one that had its number may have
 * left a map. */
static bool is_of_now(const struct code_names *n, const struct stat *st)
{
	return !n->start_ns ||
	       st->st_mtim.tv_sec * SECOND_NS + st->st_mtim.tv_nsec > n->start_ns - TICKS_NS;
}

/* Whether what was read last is still where it was: else the file was written anew, and is longer
 * by now than it had been. */
static bool goes_on(const struct code_names *n, int fd)
{
	char tail[TAIL];
	return n->n_tail <= n->off &&
	       pread(fd, tail, n->n_tail, (off_t)(n->off - n->n_tail)) == (ssize_t)n->n_tail &&
	       !memcmp(tail, n->tail, n->n_tail);
}

static void keep_tail(struct code_names *n, size_t taken)
{
	if (!taken)
		return;
	n->n_tail = taken < TAIL ? (uint32_t)taken : TAIL;
	memcpy(n->tail, n->bytes + taken - n->n_tail, n->n_tail);
}

/* Opens the map, if it is there and the process's own. */
static int open_map(struct code_names *n)
{
	char name[48];
	struct stat st;
	snprintf(name, sizeof(name), "perf-%d.map", n->pid_inside);
	int fd = open_regular_at(n->folder, name, &st);
	if (fd < 0)
		return fd;
	if (st.st_uid != n->uid || st.st_nlink != 1 || !is_of_now(n, &st)) {
		close(fd);
		return -EPERM;
	}
	/* Another one, or begun anew. */
	if (st.st_dev != n->dev || st.st_ino != n->ino || (uint64_t)st.st_size < n->off ||
	    !goes_on(n, fd)) {
		n->dev = st.st_dev;
		n->ino = st.st_ino;
		n->off = 0;
		n->n_tail = 0;
		n->map = (struct perf_map){0};
	}
	return fd;
}

/* Appends what @line says. The caller has seen that there is room. */
static size_t put_line(char *to, const struct perf_map_line *line)
{
	size_t len = (size_t)sprintf(to, "%llx %llx ", (unsigned long long)line->start,
				     (unsigned long long)line->size);
	memcpy(to + len, line->name, line->name_len);
	len += line->name_len;
	to[len++] = '\n';
	return len;
}

enum { LINE_ROOM = PERF_MAP_NAME_MAX + 40 };
/* So many records of a dump that name nothing are taken in one look, and each counts as so many
 * bytes of all that a process says. */
enum { NAMELESS_MAX = 4096, NAMELESS_BYTES = 64 };

/* The lines of the next @len bytes, as far as there is room for them. Returns how many bytes of
 * text these are; *@taken: of how many that were read. */
static size_t take_lines(struct code_names *n, size_t len, size_t *taken)
{
	size_t put = 0, room = CODE_TEXT_MAX - sizeof(*n->text);
	struct perf_map_line line;
	bool is;
	for (*taken = 0; room - put >= LINE_ROOM;) {
		size_t used = perf_map_next(&n->map, n->bytes + *taken, len - *taken, &line, &is);
		if (!used)
			break;
		*taken += used;
		if (is)
			put += put_line(n->text->text + put, &line);
	}
	return put;
}

/* Reads on in the map. Returns how many bytes of text that gave. */
static size_t read_map(struct code_names *n, uint64_t now_ns)
{
	size_t put = 0, taken = 1;
	int fd = open_map(n);

	if (fd == -ENOENT) /* it has said nothing so far */
		n->since_ns = now_ns;
	if (fd < 0)
		return 0;
	while (!put && taken) {
		ssize_t got = pread(fd, n->bytes, sizeof(n->bytes), (off_t)n->off);
		put = take_lines(n, got > 0 ? (size_t)got : 0, &taken);
		keep_tail(n, taken);
		n->off += taken;
		n->all += taken;
		if (n->all > ALL_MAX) {
			n->too_many = true;
			break;
		}
	}
	close(fd);
	if (!put)
		n->since_ns = now_ns;
	return put;
}

/* Opens the file of @m, which the process has mapped, if that is its dump. Whoever writes one maps
 * a page of it, executable, for perf to see; so it is found wherever it lies. */
static int open_dump(const struct code_names *n, const struct maps_line *m)
{
	const char *slash = strrchr(m->name, '/');
	char wanted[48], path[80];
	struct stat st;

	snprintf(wanted, sizeof(wanted), "jit-%d.dump", n->pid_inside);
	if (!slash || !(m->prot & PROT_EXEC) || strcmp(slash + 1, wanted) != 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", n->pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	int fd = open_regular(path, &st);
	if (fd >= 0 && st.st_uid == n->uid)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Not each time: to read what is mapped holds the process up where it maps as well. */
static void find_dump(struct code_names *n, uint64_t now_ns)
{
	struct maps_lines lines;
	struct maps_line line;

	n->dump_since_ns = now_ns;
	if (now_ns < n->dump_next_ns)
		return;
	n->dump_wait_ns =
		n->dump_wait_ns < LOOK_MAX_NS / 2 ? 2 * n->dump_wait_ns + LOOK_MIN_NS : LOOK_MAX_NS;
	n->dump_next_ns = now_ns + n->dump_wait_ns;
	if (maps_lines_open(&lines, n->pid))
		return;
	while (n->dump_fd < 0 && maps_lines_next(&lines, &line))
		n->dump_fd = open_dump(n, &line);
	maps_lines_close(&lines);
}

/* Notes where the dump names the piece that it has just begun. Whoever writes one counts them. */
static void note_load(struct code_names *n)
{
	if (!n->loads.n || n->loads.at[n->loads.n - 1].number < n->dump.number)
		n->too_many |=
			!VEC_PUSH(&n->loads, (struct dump_load){n->dump.number, n->dump_off});
}

/* What the piece was called that the dump has just moved to where @line says. */
static bool name_moved(struct code_names *n, struct perf_map_line *line)
{
	struct perf_map_line load;
	uint32_t i = SEARCH_FIRST_NOT(0, n->loads.n, k, n->loads.at[k].number < n->dump.number);
	if (i == n->loads.n || n->loads.at[i].number != n->dump.number)
		return false;
	ssize_t got = pread(n->dump_fd, n->bytes, JIT_DUMP_HEAD_MAX, (off_t)n->loads.at[i].off);
	if (got <= 0 || !jit_dump_load(n->bytes, (size_t)got, &load))
		return false;
	line->name = load.name;
	line->name_len = load.name_len;
	return true;
}

/* Reads on in the dump: a record each time, as most of one is code. */
static size_t read_dump(struct code_names *n, uint64_t now_ns)
{
	size_t put = 0, room = CODE_TEXT_MAX - sizeof(*n->text);
	struct perf_map_line line;
	struct stat st;
	uint32_t nameless = 0;
	bool is;

	if (n->dump_fd < 0)
		find_dump(n, now_ns);
	if (n->dump_fd < 0 || fstat(n->dump_fd, &st))
		return 0;
	while (room - put >= LINE_ROOM && n->dump_off < (uint64_t)st.st_size && !n->more) {
		ssize_t got = pread(n->dump_fd, n->bytes, JIT_DUMP_HEAD_MAX, (off_t)n->dump_off);
		uint64_t used = jit_dump_next(&n->dump, n->bytes, got > 0 ? (size_t)got : 0,
					      (uint64_t)st.st_size - n->dump_off, &line, &is);
		if (!used)
			break;
		if (is)
			note_load(n);
		else if (n->dump.moved)
			is = name_moved(n, &line);
		n->dump_off += used;
		n->all += is ? LINE_ROOM : NAMELESS_BYTES;
		nameless += !is;
		n->more = nameless == NAMELESS_MAX;
		if (is)
			put += put_line(n->text->text + put, &line);
		if (n->all > ALL_MAX) {
			n->too_many = true;
			break;
		}
	}
	if (!put && !n->more)
		n->dump_since_ns = now_ns;
	return put;
}

const struct chunk_code *code_names_look(struct code_names *n, uint32_t *bytes)
{
	uint64_t before_ns = clock_now_ns();
	size_t put = 0;

	n->more = false;
	if (!n->too_many && n->folder >= 0)
		put = read_map(n, before_ns);
	n->text->since_ns = n->since_ns;
	if (!put && !n->too_many) {
		put = read_dump(n, before_ns);
		n->text->since_ns = n->dump_since_ns;
	}
	if (!put && !n->too_many && !n->more)
		n->read_ns = before_ns;
	if (!put && (!n->too_many || n->said_so))
		return NULL;
	if (!put) {
		n->text->since_ns = n->read_ns;
		n->said_so = true;
	}
	n->text->kind = CHUNK_CODE;
	n->text->pid = n->pid;
	n->text->time_ns = clock_now_ns();
	*bytes = (uint32_t)(sizeof(*n->text) + put);
	return n->text;
}

bool code_names_more(const struct code_names *n)
{
	return n->more;
}

bool code_names_too_many(struct code_names *n)
{
	bool is = n->too_many && !n->told;
	n->told |= is;
	return is;
}
