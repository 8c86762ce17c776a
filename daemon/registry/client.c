/* SPDX-License-Identifier: Apache-2.0 */
/* Clients; contract in client.h. Thread: simd-main. */
#include "client.h"

#include "err.h"
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

int client_row_get(struct client *cl)
{
	for (uint32_t i = 0; i < WIRE_ROWS_MAX; i++) {
		struct wire_counters *c = &cl->page->row[i];

		if (cl->row_used[i / 64] >> (i % 64) & 1)
			continue;
		cl->row_used[i / 64] |= 1ull << (i % 64);
		memset(c, 0, sizeof(*c));
		return (int)i;
	}
	return err_set(-EMFILE, "client %s: its %d publishers use up its counter page", cl->name, WIRE_ROWS_MAX);
}

void client_row_put(struct client *cl, uint32_t row)
{
	cl->row_used[row / 64] &= ~(1ull << (row % 64));
}
