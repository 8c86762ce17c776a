# SPDX-License-Identifier: Apache-2.0
# The host is tested over a lane API of the test's own, so these link no libsimclient but for types and JSON.
INC_tests/unit/bridge := -I. -Itests -Itools/bridge/host $(ROOMS_INC) -Ilibclient/include -I$(B)/gen
BRIDGE_TESTS := $(B)/test/bridge-converter $(B)/test/bridge-plugin $(B)/test/bridge-host $(B)/test/bridge-order $(B)/test/bridge-task $(B)/test/bridge-clock $(B)/test/bridge-service $(B)/test/bridge-logging
TESTS += $(BRIDGE_TESTS)
$(BRIDGE_TESTS): $(B)/test/bridge-%: $(B)/obj/tests/unit/bridge/test_%.o $(B)/lib/libbridgehost.a $(SIMCLIENT_ARCHIVES) \
	| $(SHELF) $(CONVERTER_SHELF) $(GATE) $(FAULTY)
FLAGS_tests/unit/bridge := -DSHELF='"$(B)/test/plugins"' -DPLUGINS='"$(B)/lib/simd"' -DGATE='"$(GATE)"' -DFAULTY='"$(FAULTY)"'
LINK_bridge-plugin := -ldl
LINK_bridge-converter := -ldl
LINK_bridge-logging := -ldl -lz
$(B)/test/bridge-logging: | $(B)/lib/simd/bridge_logging.so
# the lane of the test stands before the library's, whether or not that is drawn in
LINK_bridge-host := -ldl -Wl,-z,muldefs
LINK_bridge-service := -ldl -Wl,-z,muldefs
LINK_bridge-clock := -ldl -Wl,-z,muldefs
LINK_bridge-task := -ldl -Wl,-z,muldefs
