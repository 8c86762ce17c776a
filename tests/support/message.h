/* SPDX-License-Identifier: Apache-2.0 */
/* A slot made by a test, in the form that a subscriber or a bridge gets; valid until the end of the block. */
#ifndef SUPPORT_MESSAGE_H
#define SUPPORT_MESSAGE_H

#include <sim/slot.h>

#define MESSAGE_OF(slot) \
	(&(const struct sim_message){ .header = *(slot), .body = (slot) + 1, .body_size = (size_t)(slot)->body_size })

#endif
