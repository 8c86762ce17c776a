/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may connect: where the server listens, and which names, origins and tokens it takes. A browser shows any page's scripts the way to
 * 127.0.0.1; what keeps them out is the Origin that it sends, and, of a name that is made to point there, the Host.
 * Pure functions of their arguments, but for the token: any thread.
 */
#ifndef GUARD_H
#define GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define GUARD_TOKEN_MAX 128u
#define GUARD_PORT      8765u

struct guard_address {
	char host[256];     /* an address */
	unsigned port;      /* 0: any that is free */
	unsigned last_port; /* the first free one from `port` to this one is taken */
	bool loopback;
};

struct guard {
	json_t *origins, *hosts; /* lists of texts */
	char token[GUARD_TOKEN_MAX + 1];
};

/* "host:port", "[::1]:port", "port", "": 127.0.0.1:8765; a port may be a range, "8765-8799". 0, or -EINVAL and a sentence. */
int guard_address_read(const char *text, struct guard_address *ret, char *why, size_t why_size);

/* Lists of texts, as JSON. 0, or -EINVAL and a sentence that begins with the option. */
int guard_init(struct guard *g, const char *origins, const char *hosts, char *why, size_t why_size);
void guard_finish(struct guard *g);

/*
 * The token: of a file, which is made if there is none, for its owner alone; path "": a new one. 0 or negative errno, and a
 * sentence.
 */
int guard_token(struct guard *g, const char *path, char *why, size_t why_size);

/* A request's Host: an address, "localhost", or one of the rig's `hosts`. NULL: the request has none. */
bool guard_host_ok(const struct guard *g, const char *host);
/* A request's Origin, beside its Host: none (no browser), the page's own, of this machine, or one of the rig's `origins`. */
bool guard_origin_ok(const struct guard *g, const char *origin, const char *host);
bool guard_token_ok(const struct guard *g, const char *token);

#endif
