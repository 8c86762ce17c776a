# SPDX-License-Identifier: Apache-2.0
# libsimclient: the static archive (for tests, which need its insides) and the shared library, which
# exports sim_* only and brings base, ipc and the built-in types with it.
# Who links the archive adds $(SIMCLIENT_ARCHIVES) and $(LIBBASE_LIBS).
INC_libclient/src := -Ilibclient/src -Ilibclient/include -Ilibclient/base -Ilibclient/ipc -Ischemas -I$(B)/gen

SIMCLIENT_OBJS := $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/src/*.c)))
SIMCLIENT_ARCHIVES := $(addprefix $(B)/lib/,libsimclient.a libipc.a libschema.a libbase.a)
LIBS += $(B)/lib/libsimclient.a $(B)/lib/libsimclient.so

$(B)/lib/libsimclient.a: $(SIMCLIENT_OBJS)

# libsimclient.so.0 is what programs ask the loader for: its number changes when they have to be built again.
SONAME      := libsimclient.so.0
SO_REALNAME := libsimclient.so.$(VERSION)
$(B)/lib/libsimclient.so: libclient/src/libsimclient.map libclient/src/module.mk $(SIMCLIENT_ARCHIVES)
	@mkdir -p $(@D)
	$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(SONAME) -Wl,--version-script,$< $(if $(SAN),,-Wl,-z,defs) \
		-o $(@D)/$(SO_REALNAME) -Wl,--whole-archive $(B)/lib/libsimclient.a $(B)/lib/libschema.a -Wl,--no-whole-archive \
		-Wl,--start-group $(filter-out %/libsimclient.a %/libschema.a,$(filter %.a,$^)) -Wl,--end-group $(LIBBASE_LIBS)
	@ln -sf $(SO_REALNAME) $(@D)/$(SONAME) && ln -sf $(SONAME) $@

# How a program or a plug-in links it: found beside itself in the build tree and when installed.
LINK_SIMCLIENT = -L$(B)/lib -lsimclient -Wl,-rpath,'$$ORIGIN/../lib:$$ORIGIN/..'
