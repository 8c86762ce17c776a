/* SPDX-License-Identifier: Apache-2.0 */
/* A slot that a test has made, as a subscriber or a bridge is given it: alive until the end of the block. */
#ifndef SUPPORT_MESSAGE_H
#define SUPPORT_MESSAGE_H

#include <sim/slot.h>

#define MESSAGE_OF(slot) \
	(&(const struct sim_message){ .header = *(slot), .body = (slot) + 1, .body_size = (size_t)(slot)->body_size })

#endif
