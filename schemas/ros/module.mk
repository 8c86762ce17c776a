# SPDX-License-Identifier: Apache-2.0
# The ROS types: $(B)/bin/rosgen reads schemas/ros, libros.a holds the tables.
ROS_MSGS := $(sort $(foreach k,msg srv action,$(wildcard schemas/ros/*/$(k)/*.msg schemas/ros/ros1/*/$(k)/*.msg)))
ROS_STAMP := $(B)/gen/ros/.stamp
ROS_NAMES := ros1_types ros2_types definitions

$(B)/bin/rosgen: $(addprefix $(B)/obj/schemas/gen/,rosgen.o rostexts.o) $(B)/lib/libmsggen.a
INTERNAL += $(B)/bin/rosgen

$(ROS_STAMP): $(ROS_MSGS) schemas/ros/tables $(B)/bin/rosgen
	@mkdir -p $(@D)
	$(B)/bin/rosgen schemas/ros $(@D) $(ROS_MSGS)
	@touch $@
$(ROS_NAMES:%=$(B)/gen/ros/%.c): $(ROS_STAMP) ;
$(B)/obj/gen/ros/%.o: $(B)/gen/ros/%.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Ischemas -MMD -MP -c $< -o $@

$(B)/lib/libros.a: $(ROS_NAMES:%=$(B)/obj/gen/ros/%.o) $(addprefix $(B)/obj/schemas/ros/,ros_type.o ros_definition.o ros_release.o ros_text.o ros_generic.o ros_words.o)
LIBS += $(B)/lib/libros.a
