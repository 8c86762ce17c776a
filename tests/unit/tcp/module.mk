# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/tcp := -I. -Itests -Itools/bridge/tcp -Ilibclient/include -I$(B)/gen
TESTS += $(B)/test/tcp-frame
$(B)/test/tcp-frame: $(B)/obj/tests/unit/tcp/test_frame.o $(B)/lib/libtcplink.a
