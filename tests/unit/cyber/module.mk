# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/cyber := -I. -Itests -Itools/bridge/cyber -Itools/bridge/tcp -Itools/bridge/topics -Itools/bridge/convert -Ilibclient/include -Ilibclient/loop $(ROOMS_INC) -I$(B)/gen
TESTS += $(B)/test/cyber-send
$(B)/test/cyber-send: $(addprefix $(B)/obj/,tests/unit/cyber/test_send.o tools/bridge/cyber/send.o tools/bridge/convert/iov_buf.o) $(B)/lib/libtcplink.a $(B)/lib/libloop.a $(B)/lib/libbase.a
TESTS_NS += $(B)/test/cyber-server
$(B)/test/cyber-server: $(B)/obj/tests/unit/cyber/test_server.o $(CYBER_SERVER) $(B)/lib/libbase.a
# the plug-in, loaded
TESTS_NS += $(B)/test/cyber-bridge
FLAGS_tests/unit/cyber/test_bridge.c := -DPLUGINS='"$(B)/lib/simd"'
$(B)/test/cyber-bridge: $(B)/obj/tests/unit/cyber/test_bridge.o $(CYBER_SERVER) $(addprefix $(B)/lib/,libschema.a libbase.a) | $(B)/lib/simd/bridge_cyber.so
LINK_cyber-bridge = $(LINK_SIMCLIENT)
