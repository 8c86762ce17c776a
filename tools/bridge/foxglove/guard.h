/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides who may connect: where the server listens, and which host names, origins and tokens it accepts. Scripts of
 * any web page can make a browser connect to 127.0.0.1; such requests are recognised by their Origin, or, if a foreign
 * name resolves to 127.0.0.1, by their Host. Pure functions of their arguments, except for the token: any thread.
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
	unsigned port;      /* 0: any free port */
	unsigned last_port; /* end of the range: the first free port from `port` on is used */
	bool loopback;
};

struct guard {
	json_t *origins, *hosts; /* lists of strings */
	char token[GUARD_TOKEN_MAX + 1];
};

/*
 * Parses "host:port", "[::1]:port", "port", "": 127.0.0.1:8765; a port may be a range, "8765-8799". 0, or -EINVAL with
 * a reason.
 */
int guard_address_read(const char *text, struct guard_address *ret, char *why, size_t why_size);

/* Reads lists of strings, as JSON. 0, or -EINVAL with a reason that begins with the option. */
int guard_init(struct guard *g, const char *origins, const char *hosts, char *why, size_t why_size);
void guard_finish(struct guard *g);

/*
 * Reads the token from a file, which is created if it does not exist, readable by its owner only; path "": makes a new
 * token. 0 or a negative errno, with a reason.
 */
int guard_token(struct guard *g, const char *path, char *why, size_t why_size);

/*
 * Accepts a request's Host: an address, "localhost", or a name of the option `hosts`. NULL: the request has none, and
 * is refused.
 */
bool guard_host_ok(const struct guard *g, const char *host);
/*
 * Accepts a request's Origin, given its Host: none (not a browser), the page's own, of this machine, or one of the
 * option `origins`.
 */
bool guard_origin_ok(const struct guard *g, const char *origin, const char *host);
bool guard_token_ok(const struct guard *g, const char *token);

#endif
