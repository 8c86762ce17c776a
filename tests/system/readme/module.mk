# SPDX-License-Identifier: Apache-2.0
# The README's own lines, as a stranger types them, and what comes before them.
ifeq ($(SAN_RUNTIME),)
TESTS_NS += tests/system/readme/sensor.sh tests/system/readme/owner.sh tests/system/readme/first-hour.sh
# with a node of ROS 2 that has what Cyclone needs
TESTS_NS += tests/system/readme/ros2.sh
NEEDS_ros2.sh := $(B)/test/ros2
endif
