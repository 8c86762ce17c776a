# SPDX-License-Identifier: Apache-2.0
# The ROS types: $(B)/bin/rosgen reads schemas/ros, libros.a holds the tables.
ROS_MSGS := $(sort $(wildcard schemas/ros/*/msg/*.msg schemas/ros/*/srv/*.msg schemas/ros/ros1/*/msg/*.msg))
ROS_STAMP := $(B)/gen/ros/.stamp
ROS_NAMES := ros1_types ros2_types

$(B)/bin/rosgen: $(B)/obj/schemas/gen/rosgen.o $(B)/lib/libmsggen.a
INTERNAL += $(B)/bin/rosgen

$(ROS_STAMP): $(ROS_MSGS) $(B)/bin/rosgen
	@mkdir -p $(@D)
	$(B)/bin/rosgen schemas/ros $(@D) $(ROS_MSGS)
	@touch $@
$(ROS_NAMES:%=$(B)/gen/ros/%.c): $(ROS_STAMP) ;
$(B)/obj/gen/ros/%.o: $(B)/gen/ros/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Ischemas -MMD -MP -c $< -o $@

$(B)/lib/libros.a: $(ROS_NAMES:%=$(B)/obj/gen/ros/%.o) $(addprefix $(B)/obj/schemas/ros/,ros_type.o ros_text.o ros_generic.o)
LIBS += $(B)/lib/libros.a
