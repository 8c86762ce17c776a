# SPDX-License-Identifier: Apache-2.0
# Two simd and more, each on a machine of its own: namespaces with a switch between them.
INC_tests/system/link := $(INC_tests) -I. -Itests -Itests/support -Ilibclient/include $(ROOMS_INC) -I$(B)/gen
ifeq ($(SAN_RUNTIME),)
LINK_SYSTEM_TESTS := $(patsubst tests/system/link/test_%.c,%,$(sort $(wildcard tests/system/link/test_*.c)))
TESTS_NS += $(LINK_SYSTEM_TESTS:%=$(B)/test/system-link-%)
define link_test
$(B)/test/system-link-$(1): $(addprefix $(B)/obj/tests/system/link/,test_$(1).o machine.o traffic.o) $(SWITCH) $(B)/lib/libbase.a \
	| $(B)/lib/libsimclient.so $(B)/lib/simd/ipc_iox.so $(B)/lib/simd/bridge_link.so $(addprefix $(B)/bin/,simd simctl simbridge)
LINK_system-link-$(1) = $$(LINK_SIMCLIENT) -ljansson
endef
$(foreach t,$(LINK_SYSTEM_TESTS),$(eval $(call link_test,$(t))))
$(foreach t,crash exchange keys parted time,$(eval LIMIT_system-link-$(t) := 600)) # they wait for leases
# they wait for networks and time-outs
TESTS_ONCE += $(addprefix $(B)/test/system-link-,crash exchange keys line network parted time types)
TESTS_FULL += $(addprefix $(B)/test/system-link-,crash exchange keys network parted three time types)
endif
# machines in lock-step
$(addprefix $(B)/test/system-link-,crash exchange parted): $(B)/obj/tests/system/link/steps.o
# nodes on both machines
FLAGS_tests/system/link/test_delivery.c := -DSHELF='"$(B)/test/plugins"'
$(B)/test/system-link-delivery: | $(B)/bin/simhost $(COMPONENT_SHELF)
# a bridge that brings messages in
FLAGS_tests/system/link/test_inbound.c := -DFAULTY='"$(FAULTY)"'
$(B)/test/system-link-inbound: | $(FAULTY) $(B)/lib/simd/bridge_null.so
# a peer of our own making, that lies
FLAGS_tests/system/link/test_hostile.c := -Itools/bridge/link -DDDS_HAS_SHM=1
$(B)/test/system-link-hostile: $(addprefix $(B)/obj/tools/bridge/,link/blob.o link/blob_type.o dds/in_parts.o dds/keyless.o)
LINK_system-link-hostile += -lddsc
# authorities that the test makes, and a peer with keys of its own that lies
FLAGS_tests/system/link/test_keys.c = -Itools/keys -Itools/bridge/link -DDDS_HAS_SHM=1 \
	-DDDS_SECURITY='"$(shell ${CC} -print-file-name=libddsc.so | xargs readlink -f | xargs dirname)/libddsc0debian/libdds_security_"'
$(B)/test/system-link-keys: $(B)/lib/libkeys.a $(B)/lib/liblinktime.a $(addprefix $(B)/obj/tools/bridge/,link/blob.o link/blob_type.o dds/in_parts.o dds/keyless.o)
LINK_system-link-keys += -lcrypto -lddsc
