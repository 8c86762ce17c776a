/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TraCI connection: one request out, its whole answer in. Blocking, with a bound on every wait; a wait ends at once
 * if the sumo process dies or the stop descriptor is readable.
 *
 *   struct traci_out *o = traci_request(t);
 *   traci_out_get(o, TRACI_VEHICLE, TRACI_VAR_SPEED, "ego");
 *   r = traci_exchange(t, &in);          one answer per command, in order, valid until the next request
 *
 * Thread: one at a time.
 */
#ifndef SOURCES_SUMO_TRACI_H
#define SOURCES_SUMO_TRACI_H

#include "traci_wire.h"

struct traci;

struct traci_options {
	uint16_t port;  /* on 127.0.0.1 */
	int alive_fd;   /* readable once the peer has died (a pidfd); -1: none; borrows */
	int stop_fd;    /* readable when the program has to stop; -1: none; borrows */
	int timeout_ms; /* bound on connecting and on every answer */
};

/*
 * Connects, trying until the peer listens, then exchanges versions. Returns: 0; -EPIPE the peer died; -ECANCELED stop;
 * -ETIMEDOUT; -EPROTO no supported version of TraCI.
 */
int traci_connect(const struct traci_options *o, struct traci **ret);
/* Closes the connection. polite: asks the peer to end its simulation first. NULL is fine. */
void traci_close(struct traci *t, bool polite);

struct traci_out *traci_request(struct traci *t);
/*
 * Sends what was written since traci_request() and reads the answer. Returns: 0; -EPIPE, -ECANCELED, -ETIMEDOUT as
 * above; -EMSGSIZE the request does not fit, or the answer is longer than TRACI_MESSAGE_MAX; -EBADMSG. After any
 * failure the connection is unusable.
 */
int traci_exchange(struct traci *t, struct traci_in *ret_in);

/* Advance one step; subscribed variables go to fn. `why` (cap bytes) gets SUMO's words with -EREMOTEIO. */
int traci_step(struct traci *t, traci_item_fn fn, void *user, char *why, size_t cap);

/* One get. The value's text and lists are valid until the next request. */
int traci_get(struct traci *t, enum traci_domain domain, enum traci_var var, const char *id, struct traci_value *ret,
	      char *why, size_t cap);
/* Subscribe (request written by the caller with one subscribe command); the first values go to fn. */
int traci_subscribed(struct traci *t, unsigned command, traci_item_fn fn, void *user, char *why, size_t cap);
/* Send a request of `n` commands that answer with a status alone. */
int traci_set(struct traci *t, const unsigned *commands, size_t n, char *why, size_t cap);

#endif
