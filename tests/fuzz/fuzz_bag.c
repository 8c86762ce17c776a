/* SPDX-License-Identifier: Apache-2.0 */
/* Any .bag file, read with and without its index: see log_fuzz.h. */
#include "log_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return log_fuzz(data, size);
}
