/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines for benches: those of tests/system/link/machine.h, each with a second device, "wire", at one bridge of the kernel. On the wire
 * (10.1.0.<number + 1>) no program of ours stands between two machines; behind the switch (10.0.0.<number + 1>) a thread does, that delays.
 * Thread: main of the process that rig_run() makes.
 */
#ifndef MACHINES_H
#define MACHINES_H

#include <dds/dds.h>

#include "bench.h"
#include "system/link/machine.h"

struct rig {
	struct bench *b;
	unsigned n;
	struct machine m[MACHINES_MAX];
	struct net_switch *net;
	void *arg;
};

/*
 * Runs fn in a process of its own, with n machines; they end with it in any case. Stops the simd that cases usually
 * find. Returns 0; 1 (with a message) if there can be no machines here; -EIO (with a message) on failure.
 */
int rig_run(struct bench *b, unsigned n, int (*fn)(struct rig *r), void *arg);

/*
 * simd of machine i, with a link to the others; ready. options: more of the link's, as ",\"time\":\"give\""; source: TimeSource. It and
 * all that it starts stay on CPU i, as far as there are so many; see rig_pin().
 */
void rig_start(struct rig *r, unsigned i, bool wire, const char *source, const char *options);
/* The calling process: to the CPU of machine i. */
void rig_pin(unsigned i);

/* In a child on machine i: a participant of plain Cyclone on the wire, with the link's settings. */
dds_entity_t rig_participant(const struct rig *r, unsigned i);

/* machine_fork(), pinned. */
pid_t rig_fork(const struct rig *r, unsigned i, int (*fn)(void *arg), void *arg);

#endif
