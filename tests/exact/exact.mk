# SPDX-License-Identifier: LGPL-2.1-or-later
# exact.mk: recovered traces against what really ran; tests/exact/check.sh says how.

.PHONY: check-exact check-exact-quick check-exact-paths check-exact-paths-quick
# Every program, a table, fails on any difference.
check-exact: oracle $(BUILD)/pugmark ## recovered traces against every block that ran
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/exact/check.sh

# A subset that takes less than two minutes.
check-exact-quick: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/exact/check.sh --quick

# The same for every block, by each placement of witnesses; and a subset of half a minute.
check-exact-paths: oracle $(BUILD)/pugmark ## the same, block by block
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) \
		tests/exact/check.sh --paths
check-exact-paths-quick: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) \
		tests/exact/check.sh --paths --quick

# For tests/e2e/loss.sh.
PIECES := $(BUILD)/tests/pieces
check-all check-long-all: $(PIECES)
$(PIECES): $(BUILD)/tests/exact/pieces.o $(BUILD)/libpugmark.a
	$(say) LINK $@
	$(Q)$(LINK) -o $@ $^ $(LDLIBS)
TEST_OBJ += $(BUILD)/tests/exact/pieces.o

# 64 threads for ten seconds, or for two.
.PHONY: check-threads check-threads-quick
check-threads: $(BUILD)/pugmark ## 64 threads for ten seconds
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/exact/threads.sh 64 10
check-threads-quick: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/exact/threads.sh 64 2

# A busy loop, recorded for ten minutes and then read.
.PHONY: soak
soak: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/exact/soak.sh
