# SPDX-License-Identifier: Apache-2.0
# The ROS 2 plug-in by itself, with a host that the tests play, against DDS programs in processes of their own.
INC_tests/system/ros2 := -I. -Itools/bridge/ros2 -Itools/bridge/dds -Itests -Itests/support -Ischemas -Ilibclient/include -I$(B)/gen
FLAGS_tests/system/ros2 := -DPLUGIN='"$(B)/lib/simd/bridge_ros2.so"' -DPEER='"$(B)/test/fastdds-peer"' -DASKER='"$(B)/test/fastdds-asker"' -DNODE='"$(B)/test/cyclone-node"' -DSIMCTL='"$(B)/bin/simctl"' -DDDS_SECURITY='"/usr/lib/$(shell $(CC) -dumpmachine)/libddsc0debian"'

# $(1): test program, $(2): its objects
define ros2_test
TESTS_NS += $(B)/test/$(1)
TESTS_NOSAN += $(B)/test/$(1)
$(B)/test/$(1): $(2:%=$(B)/obj/tests/system/ros2/%.o) $(B)/lib/libros.a | $(B)/lib/simd/bridge_ros2.so
LINK_$(1) = $$(LINK_SIMCLIENT) -lddsc -lcmocka -ldl
endef
$(eval $(call ros2_test,system-ros2-cyclone,test_cyclone reader typed))
$(eval $(call ros2_test,system-ros2-sim_time,test_sim_time host reader))
$(eval $(call ros2_test,system-ros2-fastdds,test_fastdds host))
$(eval $(call ros2_test,system-ros2-facts,test_facts host reader))
$(B)/test/system-ros2-facts: $(addprefix $(B)/lib/,libmsggen.a libbase.a)
$(eval $(call ros2_test,system-ros2-graph,test_graph host reader))
$(B)/test/system-ros2-graph: | $(B)/bin/simctl
$(eval $(call ros2_test,system-ros2-content,test_content host reader))
$(eval $(call ros2_test,system-ros2-learn,test_learn host reader))
FLAGS_tests/system/ros2/test_learn.c := -Itools/bridge/convert -DDDS_HAS_SHM=1
# topics of bytes, as the bridge has them
ROS2_RAW := $(addprefix $(B)/obj/tools/bridge/ros2/,sertype.o rtps_identity.o rtps_packet.o cyclone_inside.o) $(addprefix $(B)/lib/,libdds.a libconvert.a libmsggen.a libbase.a)
$(B)/test/system-ros2-learn: $(ROS2_RAW)
$(eval $(call ros2_test,system-ros2-large,test_large host reader))
LINK_system-ros2-large += -rdynamic # its getsockopt() is seen by the libraries
$(eval $(call ros2_test,system-ros2-pacing,test_pacing host reader))
LINK_system-ros2-pacing += -rdynamic # its nanosleep() and dds_wait_for_acks() are seen by the plug-in
$(eval $(call ros2_test,system-ros2-sockets,test_sockets cables host))
$(eval $(call ros2_test,system-ros2-machine,test_machine node cables host))
$(B)/test/system-ros2-machine: | $(B)/test/cyclone-node
$(B)/test/cyclone-node: $(patsubst %,$(B)/obj/tests/system/ros2/%.o,cyclone_node reader)
LINK_cyclone-node = -lddsc
$(B)/test/ros2: $(patsubst %,$(B)/obj/tests/system/ros2/%.o,ros2 reader typed) $(B)/obj/tests/support/ros_tree.o $(B)/lib/libros.a $(B)/lib/libbase.a
LINK_ros2 = -lddsc -ljansson -lm
$(B)/test/ros2-unmapped: $(patsubst %,$(B)/obj/tests/system/ros2/%.o,unmapped reader typed) $(B)/obj/tests/support/ros_tree.o $(addprefix $(B)/lib/,libros.a libmsggen.a libbase.a)
LINK_ros2-unmapped = -lddsc -ljansson -lm
$(eval $(call ros2_test,system-ros2-receivers,test_receivers))
$(B)/test/system-ros2-receivers: $(B)/obj/tools/bridge/dds/receivers.o $(B)/lib/libbase.a
$(B)/test/system-ros2-cyclone: $(B)/obj/tests/support/ros_tree.o # of typed.c
$(eval $(call ros2_test,system-ros2-service,test_service host reader asker))
$(eval $(call ros2_test,system-ros2-call,test_call host reader asker server))
$(B)/test/system-ros2-call: $(addprefix $(B)/lib/,libmsggen.a libbase.a)
LINK_system-ros2-call += -ljansson -lm
$(eval $(call ros2_test,system-ros2-param,test_param caller host reader))
FLAGS_tests/system/ros2/caller.c := -Itools/bridge/convert -DDDS_HAS_SHM=1
FLAGS_tests/system/ros2/test_param.c := -Itools/bridge/convert
$(B)/test/system-ros2-param: $(ROS2_RAW)
$(eval $(call ros2_test,system-ros2-fastdds_service,test_fastdds_service host reader asker))
TESTS_SOAK += $(B)/test/system-ros2-fastdds_service
TESTS_ONCE += $(B)/test/system-ros2-fastdds_service
LIMIT_system-ros2-fastdds_service := $(if $(FULL),900,300)
LINK_system-ros2-fastdds_service += -rdynamic # its sendmsg() and dladdr() are seen by the libraries

# Fast DDS speaks C++ only; without it, or without a compiler, the test says so.
ifneq ($(and $(wildcard /usr/include/fastdds/dds/domain/DomainParticipant.hpp),$(shell command -v g++)),)
$(B)/test/fastdds-%: tests/system/ros2/fastdds_%.cpp tests/system/ros2/fastdds_node.h tests/support/wait.h
	@mkdir -p $(@D)
	g++ -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -g -O1 -pthread -rdynamic -I. -o $@ $< -lfastrtps -lfastcdr
$(B)/test/system-ros2-fastdds $(B)/test/system-ros2-machine $(B)/bin/bench $(B)/test/system-stack-ros2: | $(B)/test/fastdds-peer
$(B)/test/system-ros2-fastdds_service $(B)/test/system-ros2-call $(B)/test/system-ros2-param: | $(B)/test/fastdds-asker
endif
