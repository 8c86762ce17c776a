/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: what a process has here between Hello and the loss of its control socket. When that is gone,
 * everything it had is given back at once: its ports in RouDi, its publishers, subscribers, tokens,
 * credits, the driver lease.
 *
 * Thread: simd-main.
 */
#ifndef REGISTRY_CLIENT_H
#define REGISTRY_CLIENT_H

#include "exec.h"
#include "list.h"
#include "names.h"

#include "wire/pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bridge;
struct rig;
struct simd;

enum client_role { CLIENT_SENSOR, CLIENT_BRIDGE, CLIENT_SOURCE, CLIENT_TOOL };

#define CLIENT_APP_MAX    80
#define CLIENT_TOKENS_MAX 512

struct client {
	struct list link; /* simd::clients */
	struct simd *s;
	uint32_t id;
	char name[NAME_PLAIN_MAX + 1];
	char app[CLIENT_APP_MAX + 1];           /* name to attach with */
	char runtime_name[CLIENT_APP_MAX + 32]; /* as it has attached; "" not yet */
	enum client_role role;
	pid_t pid; /* by the socket's credentials */
	uid_t uid;
	const struct rig *rig; /* NULL: none */
	uint32_t iox_generation;

	struct wire_counter_page *page; /* NULL for tools */
	uint64_t row_used[WIRE_ROWS_MAX / 64];
	struct list publishers, subscribers; /* in_client */
	uint32_t n_publishers, n_subscribers, n_tokens;
	uint32_t *tokens;      /* cells, n_tokens of them */
	struct bridge *bridge; /* that it has attached as */
	struct client **slot;  /* the connection's pointer to it, cleared when it goes; may be NULL */
};

struct client_hello {
	const char *name, *role;
	pid_t pid;
	uid_t uid;
};

/* Descriptors of a new session, in the order in which Hello lists them. Caller closes. */
struct client_fds {
	int v[5];
	const char *name[5];
	unsigned n;
};

/* -EINVAL name or role, -EMFILE too many. ret: returns, client_gone(). */
int client_create(struct simd *s, const struct client_hello *h, struct client **ret, struct client_fds *ret_fds);
/* Its control socket is gone (or simd stops). Frees it. */
void client_gone(struct client *cl);
int client_attached(struct client *cl, uint32_t generation, const char *runtime_name);

/* Whether every client has moved to the present life of the data plane. */
bool client_all_attached(const struct simd *s);

struct client *client_find(struct simd *s, uint32_t id);
const char *client_role_name(enum client_role role);
/* A free row of its counter page, cleared; -EMFILE. */
int client_row_get(struct client *cl);
void client_row_put(struct client *cl, uint32_t row);
/* Free what the peers have left that have ended, without waiting for the loop to tell. */
void client_reap_ended(struct simd *s);
/* Forget the dead peers that are still waited for. */
void client_reap_all(struct simd *s);

#endif
