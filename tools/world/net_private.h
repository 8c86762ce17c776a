/* SPDX-License-Identifier: Apache-2.0 */
/* What net.c, net_bounds.c and net_tls.c share. */
#ifndef WORLD_NET_PRIVATE_H
#define WORLD_NET_PRIVATE_H

#include <netinet/in.h>

#include "list.h"
#include "log.h"
#include "net.h"
#include "world/tls.h"

#define READ_MAX  65536u /* of one client in one turn of the loop */
#define PLAIN_MAX 16384u /* of a record */

struct peer {
	struct list link; /* net::peers; net::strangers */
	int fd;
	bool blocked; /* EPOLLOUT is waited for */
	struct sockaddr_in from;
	struct tls *tls;       /* NULL: plain text */
	struct session *s;     /* NULL: a stranger, whose handshake is not done */
	int64_t until_mono_ns; /* a stranger's; of an ended session, for what it was sent last: 0 until that waits */
};

struct net {
	struct world *w;
	const struct tls_keys *keys;     /* NULL: plain text */
	int listen_fd, epoll_fd, udp_fd; /* udp: -1: none */
	bool one_by_one;                 /* the system does not cut what goes by UDP */
	struct list peers, strangers;    /* peer::link; strangers in the order in which they came */
	unsigned n_strangers;
	int64_t rest_mono_ns; /* nobody is accepted until then; INT64_MAX: the listener is watched */
	struct log_limit refused, failed, rested;
	struct net_source sources[NET_SOURCES];
	unsigned n_sources;
	uint8_t buffer[READ_MAX], plain[PLAIN_MAX];
};

/* ---- net_bounds.c ---- */

/* accept() has failed, with errno why: where that would go on, as without descriptors, the listener is not watched for a moment. */
void net_rest(struct net *n, int why, int64_t now_mono_ns);
/* After that moment it is. Returns when to come again. */
int64_t net_listen_again(struct net *n, int64_t now_mono_ns);

/* ---- net_tls.c ---- */

/* Why one more stranger from there is too many; NULL: it is not. */
const char *net_crowded(const struct net *n, const struct sockaddr_in *from);
/* p is a stranger of n from now on. */
int net_greet(struct net *n, struct peer *p, int64_t now_mono_ns);
/* len encrypted bytes of n->buffer. False: the connection is over. */
bool net_decrypt(struct net *n, struct peer *p, size_t len, int64_t now_mono_ns);
/* As much of what the session has for it as there is room for. */
void net_encrypt(struct peer *p);
/* The first stranger whose time is over, which the log says; NULL: none, and ret_mono_ns, when that will be so, is written. */
struct peer *net_late(struct net *n, int64_t now_mono_ns, int64_t *ret_mono_ns);

/* ---- net_udp.c ---- */

/* Beside the listening socket, on the same address. With a sentence. */
int net_udp_open(struct net *n) __attribute__((warn_unused_result));
void net_udp_read(struct net *n, int64_t now_mono_ns);
/* What its session has; what the system does not take is lost. */
void net_udp_write(struct net *n, struct session *s, int64_t now_mono_ns);

#endif
