/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry and the control socket in virtual time over the in-memory data plane, spoken to by peers that
 * build every message by hand, so that they can also be wrong.
 */
#ifndef UNIT_CONTROL_PEER_H
#define UNIT_CONTROL_PEER_H

#include "tests/support/test.h"

#include <jansson.h>
#include <stdbool.h>

#include "exec.h"
#include "mem.h"
#include "registry/simd.h"
#include "varlink.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

struct desk {
	struct exec *x;
	struct ipc_mem_bus *bus;
	struct conf *conf;
	struct simd *simd;
	struct control *control;
	bool shut; /* Shutdown came */
	struct simd_ops ops;
	struct mem_stats before;
};

/* extra: more members of the configuration, "" or ", \"limits\": {...}". */
void desk_open(struct desk *d, const char *extra);
void desk_close(struct desk *d); /* checks that nothing leaks */
void desk_run(struct desk *d, int64_t dur_ns);

struct peer {
	struct desk *d;
	int fd;
	struct varlink *v;
	struct varlink_msg msg; /* the last answer; finished by the next call */
};

void peer_open(struct desk *d, struct peer *p);
void peer_close(struct peer *p);
/* Call io.simd.Control.<method>; params: JSON text. 0 and *ret (borrowed until the next call), or the negative errno; err_why(). */
int peer_call(struct peer *p, const char *method, const char *params, json_t **ret);
/* Raw bytes as they are. */
void peer_send(struct peer *p, const void *data, size_t len);
/* The next message, NULL: none, or the connection is closed (*ret_closed). */
json_t *peer_next(struct peer *p, bool *ret_closed);
/* Hello with a role; fails the test when refused. */
void peer_hello(struct peer *p, const char *name, const char *role);

/* Text of a small type for Advertise. */
#define TYPE_A "{\"name\": \"t/A\", \"hash\": \"00000000000000aa\"}"
#define TYPE_B "{\"name\": \"t/B\", \"hash\": \"00000000000000bb\"}"

#endif
