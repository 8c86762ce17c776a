/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One who serves a std_srvs/SetBool as a node of rmw_cyclonedds does, or as it should not: in a process of its own, with types that Cyclone itself
 * encodes and decodes. Commands come by a pipe, a byte each; what has happened goes out by another one, a byte each.
 */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <sys/types.h>

#define SERVER_MATCHED 'm' /* both of its endpoints have found the bridge's; of SERVER_OTHER_TYPE one */

/* What becomes of a request, by what is in its place in the list of ways; the last one is that of all that follow. */
enum server_way {
	SERVER_ANSWERS = 'a',   /* success, "on" or "off" */
	SERVER_REFUSES = 'r',   /* no success, "it is broken" */
	SERVER_WAITS = 'w',     /* as SERVER_ANSWERS, once it is told to go on */
	SERVER_NEVER = 'n',     /* not at all */
	SERVER_TWICE = 't',     /* the second time "again" */
	SERVER_FOREIGN = 'f',   /* first to another client and to numbers that were never asked, a hundred each */
	SERVER_LONG = 'l',      /* with a text of 100 kB */
	SERVER_HUGE = 'h',      /* first with one of 5 MiB */
	SERVER_SHORT = 's',     /* an identity and nothing more */
	SERVER_NO_BOOL = 'b',   /* success is 2 */
	SERVER_NO_TEXT = 'x',   /* the text has more bytes than the message */
	SERVER_LEAVES = 'q',    /* its endpoints are deleted, and nothing is answered */
	SERVER_OTHER_TYPE = 'o' /* in first place: it is a std_srvs/Trigger */
};

enum server_hash {            /* what its endpoints say of their types */
		   HASH_NONE, /* nothing, as in Humble */
		   HASH_RIGHT,
		   HASH_OTHER
};

struct server {
	pid_t pid;
	int go;   /* a byte lets it begin, then go on */
	int seen; /* SERVER_MATCHED, then for each request its way */
};

/* Before the bridge, whose Cyclone no other process may have. ways: of requests. */
struct server server_start(const char *service, const char *ways, enum server_hash hash);
void server_go(const struct server *s);
/* Waits for such a byte. */
void server_await(const struct server *s, char what);
void server_stop(struct server *s);

#endif
