# SPDX-License-Identifier: LGPL-2.1-or-later
# programs.mk: programs that leave the straight path; tests/programs/check.sh says how they are checked.

CASES := $(patsubst tests/programs/cases/%.trace,%,$(wildcard tests/programs/cases/*.trace))
CASE_CHECKS := $(CASES:%=check-%)
.PHONY: check-programs check-programs-quick $(CASE_CHECKS)
RUN_PROGRAMS = $(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/programs/check.sh

# Every program, by two compilers, at three levels, with and without frame pointers, PIE and not,
# stripped and not.
check-programs: $(BUILD)/pugmark ## programs that leave the straight path, in every build
	$(RUN_PROGRAMS)

# Each in one of four builds, in turn; with LONG=1 in all four.
check-programs-quick: $(BUILD)/pugmark
	$(RUN_PROGRAMS) --quick

# One program: check-exceptions, check-longjmp and so on, each in every build.
$(CASE_CHECKS): check-%: $(BUILD)/pugmark
	$(RUN_PROGRAMS) $*
