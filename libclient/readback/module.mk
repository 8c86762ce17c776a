# SPDX-License-Identifier: Apache-2.0
# Read-back from GPUs, and the library of it, libsimreadback: its back ends load what they need at run time.
INC_libclient/readback := -Ilibclient/include -Ilibclient/base -I$(B)/gen

LIBS += $(B)/lib/libsimreadback.a
$(B)/lib/libsimreadback.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/readback/*.c))) libclient/readback/module.mk

LIBS += $(B)/lib/libsimreadback.so
READBACK_SONAME   := libsimreadback.so.$(SOVERSION)
READBACK_REALNAME := libsimreadback.so.$(VERSION)
$(B)/lib/libsimreadback.so: libclient/readback/libsimreadback.map libclient/readback/module.mk $(addprefix $(B)/lib/,libsimreadback.a libbase.a) \
	$(B)/lib/libsimclient.so
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(READBACK_SONAME) -Wl,--version-script,$< $(if $(SAN_RUNTIME),,-Wl,-z,defs) \
		-o $(@D)/$(READBACK_REALNAME) -Wl,--whole-archive $(B)/lib/libsimreadback.a -Wl,--no-whole-archive \
		$(B)/lib/libbase.a -L$(B)/lib -lsimclient -Wl,-rpath,'$$ORIGIN' $(LIBBASE_LIBS) -ldl
	@ln -sf $(READBACK_REALNAME) $(@D)/$(READBACK_SONAME) && ln -sf $(READBACK_SONAME) $@

# how a program links it, beside $(LINK_SIMCLIENT)
LINK_READBACK = -L$(B)/lib -lsimreadback
