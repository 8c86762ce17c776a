/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One attachment to the data plane, reference-counted: by the client, by each of its ports, by lanes. It is detached
 * when the last reference is released, so slots of a dead attachment stay readable until they are released. Thread: any
 * (the count is atomic; each port has one user).
 */
#ifndef SRC_ATTACHMENT_H
#define SRC_ATTACHMENT_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "ipc.h"

struct attachment {
	_Atomic uint32_t refs;
	struct ipc *ipc;
	uint32_t iox_generation;
};

int attachment_create(struct ipc *ipc, uint32_t iox_generation, struct attachment **ret); /* takes ipc, on success */
struct attachment *attachment_ref(struct attachment *l);
void attachment_unref(struct attachment *l); /* NULL is fine */

/* A publisher port, reference-counted: by its registration and by every loan of it. */
struct pub_port {
	_Atomic uint32_t refs;
	struct attachment *att;
	struct ipc_pub *pub;
};

int pub_port_create(struct attachment *l, const char *channel, uint32_t history, struct pub_port **ret);
struct pub_port *pub_port_ref(struct pub_port *p);
void pub_port_unref(struct pub_port *p); /* NULL is fine */

/*
 * Retries a call on a port, up to 1000 times, while ipc returns -EBUSY: a probe by the library and a call by the port's
 * owner may meet for a microsecond.
 */
#define PORT_RETRY(r, call) \
	do { \
		for (int tries_ = 0; ((r) = (call)) == -EBUSY && tries_ < 1000; tries_++) \
			sched_yield(); \
	} while (0)

#endif
