# SPDX-License-Identifier: Apache-2.0
# The foxglove plug-in by itself, with the host that the tests of ROS 2 play, and clients of both kinds: a library's, and none.
INC_tests/system/foxglove := -I. -Itests -Itests/support -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/foxglove := -DPLUGIN='"$(B)/lib/simd/bridge_foxglove.so"'
FOXGLOVE_TESTS := control hostile slow tls watch
# for time-outs of its library
TESTS_NS += $(FOXGLOVE_TESTS:%=$(B)/test/system-foxglove-%)
$(FOXGLOVE_TESTS:%=$(B)/test/system-foxglove-%): $(B)/test/system-foxglove-%: $(B)/obj/tests/system/foxglove/test_%.o \
	$(addprefix $(B)/obj/tests/system/foxglove/,line.o watcher.o raw.o) $(B)/obj/tests/system/ros2/host.o | $(B)/lib/simd/bridge_foxglove.so
$(foreach t,$(FOXGLOVE_TESTS),$(eval LINK_system-foxglove-$(t) = $$(LINK_SIMCLIENT) -lcmocka -ldl))
