# SPDX-License-Identifier: LGPL-2.1-or-later
# slurm.mk: shares, and tries of switch, on a Slurm cluster of this host; the scripts say how.

.PHONY: check-slurm
# Three minutes, nearly all of it waiting for the controller.
check-slurm: $(BUILD)/pugmark ## distribute and switch over a Slurm cluster of four nodes of this host
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/slurm/check.sh
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/slurm/switch.sh
