# SPDX-License-Identifier: Apache-2.0
RECORD_TESTS := $(patsubst tests/unit/record/test_%.c,%,$(sort $(wildcard tests/unit/record/test_*.c)))
INC_tests/unit/record := -I. -Itests -Itests/unit/record -Itools -Itools/record -Itools/bridge -Itools/bridge/convert -Ischemas -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
TESTS += $(patsubst %,$(B)/test/record-%,$(filter-out full recording,$(RECORD_TESTS)))
TESTS_NS += $(B)/test/record-full $(B)/test/record-recording # they mount
$(RECORD_TESTS:%=$(B)/test/record-%): $(B)/test/record-%: $(B)/obj/tests/unit/record/test_%.o $(RECORD_LIBS)
$(foreach t,$(RECORD_TESTS),$(eval LINK_record-$(t) = $(LINK_RECORD)))
$(patsubst %,$(B)/test/record-%,$(filter mcap_%,$(RECORD_TESTS))): $(B)/obj/tests/unit/record/mcap_sample.o
$(foreach t,copy convert,$(eval FLAGS_tests/unit/record/test_$(t).c := -DSIMCTL='"$(B)/bin/simctl"'))
$(addprefix $(B)/test/record-,copy convert): | $(B)/bin/simctl
# a file is cut and flipped at each of its bytes
LIMIT_record-bag := 600
LIMIT_record-mcap_bad := 600
$(B)/test/record-play_time: $(B)/obj/tools/simctl/play_time.o
$(B)/test/record-record_match: $(B)/obj/tools/simctl/record_match.o
$(B)/test/record-record_backlog: $(B)/obj/tools/simctl/record_backlog.o
$(addprefix $(B)/test/record-,codec_in codec_out convert): $(B)/obj/tests/unit/convert/sample.o
FLAGS_tests/unit/record/test_bridge_mcap.c := -DPLUGINS='"$(B)/lib/simd"'
$(B)/test/record-bridge_mcap: | $(B)/lib/simd/bridge_mcap.so
