# SPDX-License-Identifier: Apache-2.0
# libsimclient: the static archive (for tests, which need its insides) and the shared library, which
# exports sim_* only and brings introspect, base, ipc, nodes and components, and the built-in types with it.
# Who links the archive adds $(SIMCLIENT_ARCHIVES) and $(LIBBASE_LIBS).
INC_libclient/src := -Ilibclient/src -Ilibclient/include -Ilibclient/introspect -Ilibclient/base -Ilibclient/process -Ilibclient/varlink -Ilibclient/ipc -Ischemas -I$(B)/gen

SIMCLIENT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/src/*.c)))
SIMCLIENT_ARCHIVES := $(addprefix $(B)/lib/,libsimclient.a libsimcomponent.a libintrospect.a libipc.a libschema.a libbase.a)
# those with what is exported
SIMCLIENT_WHOLE := $(filter-out %/libipc.a %/libbase.a,$(SIMCLIENT_ARCHIVES))
LIBS += $(B)/lib/libsimclient.a $(B)/lib/libsimclient.so

# this file too: an object that left is still in the archive of an older build
$(B)/lib/libsimclient.a: $(SIMCLIENT_OBJS) libclient/src/module.mk

SONAME      := libsimclient.so.$(SOVERSION)
SO_REALNAME := libsimclient.so.$(VERSION)
$(B)/lib/libsimclient.so: libclient/src/libsimclient.map libclient/src/module.mk $(SIMCLIENT_ARCHIVES)
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(SONAME) -Wl,--version-script,$< $(if $(SAN_RUNTIME),,-Wl,-z,defs) \
		-o $(@D)/$(SO_REALNAME) -Wl,--whole-archive $(SIMCLIENT_WHOLE) -Wl,--no-whole-archive \
		-Wl,--start-group $(filter-out $(SIMCLIENT_WHOLE),$(filter %.a,$^)) -Wl,--end-group $(LIBBASE_LIBS)
	@ln -sf $(SO_REALNAME) $(@D)/$(SONAME) && ln -sf $(SONAME) $@

# How a program or a plug-in links it: found beside itself in the build tree and when installed.
LINK_SIMCLIENT = -L$(B)/lib -lsimclient -Wl,-rpath,'$$ORIGIN/../lib:$$ORIGIN/..'
