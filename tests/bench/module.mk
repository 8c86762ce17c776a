# SPDX-License-Identifier: Apache-2.0
# The bench program: orchestrator and roles in one; the bare iceoryx binding is linked for comparison only.
INC_tests/bench := -Idaemon -Ilibclient/include -Ilibclient/ipc -Ilibclient/base -Ischemas -I$(B)/gen -isystem /usr/include/iceoryx/v2.0.3

INTERNAL += $(B)/bin/bench
$(B)/bin/bench: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tests/bench/*.c))) $(B)/lib/libschema.a \
	$(B)/lib/libsimd.a $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_bench = $(LINK_SIMCLIENT) -liceoryx_binding_c -ljansson -lm
