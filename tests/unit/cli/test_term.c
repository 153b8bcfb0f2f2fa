// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_term.c: colours and widths on a real pseudo-terminal and on what is none. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/cli/tty.h"

struct pty {
	int master, slave;
};

static int open_pty(void **state)
{
	static struct pty pty;
	pty.master = posix_openpt(O_RDWR | O_NOCTTY);
	if (pty.master < 0 || grantpt(pty.master) || unlockpt(pty.master))
		return -1;
	pty.slave = open(ptsname(pty.master), O_RDWR | O_NOCTTY);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	*state = &pty;
	return pty.slave < 0 ? -1 : 0;
}

static int close_pty(void **state)
{
	struct pty *pty = *state;
	close(pty->slave);
	close(pty->master);
	return 0;
}

static void a_terminal_has_its_width_and_colours(void **state)
{
	struct pty *pty = *state;
	struct winsize size = {.ws_col = 137, .ws_row = 40};
	assert_int_equal(ioctl(pty->slave, TIOCSWINSZ, &size), 0);
	struct tty term = tty_of(pty->slave);
	assert_true(term.is_tty);
	assert_true(term.colour);
	assert_int_equal(term.width, 137);
	assert_string_equal(tty_style(&term, STYLE_BAD), "\033[31m");
	assert_string_equal(tty_style(&term, STYLE_NONE), "\033[0m");
}

static void a_terminal_without_a_size_is_80_wide(void **state)
{
	struct pty *pty = *state;
	struct winsize size = {0};
	assert_int_equal(ioctl(pty->slave, TIOCSWINSZ, &size), 0);
	assert_int_equal(tty_of(pty->slave).width, 80);
}

static void the_environment_turns_colours_off(void **state)
{
	struct pty *pty = *state;
	setenv("NO_COLOR", "1", 1);
	struct tty term = tty_of(pty->slave);
	assert_false(term.colour);
	assert_string_equal(tty_style(&term, STYLE_BAD), "");
	assert_string_equal(tty_style(&term, STYLE_NONE), "");
	setenv("NO_COLOR", "", 1);
	assert_true(tty_of(pty->slave).colour);
	setenv("TERM", "dumb", 1);
	assert_false(tty_of(pty->slave).colour);
	unsetenv("TERM");
	assert_false(tty_of(pty->slave).colour);
}

static void a_pipe_has_none(void **state)
{
	(void)state;
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	struct tty term = tty_of(ends[1]);
	assert_false(term.is_tty);
	assert_false(term.colour);
	assert_int_equal(term.width, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_terminal_has_its_width_and_colours, open_pty,
						close_pty),
		cmocka_unit_test_setup_teardown(a_terminal_without_a_size_is_80_wide, open_pty,
						close_pty),
		cmocka_unit_test_setup_teardown(the_environment_turns_colours_off, open_pty,
						close_pty),
		cmocka_unit_test_setup_teardown(a_pipe_has_none, open_pty, close_pty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
