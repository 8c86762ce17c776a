# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/ros2 := -I. -Itests -Itools/bridge/ros2 -Itools/bridge/topics -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
TESTS += $(B)/test/ros2-names
$(B)/test/ros2-names: $(B)/obj/tests/unit/ros2/test_names.o $(B)/obj/tools/bridge/topics/topic_options.o
LINK_ros2-names := -ljansson
TESTS += $(B)/test/ros2-rtps_packet
$(B)/test/ros2-rtps_packet: $(B)/obj/tests/unit/ros2/test_rtps_packet.o $(B)/obj/tools/bridge/ros2/rtps_packet.o $(B)/lib/libbase.a
TESTS += $(B)/test/ros2-param_wire
FLAGS_tests/unit/ros2/test_param_wire.c := -Itools/bridge/convert
$(B)/test/ros2-param_wire: $(B)/obj/tests/unit/ros2/test_param_wire.o $(B)/obj/tools/bridge/ros2/param_wire.o $(addprefix $(B)/lib/,libconvert.a libbase.a)
