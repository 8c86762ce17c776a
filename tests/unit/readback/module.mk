# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/readback := -Ilibclient/include -I. -Itests -Itests/unit/readback -Ilibclient/readback -Ilibclient/base -I$(B)/gen
READBACK_TESTS := $(patsubst tests/unit/readback/test_%.c,%,$(sort $(wildcard tests/unit/readback/test_*.c)))
TESTS += $(READBACK_TESTS:%=$(B)/test/readback-%)
$(READBACK_TESTS:%=$(B)/test/readback-%): $(B)/test/readback-%: $(B)/obj/tests/unit/readback/test_%.o \
	$(addprefix $(B)/obj/tests/unit/readback/,stand_in.o slots.o) $(addprefix $(B)/lib/,libsimreadback.a libbase.a)
