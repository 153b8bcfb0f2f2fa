# SPDX-License-Identifier: LGPL-2.1-or-later
# wide.mk: programs and services that nobody chose; tests/wide/README.md says how.

.PHONY: check-wide check-wide-quick
WIDE_SEED ?= 20
WIDE_SECONDS ?= 100000
WIDE_TABLE ?= $(BUILD)/wide/$(WIDE_SEED).tsv
# Goes on where it was ended; WIDE_SECONDS=400 ends it after so long.
check-wide: oracle $(BUILD)/pugmark ## 120 programs and 30 services of the archive by lot (WIDE_SEED=20)
	@mkdir -p $(BUILD)/wide
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/wide/check.py \
		--table $(WIDE_TABLE) --seed $(WIDE_SEED) --seconds $(WIDE_SECONDS)

# A dozen of those that are installed, by the same lot.
check-wide-quick: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/wide/check.py --quick \
		--seed $(WIDE_SEED)
