# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/lgsvl := -I. -Itests -Itools/bridge/lgsvl -Ilibclient/include -I$(B)/gen
TESTS += $(B)/test/lgsvl-frame
$(B)/test/lgsvl-frame: $(B)/obj/tests/unit/lgsvl/test_frame.o $(B)/obj/tools/bridge/lgsvl/frame.o
