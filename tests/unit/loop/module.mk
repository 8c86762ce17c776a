# SPDX-License-Identifier: Apache-2.0
LOOP_TESTS := address listener lookup outbox sim stream threads
TESTS += $(LOOP_TESTS:%=$(B)/test/loop-%)
$(LOOP_TESTS:%=$(B)/test/loop-%): $(B)/test/loop-%: $(B)/obj/tests/unit/loop/test_%.o $(B)/lib/libloop.a $(B)/lib/libbase.a
