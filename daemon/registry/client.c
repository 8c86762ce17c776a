/* SPDX-License-Identifier: Apache-2.0 */
/* Clients; contract in client.h. Thread: simd-main. */
#include "client.h"

#include "err.h"
#include "jsonx.h"
#include "fd.h"
#include "shards.h"
#include "simd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const char *const role_names[] = {
	[CLIENT_SENSOR] = "client",
	[CLIENT_BRIDGE] = "bridge",
	[CLIENT_SOURCE] = "source",
	[CLIENT_TOOL] = "tool",
};

const char *client_role_name(enum client_role role)
{
	return role_names[role];
}

int client_role_parse(const char *text)
{
	for (unsigned i = 0; i < sizeof(role_names) / sizeof(*role_names); i++) {
		if (strcmp(text, role_names[i]) == 0)
			return (int)i;
	}
	return err_set(-EINVAL, "role \"%.40s\": expected client, bridge, source or tool", text);
}

struct client *client_find(struct simd *s, uint32_t id)
{
	struct client *cl;

	list_for_each(cl, &s->clients, link) {
		if (cl->id == id)
			return cl;
	}
	return NULL;
}

void client_plane_name(const char *runtime_name, char ret[CLIENT_PLANE_MAX])
{
	const char *dot = strrchr(runtime_name, '.');
	size_t digits = dot ? strspn(dot + 1, "0123456789") : 0, n = strlen(runtime_name);

	if (digits && digits <= 2 && !dot[1 + digits] && dot != runtime_name)
		n -= 1 + digits;
	snprintf(ret, CLIENT_PLANE_MAX, "%.*s", (int)n, runtime_name);
}

/* The name may come from an earlier simd, or from another client of the process. */
void client_plane_name_of(const struct client *cl, char ret[CLIENT_PLANE_MAX])
{
	client_plane_name(cl->runtime_name[0] ? cl->runtime_name : cl->app, ret);
}

json_t *client_endpoint_json(uint32_t id, const char *name, pid_t pid, uid_t uid)
{
	return JSONX_MAKE(JX_INT("client_id", id), JX_STR("client", name), JX_INT("pid", pid), JX_INT("uid", uid));
}

bool client_is_unbounded(const struct client *cl)
{
	return cl->uid == 0 || cl->uid == geteuid();
}

int client_part_ok(const struct client *cl, const char *what, uint32_t n, uint32_t limit)
{
	uint32_t percent = cl->s->limits.per_user_percent, part = (limit * percent + 99) / 100;

	if (client_is_unbounded(cl) || n < part)
		return 0;
	return err_set(-EMFILE, "user %u has %u %s, limits.per_user_percent (%u %% of limits.%s) allows no more",
		       cl->uid, n, what, percent, what);
}

/* ---- shards ---- */

int client_join(struct client *cl, uint32_t shard, int *ret_bell)
{
	int bell = -1, ours, completion, r;

	*ret_bell = -1;
	if (cl->shards >> shard & 1)
		return 0;
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ours = bell < 0 ? -errno : fd_dup(bell);
	/* a single shard needs no duplicate: a simd with many clients runs out of descriptors first */
	completion = ours < 0 ? ours : cl->s->n_shards == 1 ? fd_steal(&cl->completion_fd) : fd_dup(cl->completion_fd);
	if (completion < 0) {
		fd_close(bell);
		fd_close(ours);
		return err_set(completion, "client %s: its doorbell cannot be made: %s", cl->name,
			       err_text(completion));
	}
	r = dispatch_client_add(shard_of(cl->s, shard), cl->id, cl->name, completion, ours, cl->page_held);
	if (r < 0) {
		fd_close(bell);
		return err_set(r, "client %s: dispatch refused it: %s", cl->name, err_text(r));
	}
	cl->shards |= UINT64_C(1) << shard;
	*ret_bell = bell;
	return 0;
}

void client_leave(struct client *cl)
{
	for (uint32_t i = 0; i < cl->s->n_shards; i++)
		if (cl->shards >> i & 1)
			(void)dispatch_client_gone(shard_of(cl->s, i), cl->id);
	cl->shards = 0;
}

/* ---- rows of the counter page ---- */

int client_row_get(struct client *cl)
{
	uint32_t i = bitmap_first_clear(cl->row_used, WIRE_ROWS_MAX);

	if (i == WIRE_ROWS_MAX)
		return err_set(-EMFILE, "client %s: its %d publishers use up its counter page", cl->name,
			       WIRE_ROWS_MAX);
	bitmap_set(cl->row_used, i);
	memset(&cl->page->row[i], 0, sizeof(cl->page->row[i]));
	return (int)i;
}

void client_row_put(struct client *cl, uint32_t row)
{
	bitmap_clear(cl->row_used, row);
}
