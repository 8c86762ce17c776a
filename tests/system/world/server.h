/* SPDX-License-Identifier: Apache-2.0 */
/* A sim-world of the test's own, as a child. Thread: the test's. */
#ifndef SYSTEM_WORLD_SERVER_H
#define SYSTEM_WORLD_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* For a host's timeout_ms: longer than the runner's limit. */
#define SERVER_NO_LIMIT_MS 3600000

/*
 * Options for a test in which no client may be late: as fast as possible, and a regulating host delayed by a busy
 * machine keeps its place for ten times five of these steps.
 */
#define SERVER_NEVER_LATE "--pace", "0", "--step", "60s"

struct server {
	pid_t pid;
	int log; /* its stderr */
	uint16_t port;
	char address[32], text[16384];
};

/* port 0: any. Options beside --listen, up to NULL, or NULL. Returns when it listens. */
void server_start(struct server *s, uint16_t port, const char *const *options);
/* In the network namespace ns (-1: this one), at one of its addresses. */
void server_start_at(struct server *s, int ns, const char *host, uint16_t port, const char *const *options);
/* Until its log says so. */
void server_says(struct server *s, const char *what);
/* SIGTERM; returns how it ended. */
int server_stop(struct server *s);
void server_kill(struct server *s);

struct server_status {
	uint64_t tick, hash; /* of the world */
	unsigned connections, clients, objects;
};
/* Its status, read through its control socket, --control. */
void server_status(const char *control, struct server_status *ret);
/* Whether it tells the client of that name each tick by datagrams. */
bool server_sends_datagrams(const char *control, const char *name);

#endif
