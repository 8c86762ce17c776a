# SPDX-License-Identifier: Apache-2.0
TESTS += $(B)/test/abi-pages
$(B)/test/abi-pages: $(B)/obj/tests/abi/test_pages.o

# iceoryx's own headers are C++; without them, or without a compiler, there is nothing to hold the offsets against.
IOX_HEADERS := /usr/include/iceoryx/v2.0.3
ifneq ($(and $(wildcard $(IOX_HEADERS)/iceoryx_posh/internal/mepoo/mem_pool.hpp),$(shell command -v g++)),)
TESTS += $(B)/test/abi-iceoryx
TESTS_NOSAN += $(B)/test/abi-iceoryx
$(B)/test/abi-iceoryx: tests/abi/test_iceoryx.cpp libclient/ipc/ipc_iox_layout.h libclient/ipc/iox_queue.h
	@mkdir -p $(@D)
	g++ -std=c++17 -Wall -Wextra -Wno-invalid-offsetof $(if $(WERROR),-Werror) -fno-access-control -Ilibclient/ipc -isystem $(IOX_HEADERS) \
		-o $@ $< -liceoryx_posh -liceoryx_hoofs

TESTS += $(B)/test/abi-iox-fast
TESTS_NOSAN += $(B)/test/abi-iox-fast
$(B)/test/abi-iox-fast: tests/abi/test_iox_fast.cpp $(B)/obj/libclient/ipc/iox_fast.o
	@mkdir -p $(@D)
	g++ -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -fno-access-control -Ilibclient/ipc -isystem $(IOX_HEADERS) -rdynamic \
		-o $@ $^ -liceoryx_posh -liceoryx_hoofs -ldl
endif

# that check-abi finds what it is there for
TESTS += tests/abi/refuses.sh
TESTS_NOSAN += tests/abi/refuses.sh
NEEDS_refuses.sh := $(B)/lib/libsimclient.so

# What users of each stored release have, built from its headers alone: 0.1.0/program, 0.1.0/bridge_old.so
ABI_RELEASES := $(notdir $(sort $(wildcard tests/abi/[0-9]*)))
define abi_release
$(B)/test/abi/$(1)/.headers: tests/abi/$(1)/headers.txt.xz tests/abi/unpack.awk
	@rm -rf $$(@D)/include && mkdir -p $$(@D)/include/sim/msg $$(@D)/include/sim/srv
	xz -dc $$< | awk -v to=$$(@D)/include -f tests/abi/unpack.awk
	@touch $$@
$(B)/test/abi/$(1)/program: tests/abi/$(1)/program.c $(B)/test/abi/$(1)/.headers | $(B)/lib/libsimclient.so
	$(CC) -std=c11 -O1 -g1 -w -I$$(@D)/include -pthread -o $$@ $$< -L$(B)/lib -lsimclient -Wl,-rpath,'$$$$ORIGIN/../../../lib'
$(B)/test/abi/$(1)/bridge_old.so: tests/abi/$(1)/plugin.c $(B)/test/abi/$(1)/.headers
	$(CC) -std=c11 -O1 -g1 -w -I$$(@D)/include -fPIC -shared -o $$@ $$<
ABI_BUILT += $(B)/test/abi/$(1)/program $(B)/test/abi/$(1)/bridge_old.so
endef
$(foreach r,$(ABI_RELEASES),$(eval $(call abi_release,$(r))))
