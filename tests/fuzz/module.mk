# SPDX-License-Identifier: Apache-2.0
# Harnesses: fuzz_<name>.c, corpus/<name>/, an optional <name>.dict. `make fuzz` runs them for a while; their
# corpus is a test of every run (replay.c).
FUZZERS += conf varlink printable control msg_parser type_json msg_body traci ss2 map_in generic ros_text rpc graph rtps xmlrpc http tcpros lgsvl cyber json cbor rosbridge pb pb_own bag record_file mcap pack rosbag2_yaml codec dag launch sched_conf param world world_session world_side
FUZZ_LIBS_conf    := $(B)/lib/libbase.a
FUZZ_LIBS_varlink := $(B)/lib/libbase.a
FUZZ_LIBS_printable := $(B)/lib/libbase.a
FUZZ_LIBS_control := $(B)/obj/tests/unit/control/peer.o $(addprefix $(B)/lib/,libsimd.a libintrospect.a libipc.a libschema.a libbase.a)
FUZZ_LIBS_msg_parser := $(B)/lib/libmsggen.a $(B)/lib/libbase.a
FUZZ_LIBS_type_json  := $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
FUZZ_LIBS_msg_body   := $(addprefix $(B)/obj/gen/probe/msg/,Empty.o Every.o Leaf.o) $(FUZZ_LIBS_type_json)
FUZZ_LIBS_traci   := $(B)/lib/libsources.a $(B)/lib/libbase.a
FUZZ_LIBS_ss2 = $(B)/lib/libss2.a $(SS2_PEER) $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
FUZZ_LIBS_map_in  := $(addprefix $(B)/lib/,libconvert.a libros.a libintrospect.a libschema.a libbase.a)
FUZZ_LIBS_json    := $(FUZZ_LIBS_map_in)
FUZZ_LIBS_cbor    := $(FUZZ_LIBS_map_in)
FUZZ_LIBS_cyber  := $(B)/lib/libtcplink.a $(FUZZ_LIBS_map_in)
FUZZ_LIBS_lgsvl  := $(B)/lib/libtcplink.a $(FUZZ_LIBS_map_in)
FUZZ_LIBS_rosbridge := $(addprefix $(B)/obj/tools/bridge/rosbridge/,in.o service.o remote.o sim_time.o topic.o queue.o) \
	$(addprefix $(B)/lib/,libtopics.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
FUZZ_LINK_rosbridge := -ljansson -lm
FLAGS_tests/fuzz/fuzz_rosbridge.c := -Itools/bridge/rosbridge -Itools/bridge/topics -Itools/bridge/convert
FUZZ_LIBS_graph := $(B)/obj/tools/bridge/ros2/graph_read.o $(B)/lib/libconvert.a $(B)/lib/libbase.a
FUZZ_LIBS_rtps := $(B)/obj/tools/bridge/ros2/rtps_packet.o $(B)/lib/libbase.a
FUZZ_LIBS_xmlrpc := $(addprefix $(B)/obj/tools/bridge/ros1/,xmlrpc.o xmlrpc_write.o) $(B)/lib/libbase.a
FUZZ_LINK_xmlrpc := -lexpat
FUZZ_LIBS_http := $(B)/obj/tools/bridge/ros1/http.o $(B)/lib/libbase.a
FUZZ_LIBS_tcpros := $(B)/obj/tools/bridge/ros1/tcpros.o $(B)/lib/libbase.a
FUZZ_LIBS_rpc = $(FUZZ_LIBS_generic)
FUZZ_LIBS_generic := $(addprefix $(B)/lib/,libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
FUZZ_LIBS_ros_text := $(addprefix $(B)/lib/,libros.a libmsggen.a libbase.a)
FUZZ_LIBS_pb = $(PB_RANDOM) $(B)/obj/tests/unit/convert/pb_compare.o $(B)/lib/libconvert.a $(B)/lib/libbase.a
FUZZ_LIBS_pb_own := $(FUZZ_LIBS_map_in)
FUZZ_LIBS_bag := $(addprefix $(B)/lib/,librecord.a libconvert.a libros.a libmsggen.a libintrospect.a libschema.a libbase.a)
FUZZ_LINK_bag = $(LINK_RECORD) -ljansson -lm
FUZZ_LIBS_rosbag2_yaml := $(FUZZ_LIBS_bag)
FUZZ_LINK_rosbag2_yaml = $(FUZZ_LINK_bag)
FUZZ_LIBS_record_file := $(FUZZ_LIBS_bag)
FUZZ_LINK_record_file = $(FUZZ_LINK_bag)
FUZZ_LIBS_mcap := $(FUZZ_LIBS_bag)
FUZZ_LIBS_pack := $(B)/lib/librecord.a $(B)/lib/libbase.a
FUZZ_LINK_mcap = $(FUZZ_LINK_bag)
FLAGS_tests/fuzz/fuzz_mcap.c := -Itools
FLAGS_tests/fuzz/fuzz_pack.c := -Itools
FUZZ_LIBS_codec := $(FUZZ_LIBS_bag)
FUZZ_LINK_codec = $(FUZZ_LINK_bag)
FLAGS_tests/fuzz/fuzz_codec.c := -Itools -Itools/record -Itools/bridge -Itools/bridge/convert
FUZZ_LIBS_dag := $(B)/lib/libsimhost.a $(B)/lib/libbase.a
FUZZ_LINK_dag := $(LINK_SIMHOST)
FUZZ_LIBS_launch := $(FUZZ_LIBS_dag)
FUZZ_LINK_launch := $(FUZZ_LINK_dag)
FUZZ_LIBS_sched_conf := $(addprefix $(B)/obj/libclient/component/,scheduler_conf.o scheduler_cpu.o) $(B)/lib/libbase.a
FUZZ_LIBS_param := $(addprefix $(B)/obj/libclient/component/,param.o param_service.o) $(addprefix $(B)/lib/,libschema.a libintrospect.a libbase.a)
FUZZ_LIBS_world := $(B)/obj/tests/unit/world/random_world.o $(addprefix $(B)/lib/,libsimworldwire.a libbase.a)
FLAGS_tests/fuzz/fuzz_world.c := -Ilibclient -Itests/unit/world
FUZZ_LINK_world := $(LINK_WORLD)
FUZZ_LIBS_world_session := $(addprefix $(B)/lib/,libworld.a libsimworldwire.a libbase.a)
FUZZ_LINK_world_session := $(LINK_WORLD)
FLAGS_tests/fuzz/fuzz_world_session.c := -Ilibclient
FUZZ_LIBS_world_side := $(addprefix $(B)/lib/,libsimworldwire.a libbase.a)
FUZZ_LINK_world_side := $(LINK_WORLD)
FLAGS_tests/fuzz/fuzz_world_side.c := -Ilibclient
FUZZ_LINK_pb := -lprotobuf-c
FUZZ_LINK_ss2 := -lprotobuf-c -ljansson

TESTS += $(FUZZERS:%=$(B)/test/fuzz-%)
