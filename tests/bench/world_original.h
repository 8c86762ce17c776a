/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traffic of the original world server (TR-2016-06, its TCP generation), emulated, and kinder than it was: a thread for each client; a client sends
 * its vehicles, each a code and 361 bytes, and is answered with everybody else's, each a code and a body by two writes, then the end. And what such
 * a machine can do at best: whole worlds from one buffer, no protocol at all. Roles for bench_fork().
 */
#ifndef BENCH_WORLD_ORIGINAL_H
#define BENCH_WORLD_ORIGINAL_H

#include <stdatomic.h>
#include <stdint.h>

#define ORIGINAL_CLIENTS_MAX 256u

struct original {
	unsigned clients, objects; /* objects: of each client */
	_Atomic unsigned port;     /* where the server listens; 0: not yet */
	_Atomic uint64_t worlds;   /* answers, of all clients */
};

int original_server(void *original);
int original_clients(void *original);

/* A tick: 64 bytes of each object come from each client, then all of them go to each. `worlds` counts likewise. */
int ceiling_server(void *original);
int ceiling_clients(void *original);

#endif
