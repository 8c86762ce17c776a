# SPDX-License-Identifier: Apache-2.0
CLIENT_TESTS := gate
TESTS += $(CLIENT_TESTS:%=$(B)/test/client-%)
CLIENT_LIBS := $(SIMCLIENT_ARCHIVES)
$(CLIENT_TESTS:%=$(B)/test/client-%): $(B)/test/client-%: $(B)/obj/tests/unit/client/test_%.o $(CLIENT_LIBS)
