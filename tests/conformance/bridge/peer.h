/* SPDX-License-Identifier: Apache-2.0 */
/* The other side for plug-ins that must have a peer to connect to. */
#ifndef CONFORMANCE_PEER_H
#define CONFORMANCE_PEER_H

#include <stddef.h>

void peer_start(char *connection, size_t size); /* writes the connection string */
void peer_stop(void);                           /* asserts that the peer has seen no error */

#endif
