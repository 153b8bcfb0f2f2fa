# SPDX-License-Identifier: LGPL-2.1-or-later
# go.mk: Go programs with probes on them; tests/go/check.sh says how.

.PHONY: check-go check-go-quick
GO_SECONDS ?= 600
# Each of two dozen for ten minutes (GO_SECONDS=600): four hours.
check-go: $(BUILD)/pugmark ## two dozen Go programs under probes, ten minutes each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/go/check.sh --seconds $(GO_SECONDS)

# What is installed of them, once each; with LONG=1 seconds each.
check-go-quick: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/go/check.sh --quick
