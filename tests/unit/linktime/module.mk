# SPDX-License-Identifier: Apache-2.0
# Time over machines: the state machines of tools/bridge/link in virtual time.
LINKTIME_TESTS := $(patsubst tests/unit/linktime/test_%.c,%,$(sort $(wildcard tests/unit/linktime/test_*.c)))
TESTS += $(LINKTIME_TESTS:%=$(B)/test/linktime-%)
$(LINKTIME_TESTS:%=$(B)/test/linktime-%): $(B)/test/linktime-%: $(B)/obj/tests/unit/linktime/test_%.o \
	$(B)/obj/tests/unit/linktime/model.o $(addprefix $(B)/lib/,liblinktime.a libsimd.a libloop.a libipc.a libbase.a)
