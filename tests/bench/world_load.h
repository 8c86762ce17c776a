/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many clients of a world in one process: each sends its objects and Done with every heartbeat, and skips all other
 * data that it gets, so that the process costs little beside the server that is measured. One more client sees
 * everything, and decodes it. Thread: one, that of the role.
 */
#ifndef BENCH_WORLD_LOAD_H
#define BENCH_WORLD_LOAD_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

struct load_options {
	uint16_t port;
	unsigned clients, objects; /* objects: of each client */
	unsigned first;            /* identity of the first client */
	double apart;              /* [m] between places of clients, two at each; 0: all together */
	double radius;             /* [m] of interest; 0: the whole world */
	int cpu;                   /* -1: any */
	const char *keys;          /* by TLS, with ca.pem, load.pem and load.key of that directory; NULL: plain. Kept */
	bool looks_on;             /* with one more client that decodes */
};

/* Shared with the orchestrator. */
struct load_counters {
	_Atomic uint64_t here;       /* clients that have their Welcome */
	_Atomic uint64_t heartbeats; /* of all clients */
	_Atomic uint64_t late; /* of these: later than a quarter of a step, by the time of the first one of the window */
	_Atomic uint32_t
		window; /* one more when a window begins: what a world lost while it was filled counts in none */
	_Atomic uint64_t bytes, ended;
	_Atomic uint64_t seen, stale; /* objects that the decoding client sees; sections that it had to request again */
};

struct load {
	struct load_options o;
	struct load_counters n;
};

/* In a role: until it is killed, or cannot go on: 1. */
int load_main(void *load);

#endif
