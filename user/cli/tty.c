// SPDX-License-Identifier: LGPL-2.1-or-later
/* tty.c: asks the kernel and the environment what an output can show. */
#include "user/cli/tty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { DEFAULT_WIDTH = 80 };

static const char *const styles[N_STYLES] = {
	[STYLE_NONE] = "\033[0m",  [STYLE_BOLD] = "\033[1m",  [STYLE_DIM] = "\033[2m",
	[STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m", [STYLE_BAD] = "\033[31m",
};

static struct tty behind; /* standard output */

void tty_leads_to(const struct tty *term)
{
	behind = *term;
}

struct tty tty_of(int fd)
{
	struct tty term = {.is_tty = isatty(fd)};
	if (!term.is_tty)
		return fd == STDOUT_FILENO ? behind : term;
	struct winsize size;
	term.width = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : DEFAULT_WIDTH;
	const char *name = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");
	term.colour = name && *name && strcmp(name, "dumb") && !(no_color && *no_color);
	return term;
}

const char *tty_style(const struct tty *term, enum tty_style style)
{
	return term->colour ? styles[style] : "";
}
