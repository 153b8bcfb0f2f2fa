// SPDX-License-Identifier: LGPL-2.1-or-later
/* maps_lines.c: see maps_lines.h. A line is start-end perms offset major:minor inode name. */
#include "user/file/maps_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The number in digits of @base at *@at, which is followed by @end. */
static bool take_number(char **at, int base, char end, uint64_t *out)
{
	char *rest;
	if (!strchr("0123456789abcdef", **at) || !**at)
		return false;
	*out = strtoull(*at, &rest, base);
	if (*rest != end)
		return false;
	*at = rest + 1;
	return true;
}

bool maps_line_parse(char *text, struct maps_line *out)
{
	struct maps_line line = {.name = ""};
	uint64_t major, minor;
	text[strcspn(text, "\n")] = 0;
	if (!take_number(&text, 16, '-', &line.start) || !take_number(&text, 16, ' ', &line.end) ||
	    strnlen(text, 5) < 5 || text[4] != ' ')
		return false;
	line.prot = (text[0] == 'r' ? PROT_READ : 0) | (text[1] == 'w' ? PROT_WRITE : 0) |
		    (text[2] == 'x' ? PROT_EXEC : 0);
	line.shared = text[3] == 's';
	text += 5;
	if (!take_number(&text, 16, ' ', &line.off) || !take_number(&text, 16, ':', &major) ||
	    !take_number(&text, 16, ' ', &minor))
		return false;
	/* Behind the inode of what has no name the line may end. */
	size_t digits = strspn(text, "0123456789");
	char *name = text + digits;
	line.inode = strtoull(text, NULL, 10);
	if (!digits || (*name && *name != ' ') || line.end <= line.start)
		return false;
	line.name = name + strspn(name, " ");
	*out = line;
	return true;
}

int maps_lines_open(struct maps_lines *lines, pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	*lines = (struct maps_lines){.file = fopen(path, "re")};
	return lines->file ? 0 : -errno;
}

bool maps_lines_next(struct maps_lines *lines, struct maps_line *out)
{
	while (getline(&lines->text, &lines->cap, lines->file) > 0)
		if (maps_line_parse(lines->text, out))
			return true;
	return false;
}

void maps_lines_close(struct maps_lines *lines)
{
	free(lines->text);
	if (lines->file)
		fclose(lines->file);
	*lines = (struct maps_lines){0};
}
