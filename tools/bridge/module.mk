# SPDX-License-Identifier: Apache-2.0
# simbridge and its plug-ins. All may see the public headers and base, a plug-in of the tree loop as well; null and logging need what is installed alone.
include $(sort $(wildcard tools/bridge/*/module.mk))
INC_tools/bridge/host := -Ilibclient/include -Ilibclient/base -Ilibclient/options -I$(B)/gen
INC_tools/bridge/logging := -Ilibclient/include -I$(B)/gen
INC_tools/bridge/null := -Ilibclient/include -I$(B)/gen
FLAGS_tools/bridge/host := -DSIM_LIBDIR='"$(PREFIX)/lib"'

BRIDGE_HOST_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(filter-out %/main.c,$(sort $(wildcard tools/bridge/host/*.c))))
LIBS += $(B)/lib/libbridgehost.a $(B)/lib/simd/bridge_logging.so $(B)/lib/simd/bridge_null.so
PROGRAMS += $(B)/bin/simbridge

$(B)/lib/libbridgehost.a: $(BRIDGE_HOST_OBJS)

$(B)/bin/simbridge: $(B)/obj/tools/bridge/host/main.o $(B)/lib/libbridgehost.a $(B)/lib/libbase.a | $(B)/lib/libsimclient.so
LINK_simbridge = $(LINK_SIMCLIENT) -ljansson -ldl

# A plug-in: bridge_<name>.so from tools/bridge/<name>/*.c; PLUGIN_LIBS_<name> are its own libraries.
define bridge_plugin
$(B)/lib/simd/bridge_$(1).so: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard tools/bridge/$(1)/*.c))) | $(B)/lib/libsimclient.so
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) -shared -o $$@ $$(filter %.o,$$^) $$(LINK_SIMCLIENT) $$(PLUGIN_LIBS_$(1))
endef
PLUGIN_LIBS_logging := -lz
$(foreach p,logging null,$(eval $(call bridge_plugin,$(p))))
