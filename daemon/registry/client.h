/* SPDX-License-Identifier: Apache-2.0 */
/* Clients: the data of a process with a session (session.h), and its counter page. Thread: simd-main. */
#ifndef REGISTRY_CLIENT_H
#define REGISTRY_CLIENT_H

#include "bitmap.h"
#include "list.h"
#include "names.h"

#include "wire/pages.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

struct bridge;
struct reaper;
struct rig;
struct simd;

enum client_role { CLIENT_SENSOR, CLIENT_BRIDGE, CLIENT_SOURCE, CLIENT_TOOL };

#define CLIENT_APP_MAX   80
#define CLIENT_PLANE_MAX (CLIENT_APP_MAX + 32)
#define CLIENT_SIMD      0 /* number of simd itself, which publishes without a session */

struct client {
	struct list link; /* simd::clients */
	struct simd *s;
	uint32_t id;
	char name[NAME_PLAIN_MAX + 1];
	char app[CLIENT_APP_MAX + 1];        /* name to attach with */
	char runtime_name[CLIENT_PLANE_MAX]; /* name that it has attached with; "": not yet */
	enum client_role role;
	pid_t pid; /* from the socket's credentials */
	struct reaper *process;
	uid_t uid;
	const struct rig *rig; /* NULL: none */
	uint32_t iox_generation;
	bool leaving; /* it has said Goodbye */
	bool ready;   /* it has sent Ready: time need not wait for it (wait_for.h) */

	int completion_fd; /* simd's end of its completion socket; -1: it has none, or the only shard has it */
	uint64_t shards;   /* bit mask of the shards that know it: it publishes there, or did */

	struct wire_counter_page *page; /* NULL for tools */
	struct fd_shared *page_held;    /* dispatch also uses the page; NULL for tools and simd */
	uint64_t row_used[BITMAP_WORDS(WIRE_ROWS_MAX)];
	struct list publishers, subscribers; /* in_client */
	uint32_t n_publishers, n_subscribers, n_tokens;
	uint32_t *tokens;      /* cells of its tokens, n_tokens of them */
	struct bridge *bridge; /* the bridge that it has attached as */
	struct client **slot;  /* the connection's pointer to it, cleared when the session ends; may be NULL */
	void (*hang_up)(struct client **slot); /* ends the connection when its output is sent; NULL with slot */
};

struct client *client_find(struct simd *s, uint32_t id);
const char *client_role_name(enum client_role role);
int client_role_parse(const char *text); /* -EINVAL */
/*
 * Checks whether the client's user, who has n of a resource already, may have one more. -EMFILE: the user's part of
 * limits.<what> is used up; so no user can take all. Root and simd's own user are not limited.
 */
int client_part_ok(const struct client *cl, const char *what, uint32_t n, uint32_t limit);
/* Whether the client belongs to root or to simd's own user. */
bool client_is_unbounded(const struct client *cl);
/* The runtime name without the number of the attachment: stands for all attachments of a process under that name. */
void client_plane_name(const char *runtime_name, char ret[CLIENT_PLANE_MAX]);
/* As client_plane_name(), of the name that it has attached with, or else was given. */
void client_plane_name_of(const struct client *cl, char ret[CLIENT_PLANE_MAX]);
/* An Endpoint of the control interface. */
json_t *client_endpoint_json(uint32_t id, const char *name, pid_t pid, uid_t uid);
/*
 * Makes the client known to a shard of dispatch, before its first publisher there. ret_bell: the doorbell for the
 * client; the caller closes it; -1: the client has it already. -EMFILE, -ENOMEM.
 */
int client_join(struct client *cl, uint32_t shard, int *ret_bell);
/* The shards that it has joined forget it and its publishers, once the messages of these are handled. */
void client_leave(struct client *cl);
/* Returns a free row of its counter page, cleared; -EMFILE. */
int client_row_get(struct client *cl);
void client_row_put(struct client *cl, uint32_t row);

#endif
