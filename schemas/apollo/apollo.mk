# SPDX-License-Identifier: Apache-2.0
# Apollo's definitions, of two families: $(B)/gen/apollo<family>/**.proto, and in libconvert as protoc describes them. protobuf-c's
# code of them is for tests alone: libapollo<family>.a, whose headers need -I$(B)/gen/apollo<family>. That has the default "not a number"
# as a bare nan, which C does not know.
APOLLO_PROTOS := $(patsubst schemas/apollo/%,%,$(shell find schemas/apollo -name '*.proto' | LC_ALL=C sort))
define apollo_family
APOLLO_DIR_$(1) := $(B)/gen/apollo$(1)
APOLLO_PROTOS_$(1) := $(shell printf '%s\n' $(APOLLO_PROTOS) | sed -f schemas/apollo/family$(1).sed)
$(B)/gen/apollo$(1)/.stamp: $(addprefix schemas/apollo/,$(APOLLO_PROTOS) family$(1).sed apollo.mk)
	@rm -rf $$(@D) && mkdir -p $$(@D)
	@for p in $(APOLLO_PROTOS); do \
		to=$$(@D)/$$$$(echo $$$$p | sed -f schemas/apollo/family$(1).sed) && mkdir -p $$$${to%/*} && \
		sed -f schemas/apollo/family$(1).sed schemas/apollo/$$$$p >$$$$to || exit 1; \
	done
	cd $$(@D) && protoc-c --include_imports --descriptor_set_out=set.bin --c_out=. $$(APOLLO_PROTOS_$(1))
	@find $$(@D) -name '*.pb-c.[ch]' -exec sed -i 's/\([=,] *\)nan\>/\1__builtin_nan("")/g' {} +
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
$(foreach f,5 10,$(eval $(call apollo_family,$(f))))
