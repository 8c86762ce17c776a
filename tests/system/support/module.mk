# SPDX-License-Identifier: Apache-2.0
# The switch between real namespaces; half a minute, so with the long ones.
INC_tests/system/support := $(INC_tests) -Itests/support
TESTS_FAULT += $(B)/test/system-support-switch
$(B)/test/system-support-switch: $(B)/obj/tests/system/support/test_switch.o $(SWITCH) $(B)/lib/libbase.a
