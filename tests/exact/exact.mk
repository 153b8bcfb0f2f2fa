# SPDX-License-Identifier: LGPL-2.1-or-later
# exact.mk: recovered traces against what really ran; tests/exact/check.sh says how.

.PHONY: check-exact check-exact-quick
# Every program, a table, fails on any difference.
check-exact: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/exact/check.sh

# A subset that takes less than two minutes.
check-exact-quick: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/exact/check.sh --quick

# For tests/e2e/loss.sh.
PIECES := $(BUILD)/tests/pieces
check-all: $(PIECES)
$(PIECES): $(BUILD)/tests/exact/pieces.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)
TEST_OBJ += $(BUILD)/tests/exact/pieces.o
