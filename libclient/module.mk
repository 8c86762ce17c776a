# SPDX-License-Identifier: Apache-2.0
include libclient/base/module.mk
include libclient/loop/module.mk
include libclient/ipc/module.mk
include libclient/introspect/module.mk
include libclient/src/module.mk
include libclient/component/module.mk
include libclient/readback/module.mk
include libclient/world/module.mk
include libclient/examples/module.mk
