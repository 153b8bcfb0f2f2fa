// SPDX-License-Identifier: LGPL-2.1-or-later
/* elf_libc.c: what is known of imported functions by their names: which never return, which return
 * twice, which go on on another stack. Only functions of the C, C++ and compiler run-time libraries
 * and of GLib whose documentation says so for every call: error() and execve(), which may return,
 * are not here. Of other libraries only what libco, libcoro and Boost switch stacks by. */
#include "elf_parts.h"

static const struct {
	const char *name;
	uint8_t flags;
} known[] = {
	/* sorted by strcmp */
	{"_Exit", SITE_NORETURN},
	{"_Unwind_Resume", SITE_NORETURN},
	{"_ZSt10unexpectedv", SITE_NORETURN},
	{"_ZSt9terminatev", SITE_NORETURN},
	{"____longjmp_chk", SITE_NORETURN},
	{"__assert", SITE_NORETURN},
	{"__assert_fail", SITE_NORETURN},
	{"__assert_perror_fail", SITE_NORETURN},
	{"__chk_fail", SITE_NORETURN},
	{"__cxa_bad_cast", SITE_NORETURN},
	{"__cxa_bad_typeid", SITE_NORETURN},
	{"__cxa_call_terminate", SITE_NORETURN},
	{"__cxa_call_unexpected", SITE_NORETURN},
	{"__cxa_deleted_virtual", SITE_NORETURN},
	{"__cxa_pure_virtual", SITE_NORETURN},
	{"__cxa_rethrow", SITE_NORETURN},
	{"__cxa_throw", SITE_NORETURN},
	{"__cxa_throw_bad_array_length", SITE_NORETURN},
	{"__cxa_throw_bad_array_new_length", SITE_NORETURN},
	{"__fortify_fail", SITE_NORETURN},
	{"__libc_fatal", SITE_NORETURN},
	{"__libc_longjmp", SITE_NORETURN},
	{"__libc_siglongjmp", SITE_NORETURN},
	{"__libc_start_main", SITE_NORETURN},
	{"__longjmp_chk", SITE_NORETURN},
	{"__pthread_unwind_next", SITE_NORETURN},
	{"__sigsetjmp", SITE_RETURNS_TWICE},
	{"__stack_chk_fail", SITE_NORETURN},
	{"__vfork", SITE_RETURNS_TWICE},
	{"_dl_fatal_printf", SITE_NORETURN},
	{"_dl_signal_error", SITE_NORETURN},
	{"_exit", SITE_NORETURN},
	{"_longjmp", SITE_NORETURN},
	{"_setjmp", SITE_RETURNS_TWICE},
	{"abort", SITE_NORETURN},
	{"co_switch", SITE_SWITCHES},
	{"coro_transfer", SITE_SWITCHES},
	{"err", SITE_NORETURN},
	{"errc", SITE_NORETURN},
	{"errx", SITE_NORETURN},
	{"exit", SITE_NORETURN},
	{"g_assertion_message", SITE_NORETURN},
	{"g_assertion_message_expr", SITE_NORETURN},
	{"getcontext", SITE_RETURNS_TWICE},
	{"jump_fcontext", SITE_SWITCHES},
	{"longjmp", SITE_NORETURN},
	{"ontop_fcontext", SITE_SWITCHES},
	{"pthread_exit", SITE_NORETURN},
	{"quick_exit", SITE_NORETURN},
	{"savectx", SITE_RETURNS_TWICE},
	{"setcontext", SITE_SWITCHES},
	{"setjmp", SITE_RETURNS_TWICE},
	{"siglongjmp", SITE_NORETURN},
	{"sigsetjmp", SITE_RETURNS_TWICE},
	{"swapcontext", SITE_SWITCHES},
	{"thrd_exit", SITE_NORETURN},
	{"verr", SITE_NORETURN},
	{"verrc", SITE_NORETURN},
	{"verrx", SITE_NORETURN},
	{"vfork", SITE_RETURNS_TWICE},
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
	return is_std_throw(name) ? SITE_NORETURN : 0;
}
