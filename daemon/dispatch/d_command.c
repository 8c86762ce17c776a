/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: see d_command.h.
 *
 * Thread: d_command() any; d_commands_run() the dispatch exec's.
 */
#include "d_command.h"

#include <errno.h>
#include <string.h>

#include "fd.h"
#include "mem.h"

LOG_TOPIC("dispatch");

void d_command_free_feed(struct d_feed *f)
{
	if (!f)
		return;
	ipc_sub_destroy(f->sub);
	mem_free(f);
}

static void dispose(struct d_command *c)
{
	fd_close(c->fd[0]);
	fd_close(c->fd[1]);
	if (c->object && c->free_object)
		c->free_object(c->object);
	else
		mem_free(c->object);
	mem_free(c->text);
	d_command_free_feed(c->feed);
}

void d_commands_run(struct dispatch *d, bool drop)
{
	struct inbox_item *list = inbox_take(&d->in);

	while (list) {
		struct d_command *c = container_of(list, struct d_command, item);

		list = list->next;
		if (!drop)
			c->run(d, c);
		dispose(c);
		mem_free(c);
	}
}

int d_command(struct dispatch *d, struct d_command from)
{
	struct d_command *c = mem_dup(&from, sizeof(from));

	if (!c) {
		dispose(&from);
		return -ENOMEM;
	}
	if (inbox_put(&d->in, &c->item))
		exec_post(&d->in_post);
	return 0;
}

struct d_channel *d_command_channel(struct dispatch *d, uint32_t id, const char *what)
{
	if (!d->by_id[id])
		log_error("%s: there is no channel %u; ignoring", what, id);
	return d->by_id[id];
}

struct d_bridge *d_command_bridge(struct dispatch *d, uint32_t id, const char *what)
{
	if (!d->bridges[id])
		log_error("%s: there is no bridge %u; ignoring", what, id);
	return d->bridges[id];
}

bool d_command_name_ok(const char *name)
{
	return name && name[0] && strlen(name) <= DISPATCH_NAME_MAX;
}
