/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic between machines in tests: images whose bytes contain their number, with their publishers and readers. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <stdatomic.h>
#include <stdint.h>

#include <sim/sim.h>

#include <signal.h>
#include <sys/wait.h>

#include "machine.h"

#define TRAFFIC_READERS 4u

/* Shared by the processes of a test. */
struct traffic {
	const char *channel;
	uint32_t width, height;                      /* of rgb8 images */
	unsigned flags;                              /* of the publisher */
	unsigned pause_us;                           /* between two messages */
	uint64_t first;                              /* number of the first one */
	_Atomic bool stop;                           /* all */
	_Atomic uint64_t sent, accepted, ok, failed; /* messages; ok, failed: callbacks */
	_Atomic int reason;                          /* of the last that failed */
	struct traffic_reader {
		_Atomic bool ready;
		_Atomic uint64_t received, newest; /* messages; the newest one's number */
		_Atomic uint64_t backward,
			wrong;           /* that came behind a later one; whose bytes or header are not right */
		_Atomic uint64_t remote; /* that came from another machine */
		_Atomic uint64_t host;   /* origin_host of the newest */
		char what[200];          /* of the first wrong one */
	} reader[TRAFFIC_READERS];
	_Atomic unsigned n_readers;
};

struct traffic *traffic_new(const char *channel, uint32_t width, uint32_t height);
void traffic_free(struct traffic *t);

/* For machine_fork(): until stop. */
int traffic_send(void *traffic);
int traffic_read(void *traffic);

#define TRAFFIC_STAMP(n) (INT64_C(1000000007) * (int64_t)(n) + 5)

#endif
