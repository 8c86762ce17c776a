/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of stream.h at a path. */
#include "suite.h"

const struct suite suite = { .host = NULL };
