# SPDX-License-Identifier: Apache-2.0
# One suite, stamped on every bridge plug-in: BRIDGE_CONNECTION_<name> is a string that connects at once.
INC_tests/conformance/bridge := -Itests -Ilibclient/include -I$(B)/gen
BRIDGE_STAMPS := logging null
BRIDGE_CONNECTION_logging := %s
BRIDGE_CONNECTION_null := %s
BRIDGE_SUITES := $(BRIDGE_STAMPS:%=$(B)/test/conformance-bridge-%)
TESTS += $(BRIDGE_SUITES)

$(B)/obj/tests/conformance/bridge/test_bridge_%.o: tests/conformance/bridge/test_bridge.c | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/conformance/bridge) -DPLUGIN='"$(B)/lib/simd/bridge_$*.so"' \
		-DCONNECTION='"$(BRIDGE_CONNECTION_$*)"' -MMD -MP -c $< -o $@

$(BRIDGE_SUITES): $(B)/test/conformance-bridge-%: $(B)/obj/tests/conformance/bridge/test_bridge_%.o $(B)/lib/libschema.a \
	| $(B)/lib/simd/bridge_%.so
LINK_conformance-bridge-logging := -ldl
LINK_conformance-bridge-null := -ldl
