# SPDX-License-Identifier: Apache-2.0
include tools/keys/module.mk tools/record/module.mk tools/bridge/module.mk tools/simctl/module.mk tools/simhost/module.mk tools/sources/module.mk tools/world/module.mk
