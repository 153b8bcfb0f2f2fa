# SPDX-License-Identifier: LGPL-2.1-or-later
# services.mk: real servers under load; tests/services/check.sh says how.

.PHONY: check-services check-services-quick
# All of them, each recorded for ten seconds; prints a table.
check-services: $(BUILD)/pugmark ## real servers under load, ten seconds each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/services/check.sh

# Two, in less than a minute.
check-services-quick: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/services/check.sh --quick

# Whether --max-overhead 5 leaves nginx and redis their throughput.
.PHONY: check-services-overhead
check-services-overhead: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/services/overhead.sh

# Beside processes that wish its user ill, HOSTILE_SECONDS=60 each.
.PHONY: check-hostile
check-hostile: $(BUILD)/pugmark ## a recorder of nginx beside hostile processes, a minute each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/services/hostile.sh
