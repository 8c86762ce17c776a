# SPDX-License-Identifier: Apache-2.0
# The bench program: orchestrator and roles in one; the bare iceoryx binding and GLib are linked for comparison only.
INC_tests/bench := -Idaemon -Ilibclient/include -Ilibclient/ipc -Ilibclient/base -Ischemas -I$(B)/gen -Itests -isystem /usr/include/iceoryx/v2.0.3 $(shell pkg-config --cflags glib-2.0 | sed 's/-I/-isystem /g')

INTERNAL += $(B)/bin/bench
$(B)/bin/bench: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tests/bench/*.c))) $(B)/lib/libschema.a \
	$(B)/lib/libsimd.a $(B)/lib/libipc.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_bench = $(LINK_SIMCLIENT) -liceoryx_binding_c -lglib-2.0 -ljansson -lm
