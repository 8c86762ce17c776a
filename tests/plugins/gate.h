/* SPDX-License-Identifier: Apache-2.0 */
/* What bridge_gate shares with the test that has loaded it: gate_of_test() is its second symbol. */
#ifndef GATE_H
#define GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <sim/bridge.h>

#define GATE_STAMPS 64

struct gate {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t changed;
	bool open;        /* publish() returns for channels other than /clock */
	unsigned waiting; /* how many have not */
	bool clock_held;  /* /clock may not either */
	int clock_result; /* of its publish() */
	unsigned n;       /* stamps of /clock so far */
	int64_t stamp[GATE_STAMPS];
	char options[256];                 /* of the channel /clock */
	unsigned connects, refuse;         /* so far; so many of the next connects find no server */
	unsigned opens, closes, published; /* but for /clock */
	bool refuse_open, silent;          /* open() fails; without a word */
	_Atomic unsigned flushes;
	unsigned published_at_flush; /* the last one */
	const struct sim_bridge_host *host;
};

typedef struct gate *(*gate_fn)(void);

#endif
