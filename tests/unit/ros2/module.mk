# SPDX-License-Identifier: Apache-2.0
INC_tests/unit/ros2 := -Itests -Itools/bridge/ros2
TESTS += $(B)/test/ros2-names
$(B)/test/ros2-names: $(B)/obj/tests/unit/ros2/test_names.o $(B)/obj/tools/bridge/ros2/wish.o
LINK_ros2-names := -ljansson
