/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients by TLS. One that has not shown who it is, a stranger, is no session yet: it costs a place among the strangers, of which there are so
 * many from one address and in all, for so long.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "err.h"
#include "net_private.h"
#include "timeutil.h"

LOG_TOPIC("world");

#define HANDSHAKE_DUR_NS   (5 * NS_PER_S)
#define STRANGERS_MAX      256u
#define STRANGERS_EACH_MAX 16u /* of one address */

const char *net_crowded(const struct net *n, const struct sockaddr_in *from)
{
	unsigned same = 0;
	struct peer *p;

	if (n->n_strangers >= STRANGERS_MAX)
		return "256 others are in their handshake";
	list_for_each(p, &n->strangers, link)
		same += p->from.sin_addr.s_addr == from->sin_addr.s_addr;
	return same >= STRANGERS_EACH_MAX ? "16 others from its address are in their handshake" : NULL;
}

int net_greet(struct net *n, struct peer *p, int64_t now_mono_ns)
{
	int r = tls_create(TLS_SERVER, &(struct tls_options){ .keys = n->keys }, &p->tls);

	if (r < 0)
		return r;
	p->until_mono_ns = now_mono_ns + HANDSHAKE_DUR_NS;
	list_append(&n->strangers, &p->link);
	n->n_strangers++;
	return 0;
}

/* It has shown who it is: a session. */
static int admit(struct net *n, struct peer *p, int64_t now_mono_ns)
{
	struct tls_peer who;
	int r = tls_peer(p->tls, &who) ? session_open(n->w, now_mono_ns, &p->s) : -EPROTO;

	if (r < 0)
		return err_set(r, "it was not admitted: %s", strerror(-r));
	session_set_certificate(p->s, who.name);
	p->until_mono_ns = 0;
	list_remove(&p->link);
	n->n_strangers--;
	list_append(&n->peers, &p->link);
	return 0;
}

static void tell_why(struct net *n, const struct peer *p, int64_t now_mono_ns)
{
	char address[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &p->from.sin_addr, address, sizeof(address));
	log_limited(&n->failed, now_mono_ns, LOG_LEVEL_WARN, "%s:%u: %s", address, ntohs(p->from.sin_port), err_why());
}

bool net_decrypt(struct net *n, struct peer *p, size_t len, int64_t now_mono_ns)
{
	ssize_t r;
	int bad = 0;

	if (p->s && session_ends(p->s)) /* what is for it still goes */
		return true;
	tls_input(p->tls, n->buffer, len);
	do {
		r = tls_read(p->tls, n->plain, sizeof(n->plain));
		if (r >= 0 && !p->s && tls_state(p->tls) == TLS_OPEN)
			bad = admit(n, p, now_mono_ns);
		if (r > 0 && !bad)
			session_input(p->s, n->plain, (size_t)r, now_mono_ns);
	} while (r > 0 && !bad);
	if (bad || (r < 0 && r != -EPIPE))
		tell_why(n, p, now_mono_ns);
	return r >= 0 && !bad;
}

void net_encrypt(struct peer *p)
{
	const void *data;
	size_t len;
	ssize_t r;

	if (!p->s || tls_state(p->tls) != TLS_OPEN)
		return;
	while ((len = session_output(p->s, &data))) {
		r = tls_write(p->tls, data, len);
		if (r <= 0)
			return;
		session_sent(p->s, (size_t)r);
	}
	if (session_ends(p->s))
		tls_close(p->tls);
}

struct peer *net_late(struct net *n, int64_t now_mono_ns, int64_t *ret_mono_ns)
{
	struct peer *p = list_first(&n->strangers, struct peer, link);

	if (p && p->until_mono_ns <= now_mono_ns) {
		(void)err_set(-ETIMEDOUT, "its handshake was not done in %d s", (int)(HANDSHAKE_DUR_NS / NS_PER_S));
		tell_why(n, p, now_mono_ns);
		return p;
	}
	*ret_mono_ns = p ? p->until_mono_ns : INT64_MAX;
	return NULL;
}
