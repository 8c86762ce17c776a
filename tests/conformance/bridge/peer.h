/* SPDX-License-Identifier: Apache-2.0 */
/* What a plug-in connects to that cannot connect to nobody. */
#ifndef CONFORMANCE_PEER_H
#define CONFORMANCE_PEER_H

#include <stddef.h>

void peer_start(char *connection, size_t size); /* what to connect to */
void peer_stop(void);                           /* asserts that it has seen nothing wrong */

#endif
