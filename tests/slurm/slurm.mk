# SPDX-License-Identifier: LGPL-2.1-or-later
# slurm.mk: shares on a Slurm cluster of this host; tests/slurm/check.sh says how.

.PHONY: check-slurm
# A minute and a half, nearly all of it waiting for the controller.
check-slurm: $(BUILD)/pugmark ## distribute over a Slurm cluster of four nodes of this host
	$(Q)PUGMARK=$(abspath $(BUILD)/pugmark) CC='$(CC)' tests/slurm/check.sh
