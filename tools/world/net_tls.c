/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients by TLS. One that has not shown who it is, a stranger, is no session yet: it costs a place among the strangers, of which there are so
 * many from one address and in all, for so long.
 */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "net_private.h"

LOG_TOPIC("world");

/* It has shown who it is: a session, and no stranger. */
static int admit(struct peer *p, int64_t now_mono_ns)
{
	struct tls_peer who;
	int r = tls_peer(p->tls, &who) ? session_open(p->n->w, now_mono_ns, &p->s) : -EPROTO;

	if (r < 0)
		return err_set(r, "it was not admitted: %s", strerror(-r));
	session_set_certificate(p->s, who.name);
	listener_mood(p->stream, PEER_LEAVES);
	return 0;
}

static void tell_why(struct peer *p, const char *why)
{
	log_limited(&p->n->failed, exec_now(p->n->x), LOG_LEVEL_WARN, "%s: %s", p->from, why);
}

bool net_decrypt(struct peer *p, const uint8_t *data, size_t len, int64_t now_mono_ns)
{
	uint8_t *plain = p->n->plain;
	ssize_t r;
	int bad = 0;

	if (p->s && session_ends(p->s)) /* what is for it still goes */
		return true;
	tls_input(p->tls, data, len);
	do {
		r = tls_read(p->tls, plain, PLAIN_MAX);
		if (r >= 0 && !p->s && tls_state(p->tls) == TLS_OPEN)
			bad = admit(p, now_mono_ns);
		if (r > 0 && !bad)
			session_input(p->s, plain, (size_t)r, now_mono_ns);
	} while (r > 0 && !bad);
	if (bad || (r < 0 && r != -EPIPE))
		tell_why(p, err_why());
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

/* Who goes away before it is known is no news, and why a handshake failed was said. */
void net_tell_end(struct peer *p, int error, const char *why)
{
	if (error == -ETIMEDOUT)
		(void)err_set(error, "its handshake was not done in %d s", HANDSHAKE_S);
	if (error == -EBUSY || error == -ETIMEDOUT)
		tell_why(p, error == -EBUSY ? why : err_why());
}
