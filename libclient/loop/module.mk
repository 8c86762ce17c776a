# SPDX-License-Identifier: Apache-2.0
# The event loop, shared by the daemon, bridges and tools; static, never installed. TLS is an archive of its own.
INC_libclient/loop := -Ilibclient/loop -Ilibclient/base
LOOP_SOURCES := $(sort $(wildcard libclient/loop/*.c))
LOOP_TLS_SOURCES := $(filter libclient/loop/tls% libclient/loop/stream_tls%,$(LOOP_SOURCES))

LIBS += $(B)/lib/libloop.a $(B)/lib/liblooptls.a
$(B)/lib/libloop.a: $(patsubst %.c,$(B)/obj/%.o,$(filter-out $(LOOP_TLS_SOURCES),$(LOOP_SOURCES)))
$(B)/lib/liblooptls.a: $(LOOP_TLS_SOURCES:%.c=$(B)/obj/%.o)
LINK_LOOP_TLS := -lssl -lcrypto
