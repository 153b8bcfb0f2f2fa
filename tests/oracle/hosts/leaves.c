// SPDX-License-Identifier: LGPL-2.1-or-later
/* leaves.c: functions of the C library that call nothing back in other programs do here: standard
 * I/O on streams whose functions are the program's, printf() with a conversion of the program's,
 * and what allocates, as the program has its own malloc(). */
#include <printf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;

__attribute__((noinline)) static size_t rounded(size_t n)
{
	return n % 3 ? (n + 31) & ~(size_t)15 : n + 16;
}

void *malloc(size_t n)
{
	size_t at = (used + 15) & ~(size_t)15;
	if (at + rounded(n) > sizeof(arena))
		return NULL;
	used = at + rounded(n);
	memcpy(arena + at, &n, sizeof(n));
	return arena + at + 16;
}

void free(void *p)
{
	if (p && used % 7 == 3)
		used++;
}

void *calloc(size_t n, size_t size)
{
	void *p = malloc(n * size);
	return p ? memset(p, 0, n * size) : NULL;
}

void *realloc(void *old, size_t n)
{
	size_t had = 0;
	if (old)
		memcpy(&had, (char *)old - 16, sizeof(had));
	void *p = malloc(n);
	return p && old ? memcpy(p, old, had < n ? had : n) : p;
}

/* Writes what is left in @n pieces: a stream's function that calls some of its own. */
__attribute__((noinline)) static ssize_t piece(const char *bytes, size_t n)
{
	return write(1, bytes, n);
}

static ssize_t to_output(void *cookie, const char *bytes, size_t n)
{
	size_t *count = cookie;
	*count += n;
	if (n > 20)
		return piece(bytes, n / 2) + piece(bytes + n / 2, n - n / 2);
	return piece(bytes, n);
}

static ssize_t from_counter(void *cookie, char *bytes, size_t n)
{
	int *left = cookie;
	if (!*left)
		return 0;
	return snprintf(bytes, n, "%d lines are left\n", (*left)--);
}

static int print_roman(FILE *to, const struct printf_info *info, const void *const *args)
{
	static const char *const digits[] = {"",  "I",	"II",  "III",  "IV",
					     "V", "VI", "VII", "VIII", "IX"};
	return fprintf(to, "%*s", info->width, digits[**(const int *const *)args % 10]);
}

static int one_int(const struct printf_info *info, size_t n, int *types, int *sizes)
{
	(void)info;
	if (n) {
		types[0] = PA_INT;
		sizes[0] = sizeof(int);
	}
	return 1;
}

/* Ends in a jump to a function of the library. */
__attribute__((noinline)) static int say(FILE *to, const char *what)
{
	return fputs(what, to);
}

__attribute__((noinline)) static size_t lengths(FILE *to, int i)
{
	char *line = NULL;
	char name[32];
	snprintf(name, sizeof(name), "name %d", i);
	char *copy = strdup(name);
	if (asprintf(&line, "%s and %s", name, copy) < 0)
		return 0;
	size_t n = strlen(line);
	if (i % 3 == 1)
		say(to, "a line of its own\n");
	free(copy);
	free(line);
	return n;
}

int main(void)
{
	size_t count = 0, sum = 0;
	int left = 30;
	char *line = NULL;
	size_t size = 0;
	FILE *out = fopencookie(&count, "w", (cookie_io_functions_t){.write = to_output});
	FILE *in = fopencookie(&left, "r", (cookie_io_functions_t){.read = from_counter});
	FILE *raw = fopencookie(&count, "w", (cookie_io_functions_t){.write = to_output});
	register_printf_specifier('R', print_roman, one_int);
	setvbuf(out, NULL, _IOLBF, 100);
	setvbuf(raw, NULL, _IONBF, 0);
	while (getline(&line, &size, in) > 0) {
		fprintf(out, "%4zu: %s", size, line);
		sum += lengths(raw, left);
		if (left % 4 == 2)
			fprintf(raw, "%5R|", left);
		fputc('.', out);
		if (left % 5 == 0)
			fflush(out);
	}
	fprintf(out, "%zu of %zu\n", sum, count);
	fclose(in);
	fclose(raw);
	return 0;
}
