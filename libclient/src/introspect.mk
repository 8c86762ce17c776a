# SPDX-License-Identifier: Apache-2.0
# libintrospect.a: sim/introspect.h without a client: for libsimclient, for simd and for tests.
# Links with libschema.a, libbase.a and $(LIBBASE_LIBS).
INC_libclient/src ?= -Ilibclient/src -Ilibclient/include -Ilibclient/base -Ilibclient/ipc -Ischemas -I$(B)/gen

INTROSPECT_OBJS := $(addprefix $(B)/obj/libclient/src/,introspect.o introspect_type.o introspect_print.o \
	introspect_read.o body.o json_num.o json_out.o)
$(B)/lib/libintrospect.a: $(INTROSPECT_OBJS)
LIBS += $(B)/lib/libintrospect.a
