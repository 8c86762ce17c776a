# SPDX-License-Identifier: Apache-2.0
include tools/sources/module.mk
