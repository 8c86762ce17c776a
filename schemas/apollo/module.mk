# SPDX-License-Identifier: Apache-2.0
# Apollo's definitions, of two releases: in libconvert as a descriptor pool has them, see ../gen/plain_file.h. protobuf-c's code of them is for tests
# alone: libapollo<release>.a, whose headers need -I$(B)/gen/apollo<release>. That has the default "not a number" as a bare nan, which C does
# not know, and warns of fields that Apollo calls deprecated but fills. Of an import that is not used, as Apollo has some, protoc need not warn.
$(B)/bin/setgen: $(addprefix $(B)/obj/schemas/,gen/setgen.o gen/plain_file.o)
INTERNAL += $(B)/bin/setgen
define apollo_release
APOLLO_PROTOS_$(1) := $(patsubst schemas/apollo/$(1)/%,%,$(shell find schemas/apollo/$(1) -name '*.proto' | LC_ALL=C sort))
$(B)/gen/apollo$(1)/.stamp: $$(addprefix schemas/apollo/$(1)/,$$(APOLLO_PROTOS_$(1))) schemas/apollo/module.mk $(B)/bin/setgen
	@rm -rf $$(@D) && mkdir -p $$(@D)
	cd schemas/apollo/$(1) && protoc-c --include_imports --descriptor_set_out=$$(abspath $$(@D))/protoc.bin --c_out=$$(abspath $$(@D)) \
		$$(APOLLO_PROTOS_$(1)) 2>$$(abspath $$(@D))/protoc.log || { cat $$(abspath $$(@D))/protoc.log >&2; exit 1; }
	$(B)/bin/setgen <$$(@D)/protoc.bin >$$(@D)/set.bin
	@find $$(@D) -name '*.pb-c.[ch]' -exec sed -i 's/\([=,] *\)nan\>/\1__builtin_nan("")/g; s/ PROTOBUF_C__DEPRECATED//' {} +
	@touch $$@
GENERATED += $(B)/gen/apollo$(1)/.stamp
$(B)/gen/apollo$(1)/definitions.c: $(B)/gen/apollo$(1)/.stamp
	@{ echo '#include "apollo_definitions.h"'; echo 'const unsigned char apollo_definitions_$(1)[] = {'; \
		od -An -v -tx1 $$(@D)/set.bin | sed 's/ \(..\)/0x\1,/g'; \
		echo '};'; echo 'const size_t apollo_definitions_$(1)_size = sizeof(apollo_definitions_$(1));'; } >$$@
$(B)/obj/gen/apollo$(1)/definitions.o: ALL_CFLAGS += -Itools/bridge/convert
APOLLO_OBJS_$(1) := $$(APOLLO_PROTOS_$(1):%.proto=$(B)/obj/gen/apollo$(1)/%.pb-c.o)
$$(APOLLO_PROTOS_$(1):%.proto=$(B)/gen/apollo$(1)/%.pb-c.c): $(B)/gen/apollo$(1)/.stamp ;
$$(APOLLO_OBJS_$(1)): ALL_CFLAGS += -I$(B)/gen/apollo$(1)
$(B)/lib/libapollo$(1).a: $$(APOLLO_OBJS_$(1))
endef
$(foreach r,5 10,$(eval $(call apollo_release,$(r))))
