# SPDX-License-Identifier: Apache-2.0
# The runner, and what tests share.
$(B)/test/run: $(B)/obj/tests/support/run.o $(B)/lib/libbase.a
