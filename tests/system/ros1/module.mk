# SPDX-License-Identifier: Apache-2.0
# The ROS 1 plug-in by itself, with the host that the tests of ROS 2 play, against masters and peers of our own and of ROS.
INC_tests/system/ros1 := -I. -Itests -Itests/support -Itools/bridge/ros1 -Ilibclient/loop -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/ros1 := -DPLUGIN='"$(B)/lib/simd/bridge_ros1.so"' -DROSCPP_LISTENER='"$(B)/test/roscpp-listener"' -DROSCPP_APOLLO='"$(B)/test/roscpp-apollo"'
ROS1_TESTS := publish subscribe service call peers tools
TESTS_NS += $(ROS1_TESTS:%=$(B)/test/system-ros1-%)
$(ROS1_TESTS:%=$(B)/test/system-ros1-%): $(B)/test/system-ros1-%: $(B)/obj/tests/system/ros1/test_%.o $(B)/obj/tests/system/ros1/fake.o $(B)/obj/tests/system/ros2/host.o \
	$(B)/obj/libclient/loop/address.o $(addprefix $(B)/obj/tools/bridge/ros1/,http.o tcpros.o xmlrpc.o xmlrpc_write.o) | $(B)/lib/simd/bridge_ros1.so
$(foreach t,$(ROS1_TESTS),$(eval LINK_system-ros1-$(t) = $$(LINK_SIMCLIENT) -lexpat -lcmocka -ldl))
$(addprefix $(B)/test/system-ros1-,peers tools): $(B)/obj/tests/support/ros_master.o
# a node of roscpp, where its headers are (tools/dev/deps.sh full)
ifneq ($(and $(wildcard /usr/include/ros/ros.h),$(wildcard /usr/include/sensor_msgs/Image.h),$(shell command -v g++)),)
$(B)/test/roscpp-listener: tests/system/ros1/roscpp_listener.cpp
	@mkdir -p $(@D)
	g++ -std=c++17 -O1 -Wall -Wextra $(if $(WERROR),-Werror) -pthread -o $@ $< -lroscpp -lroscpp_serialization -lrosconsole -lrostime -lboost_system
$(B)/test/roscpp-apollo: tests/system/ros1/roscpp_apollo.cpp
	@mkdir -p $(@D)
	g++ -std=c++17 -O1 -Wall -Wextra $(if $(WERROR),-Werror) -pthread -o $@ $< -lroscpp -lroscpp_serialization -lrosconsole -lrostime -lboost_system
TEST_PROGRAMS += $(B)/test/roscpp-listener $(B)/test/roscpp-apollo
endif

# bags: written and read by tools/record, without the plug-in
TESTS_NS += $(B)/test/system-ros1-bags
$(B)/test/system-ros1-bags: $(B)/obj/tests/system/ros1/test_bags.o $(B)/obj/tests/support/ros_master.o \
	$(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
LINK_system-ros1-bags = $(LINK_RECORD) $(LINK_test)
FLAGS_tests/system/ros1/test_bags.c := -DSIMCTL='"$(B)/bin/simctl"' -DEMIT='"$(B)/bin/emit-native"'
$(B)/test/system-ros1-bags: | $(B)/bin/simctl $(B)/bin/emit-native
