/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients as TR-2016-06's ChClient was: each writes a byte and then 361, without NODELAY, a thousand times a second,
 * and another thread of it reads the replies. And the simplest server for them, as the original was: a thread for each,
 * one map of bodies, each reply written at once. Roles for bench_fork().
 */
#ifndef BENCH_WORLD_PEERS_H
#define BENCH_WORLD_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PEERS_MAX 16u
#define AGES_MAX  65536u

/* Shared with the orchestrator. */
struct peers {
	unsigned clients;
	_Atomic unsigned port;       /* of the server; 0: not yet */
	_Atomic uint64_t sent, seen; /* updates; of these those that were seen, by each of the others once */
	_Atomic bool window;         /* ages are noted */
	_Atomic uint32_t n_ages;
	uint32_t ages_us[AGES_MAX]; /* from an update's sending to its being seen */
};

int peers_server(void *peers);
int peers_clients(void *peers);

#endif
