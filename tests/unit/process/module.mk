# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/process-lines $(B)/test/process-memory_room
$(B)/test/process-lines $(B)/test/process-memory_room: $(B)/test/process-%: $(B)/obj/tests/unit/process/test_%.o $(B)/lib/libbase.a
