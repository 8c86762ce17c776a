# SPDX-License-Identifier: Apache-2.0
# libintrospect.a: sim/introspect.h and sim/types.h without a client, for simd and for tests; libsimclient contains it.
# Who links it adds libschema.a, libbase.a and $(LIBBASE_LIBS).
INC_libclient/introspect := -Ilibclient/include -Ilibclient/base -Ischemas -I$(B)/gen

LIBS += $(B)/lib/libintrospect.a
$(B)/lib/libintrospect.a: $(patsubst %.c,$(B)/obj/%.o,$(sort $(wildcard libclient/introspect/*.c))) libclient/introspect/module.mk
