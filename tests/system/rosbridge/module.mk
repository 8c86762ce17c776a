# SPDX-License-Identifier: Apache-2.0
# The rosbridge plug-in by itself, with the host that the tests of ROS 2 play, against the test server.
INC_tests/system/rosbridge := -I. -Itests -Itests/support -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/rosbridge := -DPLUGIN='"$(B)/lib/simd/bridge_rosbridge.so"'
ROSBRIDGE_TESTS := call roslib time wire
TESTS_NS += $(ROSBRIDGE_TESTS:%=$(B)/test/system-rosbridge-%)
$(ROSBRIDGE_TESTS:%=$(B)/test/system-rosbridge-%): $(B)/test/system-rosbridge-%: $(B)/obj/tests/system/rosbridge/test_%.o $(B)/obj/tests/system/rosbridge/line.o \
	$(B)/obj/tests/system/ros2/host.o $(ROSBRIDGE_SERVER) | $(B)/lib/simd/bridge_rosbridge.so
$(foreach t,$(ROSBRIDGE_TESTS),$(eval LINK_system-rosbridge-$(t) = $$(LINK_SIMCLIENT) -lcmocka -ldl -ljansson -lssl -lcrypto))
