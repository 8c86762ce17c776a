/* SPDX-License-Identifier: Apache-2.0 */
/* What net.c and net_udp.c share. */
#ifndef WORLD_NET_PRIVATE_H
#define WORLD_NET_PRIVATE_H

#include <netinet/in.h>

#include "list.h"
#include "log.h"
#include "net.h"

struct peer {
	struct list link; /* net::peers */
	struct net *n;
	struct stream *stream;
	char from[LISTENER_FROM_MAX];
	struct session *s;     /* NULL: a stranger, whose handshake is not done */
	int64_t until_mono_ns; /* of an ended session, for what it was sent last: 0 until that waits */
};

struct net {
	struct exec *x;
	struct world *w;
	const struct tls_keys *keys; /* NULL: plain text */
	struct listener *listener;
	int udp_fd;      /* -1: none */
	bool one_by_one; /* the system does not cut what goes by UDP */
	struct exec_io udp, stop;
	struct exec_timer turn, grace;
	bool stops;
	int64_t grace_dur_ns;
	struct list peers; /* peer::link */
	struct log_limit refused, failed;
	int64_t (*also)(void *user, int64_t now_mono_ns); /* NULL: nothing */
	void *user;
};

/* ---- net_udp.c ---- */

/* Beside the listening socket, on the same address. With a sentence. */
int net_udp_open(struct net *n, const char *host) __attribute__((warn_unused_result));
/* What its session has; what the system does not take is lost. */
void net_udp_write(struct net *n, struct session *s, int64_t now_mono_ns);

#endif
