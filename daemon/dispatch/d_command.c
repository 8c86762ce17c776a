/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: see d_command.h.
 *
 * Thread: d_command() any; d_commands_read() the dispatch exec's.
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

static void drop(struct mail *m)
{
	struct d_command *c = (struct d_command *)(void *)m;

	dispose(c);
	mem_free(c);
}

void d_commands_run(struct dispatch *d, struct mail *list)
{
	while (list) {
		struct d_command *c = (struct d_command *)(void *)list;

		list = list->next;
		c->run(d, c);
		drop(&c->mail);
	}
}

void d_commands_read(void *arg, struct mail *list)
{
	struct dispatch *d = arg;

	d_turn_begin(d);
	d_commands_run(d, list);
	d_turn_end(d);
}

int d_command(struct dispatch *d, struct d_command from)
{
	struct d_command *c = mem_dup(&from, sizeof(from));

	if (!c) {
		dispose(&from);
		return -ENOMEM;
	}
	c->mail.drop = drop;
	mailbox_send(d->in, &c->mail);
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
