# SPDX-License-Identifier: Apache-2.0
CONVERT_TESTS := ros_cross json_schema check generic rpc mappings wire values map_in rows named named_rows base64 pb_writer pb_points pb_reader pb_own pb_type round_trip map_in_sensors
INC_tests/unit/convert := -I. -Itests -Itests/unit/convert -Itools/bridge/convert -Ischemas -Ilibclient/include -I$(B)/gen
TESTS += $(CONVERT_TESTS:%=$(B)/test/convert-%)
$(CONVERT_TESTS:%=$(B)/test/convert-%): $(B)/test/convert-%: $(B)/obj/tests/unit/convert/test_%.o $(B)/obj/tests/unit/convert/sample.o \
	$(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(B)/test/convert-rows $(B)/test/convert-named_rows $(B)/test/convert-round_trip: $(B)/obj/tests/support/ros_tree.o
$(B)/test/convert-named $(B)/test/convert-named_rows: $(CBOR_WRITER)
$(B)/test/convert-named_rows: $(addprefix $(B)/obj/tests/support/,cbor_tree.o cbor_tree_write.o)
FLAGS_tests/unit/convert/test_json_schema.c := $(ROOMS_INC)
# the same bytes as protobuf-c's
PB_EVERY := $(B)/gen/unit/convert/pb_every.pb-c
$(PB_EVERY).c $(PB_EVERY).h &: tests/unit/convert/pb_every.proto
	@mkdir -p $(@D)
	protoc-c --proto_path=tests --c_out=$(B)/gen unit/convert/pb_every.proto
GENERATED += $(PB_EVERY).h
PB_RANDOM := $(B)/obj/tests/unit/convert/pb_random.o $(B)/obj/gen/unit/convert/pb_every.pb-c.o
$(addprefix $(B)/test/convert-,pb_writer pb_points): $(PB_RANDOM)
$(B)/test/convert-pb_reader: $(PB_RANDOM) $(B)/obj/tests/unit/convert/pb_compare.o
LINK_convert-pb_writer := -lprotobuf-c
LINK_convert-pb_points := -lprotobuf-c
LINK_convert-pb_reader := -lprotobuf-c
# types made of definitions of protobuf: protoc's set of them
PB_TYPES := $(B)/gen/unit/convert/pb_types.bin
$(PB_TYPES): tests/unit/convert/pb_types.proto tests/unit/convert/pb_types3.proto
	@mkdir -p $(@D)
	protoc --proto_path=tests/unit/convert --include_imports --descriptor_set_out=$@ pb_types.proto pb_types3.proto
$(B)/test/convert-pb_type: | $(PB_TYPES)
LINK_convert-pb_type := -lz
FLAGS_tests/unit/convert/test_pb_type.c := -DPB_SETS='"$(B)/gen/"'
# Apollo's messages against protobuf-c's code of schemas/apollo: a program a family, or about one
APOLLO_TESTS := apollo_5 apollo_10 apollo_nav apollo_in
TESTS += $(APOLLO_TESTS:%=$(B)/test/convert-%)
$(APOLLO_TESTS:%=$(B)/test/convert-%): $(B)/test/convert-%: $(B)/obj/tests/unit/convert/test_%.o $(addprefix $(B)/obj/tests/unit/convert/,apollo_peer.o sample.o) \
	$(B)/lib/libconvert.a $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
$(B)/test/convert-apollo_5: $(B)/lib/libapollo5.a
$(addprefix $(B)/test/convert-,apollo_10 apollo_nav apollo_in): $(B)/lib/libapollo10.a
$(addprefix $(B)/test/convert-,apollo_5 apollo_10): $(addprefix $(B)/obj/tests/unit/convert/,apollo_every.o apollo_round.o)
$(foreach t,$(APOLLO_TESTS),$(eval LINK_convert-$(t) := -lprotobuf-c))
$(foreach f,apollo_10 apollo_nav apollo_in,$(eval FLAGS_tests/unit/convert/test_$(f).c := -I$(B)/gen/apollo10))
FLAGS_tests/unit/convert/test_apollo_5.c := -I$(B)/gen/apollo5
# Apollo's definitions to the byte; and in libprotobuf's descriptor pool, where that is there
TESTS += $(B)/test/convert-apollo_files $(B)/test/convert-apollo_set
FLAGS_tests/unit/convert/test_apollo_set.c := -DAPOLLO_SETS='"$(B)/gen/"'
$(addprefix $(B)/test/convert-apollo_,files set): $(B)/test/convert-%: $(B)/obj/tests/unit/convert/test_%.o $(addprefix $(B)/lib/,libconvert.a libmsggen.a libintrospect.a libschema.a libbase.a)
ifneq ($(and $(if $(SAN_RUNTIME),,plain),$(wildcard /usr/include/google/protobuf/descriptor.h),$(shell command -v g++)),)
TESTS += $(B)/test/convert-apollo_pool $(B)/test/convert-pb_type_all
TESTS_NOSAN += $(B)/test/convert-apollo_pool $(B)/test/convert-pb_type_all
$(B)/test/convert-pb_type_all: tests/unit/convert/test_pb_type_all.cpp $(PB_TYPES) $(addprefix $(B)/lib/,libconvert.a libmsggen.a libintrospect.a libschema.a libbase.a) | $(GENERATED)
	@mkdir -p $(@D)
	g++ -std=c++17 -O1 -Wall -Wextra $(if $(WERROR),-Werror) -Itools/bridge/convert -Ilibclient/include -I$(B)/gen -DPB_SETS='"$(B)/gen/"' \
		-o $@ $(filter %.cpp %.a,$^) -lprotobuf -ljansson -lz -lm -pthread
$(B)/test/convert-apollo_pool: tests/unit/convert/test_apollo_pool.cpp $(addprefix $(B)/lib/,libconvert.a libintrospect.a libschema.a libbase.a) | $(GENERATED)
	@mkdir -p $(@D)
	g++ -std=c++17 -O1 -Wall -Wextra $(if $(WERROR),-Werror) -Itools/bridge/convert -Ilibclient/include -I$(B)/gen -DAPOLLO_SETS='"$(B)/gen/"' \
		-o $@ $(filter %.cpp %.a,$^) -lprotobuf -ljansson -lm -pthread
endif
