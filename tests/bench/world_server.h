/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim-world in a process of its own, on CPU 0, and its interface to the load generators (world_load.h). Thread: the
 * orchestrator's.
 */
#ifndef BENCH_WORLD_SERVER_H
#define BENCH_WORLD_SERVER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench.h"
#include "world_load.h"

struct world_server {
	pid_t pid; /* 0: none */
	FILE *log;
	char address[32];
	uint16_t port;
};

/* keys: NULL: plain text. Negative: it does not run, and world_server_stop() is to be called nevertheless. */
int world_server_start(const struct bench *b, struct world_server *s, const char *step, const char *pace,
		       const char *keys);
/* With --compat and nothing else: port is where clients of TR-2016-06 come. */
int world_server_start_old(const struct bench *b, struct world_server *s);
void world_server_stop(struct world_server *s);

struct world_measured {
	double ticks_per_s, late_percent;
};

/* Once all are there; a window of so long, and until something has come: a short one on a busy machine may see nothing else. */
int world_measure(struct load *l, int64_t dur_ns, struct world_measured *ret);
uint64_t world_loaded(_Atomic uint64_t *n);
/* Of a role. */
void world_end(pid_t pid);

#endif
