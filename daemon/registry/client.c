/* SPDX-License-Identifier: Apache-2.0 */
/* Clients; contract in client.h. Thread: simd-main. */
#include "client.h"

#include "err.h"
#include "jsonx.h"
#include "simd.h"

#include <errno.h>
#include <string.h>

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

json_t *client_endpoint_json(uint32_t id, const char *name, pid_t pid, uid_t uid)
{
	return JSONX_MAKE(JX_INT("client_id", id), JX_STR("client", name), JX_INT("pid", pid), JX_INT("uid", uid));
}

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
