# SPDX-License-Identifier: Apache-2.0
TESTS_NS += $(B)/test/system-ros2
TESTS_NOSAN += $(B)/test/system-ros2
INC_tests/system/ros2 := -I. -Itests -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/ros2 := -DPLUGIN='"$(B)/lib/simd/bridge_ros2.so"'
$(B)/test/system-ros2: $(B)/obj/tests/system/ros2/test_ros2.o $(B)/obj/tests/system/ros2/reader.o $(B)/lib/libros.a | $(B)/lib/simd/bridge_ros2.so
LINK_system-ros2 = $(LINK_SIMCLIENT) -lddsc -lcmocka -ldl
