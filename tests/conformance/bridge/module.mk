# SPDX-License-Identifier: Apache-2.0
# One suite, stamped on every bridge plug-in, on OLD of the shelf, which knows only the first members of the table, and
# on the faulty one, which brings messages in and calls services:
# BRIDGE_CONNECTION_<name> is a string that connects at once.
INC_tests/conformance/bridge := -I. -Itests -Itools/bridge/ros1 -Ischemas -Ilibclient/include -I$(B)/gen
BRIDGE_STAMPS := logging mcap null ros1 ros2 link rosbridge lgsvl cyber foxglove OLD faulty
BRIDGE_CONNECTION_logging := %s
BRIDGE_CONNECTION_mcap := %s
BRIDGE_CONNECTION_null := %s
BRIDGE_CONNECTION_ros2 := %.0s
BRIDGE_CONNECTION_link := %.0s
BRIDGE_CONNECTION_OLD := %s
BRIDGE_CONNECTION_faulty := %s
BRIDGE_FOLDER_OLD := $(B)/test/plugins
BRIDGE_FOLDER_faulty := $(B)/test/plugins
BRIDGE_REQUIRED_ros2 := humble
# what it connects to, instead of that
BRIDGE_PEER_ros1 := conformance/bridge/peer_ros1.o system/ros1/fake.o
BRIDGE_PEER_rosbridge := conformance/bridge/peer_rosbridge.o support/rosbridge_server.o support/ws_server.o support/cbor_tree_write.o
BRIDGE_PEER_cyber := conformance/bridge/peer_cyber.o support/cyber_server.o support/cyber_types.o
BRIDGE_PEER_lgsvl := conformance/bridge/peer_lgsvl.o support/lgsvl_server.o
BRIDGE_PEER_foxglove := conformance/bridge/peer_foxglove.o
BRIDGE_SUITES := $(BRIDGE_STAMPS:%=$(B)/test/conformance-bridge-%)
# those that talk to the network do so in namespaces of their own
BRIDGE_STAMPS_NS := ros1 ros2 link rosbridge lgsvl cyber foxglove
TESTS += $(filter-out $(BRIDGE_STAMPS_NS:%=$(B)/test/conformance-bridge-%),$(BRIDGE_SUITES))
TESTS_NS += $(if $(SAN_RUNTIME),,$(BRIDGE_STAMPS_NS:%=$(B)/test/conformance-bridge-%))

$(B)/obj/tests/conformance/bridge/test_bridge_%.o: tests/conformance/bridge/test_bridge.c $(B)/flags | $(GENERATED)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INC_tests/conformance/bridge) -DPLUGIN='"$(or $(BRIDGE_FOLDER_$*),$(B)/lib/simd)/bridge_$*.so"' \
		-DCONNECTION='"$(BRIDGE_CONNECTION_$*)"' $(if $(BRIDGE_PEER_$*),-DPEER) $(if $(BRIDGE_REQUIRED_$*),-DREQUIRED='"$(BRIDGE_REQUIRED_$*)"') -MMD -MP -c $< -o $@

$(BRIDGE_SUITES): $(B)/test/conformance-bridge-%: $(B)/obj/tests/conformance/bridge/test_bridge_%.o $(B)/lib/libschema.a \
	| $(foreach s,$(BRIDGE_STAMPS),$(or $(BRIDGE_FOLDER_$s),$(B)/lib/simd)/bridge_$s.so)
$(foreach s,$(BRIDGE_STAMPS),$(eval $(B)/test/conformance-bridge-$s: $(addprefix $(B)/obj/tests/,$(BRIDGE_PEER_$s))))
$(foreach s,$(BRIDGE_STAMPS),$(eval LINK_conformance-bridge-$s := -ldl))
$(B)/test/conformance-bridge-ros1: $(B)/obj/libclient/loop/address.o $(addprefix $(B)/obj/tools/bridge/ros1/,http.o tcpros.o xmlrpc.o xmlrpc_write.o)
LINK_conformance-bridge-ros1 += -lexpat
LINK_conformance-bridge-rosbridge += -ljansson -lssl -lcrypto
