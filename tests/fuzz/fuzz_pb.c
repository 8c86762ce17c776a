/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf from a peer: our reader and protobuf-c's agree on any bytes, see pb_compare.h. Thread: one. */
#include <stdlib.h>

#include "tests/unit/convert/pb_compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (pb_compare(data, size) == PB_DIFFERENT)
		abort();
	return 0;
}
