// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_libc.c: what is known of imported functions by their names: which never return, which return
 * twice, which continue on another stack. Listed are only functions of the C, C++ and compiler
 * run-time libraries and of GLib whose documentation says so for every call (so not error() or
 * execve(), which may return); and, of other libraries, those of libco, libcoro and Boost that
 * switch stacks. */
#include "offline/elf/elf_parts.h"

static const struct {
	const char *name;
	uint8_t flags;
} known[] = {
	/* sorted by strcmp */
	{"_Exit", PUGMARK_SITE_NORETURN},
	{"_Unwind_Resume", PUGMARK_SITE_NORETURN},
	{"_ZN5boost10coroutines6detail17coroutine_context4jumpERS2_Pv", PUGMARK_SITE_SWITCHES},
	{"_ZSt10unexpectedv", PUGMARK_SITE_NORETURN},
	{"_ZSt9terminatev", PUGMARK_SITE_NORETURN},
	{"____longjmp_chk", PUGMARK_SITE_NORETURN},
	{"__assert", PUGMARK_SITE_NORETURN},
	{"__assert_fail", PUGMARK_SITE_NORETURN},
	{"__assert_perror_fail", PUGMARK_SITE_NORETURN},
	{"__chk_fail", PUGMARK_SITE_NORETURN},
	{"__cxa_bad_cast", PUGMARK_SITE_NORETURN},
	{"__cxa_bad_typeid", PUGMARK_SITE_NORETURN},
	{"__cxa_call_terminate", PUGMARK_SITE_NORETURN},
	{"__cxa_call_unexpected", PUGMARK_SITE_NORETURN},
	{"__cxa_deleted_virtual", PUGMARK_SITE_NORETURN},
	{"__cxa_pure_virtual", PUGMARK_SITE_NORETURN},
	{"__cxa_rethrow", PUGMARK_SITE_NORETURN},
	{"__cxa_throw", PUGMARK_SITE_NORETURN},
	{"__cxa_throw_bad_array_length", PUGMARK_SITE_NORETURN},
	{"__cxa_throw_bad_array_new_length", PUGMARK_SITE_NORETURN},
	{"__fortify_fail", PUGMARK_SITE_NORETURN},
	{"__libc_fatal", PUGMARK_SITE_NORETURN},
	{"__libc_longjmp", PUGMARK_SITE_NORETURN},
	{"__libc_siglongjmp", PUGMARK_SITE_NORETURN},
	{"__libc_start_main", PUGMARK_SITE_NORETURN},
	{"__longjmp_chk", PUGMARK_SITE_NORETURN},
	{"__pthread_unwind_next", PUGMARK_SITE_NORETURN},
	{"__sigsetjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"__stack_chk_fail", PUGMARK_SITE_NORETURN},
	{"__vfork", PUGMARK_SITE_RETURNS_TWICE},
	{"_dl_fatal_printf", PUGMARK_SITE_NORETURN},
	{"_dl_signal_error", PUGMARK_SITE_NORETURN},
	{"_exit", PUGMARK_SITE_NORETURN},
	{"_longjmp", PUGMARK_SITE_NORETURN},
	{"_setjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"abort", PUGMARK_SITE_NORETURN},
	{"co_switch", PUGMARK_SITE_SWITCHES},
	{"coro_transfer", PUGMARK_SITE_SWITCHES},
	{"err", PUGMARK_SITE_NORETURN},
	{"errc", PUGMARK_SITE_NORETURN},
	{"errx", PUGMARK_SITE_NORETURN},
	{"exit", PUGMARK_SITE_NORETURN},
	{"g_assertion_message", PUGMARK_SITE_NORETURN},
	{"g_assertion_message_expr", PUGMARK_SITE_NORETURN},
	{"getcontext", PUGMARK_SITE_RETURNS_TWICE},
	{"jump_fcontext", PUGMARK_SITE_SWITCHES},
	{"longjmp", PUGMARK_SITE_NORETURN},
	{"ontop_fcontext", PUGMARK_SITE_SWITCHES},
	{"pthread_exit", PUGMARK_SITE_NORETURN},
	{"quick_exit", PUGMARK_SITE_NORETURN},
	{"savectx", PUGMARK_SITE_RETURNS_TWICE},
	{"setcontext", PUGMARK_SITE_SWITCHES},
	{"setjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"siglongjmp", PUGMARK_SITE_NORETURN},
	{"sigsetjmp", PUGMARK_SITE_RETURNS_TWICE},
	{"swapcontext", PUGMARK_SITE_SWITCHES},
	{"thrd_exit", PUGMARK_SITE_NORETURN},
	{"verr", PUGMARK_SITE_NORETURN},
	{"verrc", PUGMARK_SITE_NORETURN},
	{"verrx", PUGMARK_SITE_NORETURN},
	{"vfork", PUGMARK_SITE_RETURNS_TWICE},
};

/* std::__throw_*, whatever its arguments: _ZSt<digits>__throw_<rest>. */
static bool is_std_throw(const char *name)
{
	if (strncmp(name, "_ZSt", 4))
		return false;
	size_t digits = strspn(name + 4, "0123456789");
	return digits && !strncmp(name + 4 + digits, "__throw_", 8);
}

uint8_t elf_libc_flags(const char *name)
{
	size_t low = 0, high = sizeof(known) / sizeof(*known);
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(name, known[mid].name);
		if (!order)
			return known[mid].flags;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return is_std_throw(name) ? PUGMARK_SITE_NORETURN : 0;
}
