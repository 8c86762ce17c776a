# SPDX-License-Identifier: Apache-2.0
# bridge_ros1.so: a node of ROS 1.
INC_tools/bridge/ros1 := -Itools/bridge/ros1 -Itools/bridge/convert -Ischemas -Ilibclient/include -I$(B)/gen
ROS1_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/ros1/*.c)))
