/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of stream.h at a port. */
#include "suite.h"

const struct suite suite = { .host = "127.0.0.1" };
