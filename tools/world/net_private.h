/* SPDX-License-Identifier: Apache-2.0 */
/* What net.c and net_tls.c share. */
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
	int64_t until_mono_ns; /* a stranger's */
};

struct net {
	struct world *w;
	const struct tls_keys *keys; /* NULL: plain text */
	int listen_fd, epoll_fd;
	struct list peers, strangers; /* peer::link; strangers in the order in which they came */
	unsigned n_strangers;
	struct log_limit refused, failed;
	void (*also)(void *user, int64_t now_mono_ns); /* net_also() */
	void *also_user;
	uint8_t buffer[READ_MAX], plain[PLAIN_MAX];
};

/* ---- net_tls.c ---- */

/* Why one more stranger from there is too many; NULL: it is not. */
const char *net_crowded(const struct net *n, const struct sockaddr_in *from);
/* p is a stranger of n from now on. */
int net_greet(struct net *n, struct peer *p, int64_t now_mono_ns);
/* len encrypted bytes of n->buffer. False: the connection is over. */
bool net_decrypt(struct net *n, struct peer *p, size_t len, int64_t now_mono_ns);
/* As much of what the session has for it as there is room for. */
void net_encrypt(struct peer *p);
/* The first stranger whose time is over; NULL: none, and ret_mono_ns, when that will be so, is written. */
struct peer *net_late(const struct net *n, int64_t now_mono_ns, int64_t *ret_mono_ns);

#endif
