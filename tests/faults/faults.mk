# SPDX-License-Identifier: LGPL-2.1-or-later
# faults.mk: real programs with planted faults; tests/faults/run.py says how. The sources come from
# Debian's archive, and are kept in FAULT_SOURCES (~/.cache/pugmark-faults).

.PHONY: check-faults check-match check-inlined
# About ten minutes.
check-faults: $(BUILD)/pugmark ## how soon planted faults in real programs are found: a table
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/faults/run.py

check-match: $(BUILD)/pugmark ## which instructions of other builds of real programs are matched, and where errors are listed
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/faults/match.py

check-inlined: $(BUILD)/pugmark ## frames of inlined functions in slices of real programs, against addr2line's
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) tests/faults/inlined.py
