# SPDX-License-Identifier: Apache-2.0
SS2_TESTS := grid lidar messages noise peers peers_memory scene sensors server store versions zmtp
SS2_LISTEN := peers
TESTS    += $(patsubst %,$(B)/test/ss2-%,$(filter-out $(SS2_LISTEN),$(SS2_TESTS)))
TESTS_NS += $(SS2_LISTEN:%=$(B)/test/ss2-%)
$(SS2_TESTS:%=$(B)/test/ss2-%): $(B)/test/ss2-%: $(B)/obj/tests/unit/ss2/test_%.o $(SS2_PEER) $(B)/lib/libss2.a $(B)/lib/libintrospect.a \
	$(B)/lib/libschema.a $(B)/lib/libbase.a
$(foreach t,$(SS2_TESTS),$(eval LINK_ss2-$(t) := -lprotobuf-c -ljansson -lm))
LINK_ss2-peers += -lzmq
