# SPDX-License-Identifier: Apache-2.0
EXEC_TESTS := sim threads
TESTS += $(EXEC_TESTS:%=$(B)/test/exec-%)
$(EXEC_TESTS:%=$(B)/test/exec-%): $(B)/test/exec-%: $(B)/obj/tests/unit/exec/test_%.o $(B)/lib/libsimd.a $(B)/lib/libbase.a
