# SPDX-License-Identifier: Apache-2.0
# A decoder that is not ours (npm) on the CDR of every mapping. package-lock.json names versions and sums, no registry.
TEST_PROGRAMS += $(B)/bin/emit-cdr
INC_tests/system/decode := -I. -Itests -Itools/bridge/convert -Ischemas -Ilibclient/include -I$(B)/gen
$(B)/bin/emit-cdr: $(B)/obj/tests/system/decode/emit.o $(CBOR_WRITER) $(B)/obj/tests/unit/convert/sample.o \
	$(B)/lib/libconvert.a $(B)/lib/libros.a $(B)/lib/libmsggen.a $(B)/lib/libintrospect.a $(B)/lib/libschema.a $(B)/lib/libbase.a
LINK_emit-cdr = $(LINK_test)
TESTS += tests/system/decode/decode.sh
NEEDS_decode.sh := $(B)/bin/emit-cdr
# MCAP: our files in @mcap/core, theirs in ours
TEST_PROGRAMS += $(B)/bin/emit-mcap
FLAGS_tests/system/decode/emit_mcap.c := -Itools
$(B)/bin/emit-mcap: $(B)/obj/tests/system/decode/emit_mcap.o $(RECORD_LIBS)
LINK_emit-mcap = $(LINK_RECORD) -ljansson
TESTS += tests/system/decode/mcap.sh
NEEDS_mcap.sh := $(B)/bin/emit-mcap $(B)/bin/simctl
# all encodings of all types in decoders of each
TEST_PROGRAMS += $(B)/bin/emit-native
FLAGS_tests/system/decode/emit_native.c := -Itools -Itools/bridge
$(B)/bin/emit-native: $(B)/obj/tests/system/decode/emit_native.o $(B)/obj/tests/unit/convert/sample.o $(RECORD_LIBS)
LINK_emit-native = $(LINK_RECORD) -ljansson -lm
TESTS += tests/system/decode/encodings.sh
NEEDS_encodings.sh := $(B)/bin/emit-native
