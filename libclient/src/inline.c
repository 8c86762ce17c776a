/* SPDX-License-Identifier: Apache-2.0 */
/* The inline helpers of the public headers as functions that the library exports: for languages other than C. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define SIM_INLINE __attribute__((visibility("default")))
#include <sim/message.h>
#include <sim/slot.h>
