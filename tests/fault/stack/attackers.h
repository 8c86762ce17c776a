/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malicious peers, each attacking one interface (test_attacks.c). Each counts its attempts in `offered`, and runs until
 * it is killed, or ends and has to be started again.
 */
#ifndef ATTACKERS_H
#define ATTACKERS_H

#include "peer.h"

bool attack_as_nobody(void); /* this process has no rights from now on; false: it cannot be */

/* Of methods and parameters, by the interface's own description: before the first attack_calls(). */
void attack_read_methods(void);

/* As a user without rights: */
int attack_calls(struct peer *p);
int attack_connections(struct peer *p); /* that say nothing or half of something, or send themselves */
int attack_heavy(struct peer *p);       /* calls that take as long as they can */
int attack_packets(struct peer *p);     /* UDP to each port that is open: RTPS with errors */

/* As a client: */
int attack_ports(struct peer *p);     /* publishers, subscribers and tokens that come and go */
int attack_scribbles(struct peer *p); /* over the shared pages */
int attack_bodies(struct peer *p);    /* that lie, and change while they are read */
int attack_recycled(struct peer *p);  /* writes over slots that it has released */
int attack_victim(struct peer *p);    /* does what clients do, and is killed */

#endif
