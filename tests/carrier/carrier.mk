# SPDX-License-Identifier: LGPL-2.1-or-later
# carrier.mk: programs under load that are patched and given back; tests/carrier/cycles.sh says how.

# CYCLES=3333 of each of nginx, redis and 64 threads, for at most CYCLE_SECONDS=1200 each; COPIES=4 of each
# are patched in a cycle.
CYCLES ?= 3333
CYCLE_SECONDS ?= 1200
KILLS ?= 334
.PHONY: check-carrier-cycles check-carrier-kills check-carrier-quick
check-carrier-cycles: $(BUILD)/pugmark ## patches in and out of nginx, redis and 64 threads under load, CYCLES=3333 each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/cycles.sh $(CYCLES) $(CYCLE_SECONDS)
# The recorder is killed each time, at a moment by lot.
check-carrier-kills: $(BUILD)/pugmark ## the same, and each recorder is killed at a random moment, KILLS=334 each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/cycles.sh --kill $(KILLS) $(CYCLE_SECONDS)
# Half of the witnesses on each carrier, by SEEDS=10 of each of ten programs.
SEEDS ?= 10
.PHONY: check-carrier-seeds
check-carrier-seeds: oracle $(BUILD)/pugmark ## half of the witnesses patched, by lot: ten programs against every block that ran, SEEDS=10 each
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) TOOLS=$(abspath $(BUILD)/oracle) tests/exact/check.sh --mixed $(SEEDS)
# Output and status of the system's programs, PROGRAMS=100 by lot, for at most CYCLE_SECONDS.
PROGRAMS ?= 100
.PHONY: check-carrier-programs check-carrier
check-carrier-programs: $(BUILD)/pugmark ## what programs print is the same while they are patched, PROGRAMS=100 by lot
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' CXX='$(CXX)' tests/carrier/programs.sh $(PROGRAMS) $(CYCLE_SECONDS)
# Their work: each row of tests/carrier/work.txt, or WORK="gzip bash" of them.
.PHONY: check-carrier-work
check-carrier-work: $(BUILD)/pugmark ## real work of a hundred programs of Debian: output, status and files are the same while they are patched
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/work.sh $(WORK)
check-carrier: check-carrier-cycles check-carrier-kills check-carrier-programs check-carrier-work check-carrier-seeds ## all of these: hours
# Of nginx once, two kills, and the work of four programs.
check-carrier-quick: $(BUILD)/pugmark
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/cycles.sh 1 10 nginx
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/cycles.sh --kill 2 10 crowd
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/carrier/work.sh mawk bash zstd ld
