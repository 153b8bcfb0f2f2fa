# SPDX-License-Identifier: LGPL-2.1-or-later
# shares.mk: what is merged of real programs' runs under shares; tests/shares/check.sh says how.

.PHONY: check-shares check-shares-quick share-tables
check-shares: oracle $(BUILD)/pugmark ## merged runs of real programs against one run
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/shares/check.sh

# Two programs, in less than a minute.
check-shares-quick: oracle $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/shares/check.sh --quick

share-tables: oracle $(BUILD)/pugmark ## what each of m machines pays (docs/shares.md), of seven programs: an hour
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/shares/tables.sh
