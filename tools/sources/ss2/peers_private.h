/* SPDX-License-Identifier: Apache-2.0 */
/* What peers.c and peers_keep.c share. Thread: the owner's. */
#ifndef SOURCES_SS2_PEERS_PRIVATE_H
#define SOURCES_SS2_PEERS_PRIVATE_H

#include "peers.h"

/* Change a connection's state without answering a request. */
void peers_change(struct peers *p, unsigned i, const struct peers_line *next);
/* Set the descriptor of connection i; takes ownership of fd. */
void peers_meet(struct peers *p, unsigned i, int fd);
/* Store the descriptors as they are now for the next process. A failure is logged. */
void peers_keep(struct peers *p);
/* Send the rest of the answers, for at most a moment each. */
void peers_linger(struct peers *p);

#endif
