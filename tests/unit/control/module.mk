# SPDX-License-Identifier: Apache-2.0
# The control socket in virtual time, spoken to by hand.
CONTROL_TESTS := $(patsubst tests/unit/control/test_%.c,%,$(sort $(wildcard tests/unit/control/test_*.c)))
TESTS += $(CONTROL_TESTS:%=$(B)/test/control-%)
TESTS += tests/unit/control/control-grammar.sh
$(CONTROL_TESTS:%=$(B)/test/control-%): $(B)/test/control-%: $(B)/obj/tests/unit/control/test_%.o \
	$(B)/obj/tests/unit/control/peer.o $(B)/obj/tests/unit/control/idl.o $(SIMD_LIBS) $(SIMCLIENT_ARCHIVES)
