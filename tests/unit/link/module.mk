# SPDX-License-Identifier: Apache-2.0
# What a link writes and reads, without DDS.
INC_tests/unit/link := -I. -Itests -Itools/bridge/link -Itools/bridge/topics -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
TESTS += $(B)/test/link-wire
$(B)/test/link-wire: $(B)/obj/tests/unit/link/test_wire.o $(addprefix $(B)/obj/tools/bridge/link/,blob.o manifest.o call_msg.o patterns.o) \
	$(B)/obj/tools/bridge/topics/option.o $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_link-wire = $(LINK_SIMCLIENT) -ljansson
