/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands: how a call of dispatch.h reaches the thread of the dispatch exec.
 *
 * Thread: d_command() and the checks: any; run() and the look-ups: the dispatch exec's.
 */
#ifndef DISPATCH_D_COMMAND_H
#define DISPATCH_D_COMMAND_H

#include "dispatch_private.h"

struct d_command {
	struct inbox_item item;
	void (*run)(struct dispatch *d, struct d_command *c);
	uint32_t id, id2;
	uint64_t size;
	bool flag;
	/* Owned: closed with the command unless run() took it (and cleared it here). */
	int fd[2];
	void *object;
	void (*free_object)(void *object); /* NULL: mem_free */
	char *text;
	struct d_feed *feed;
	/* Borrowed. */
	struct ipc *ipc;
	dispatch_fn fn;
	void *arg;
};

/* Sends the command, or frees what it owns. 0 or -ENOMEM. */
int d_command(struct dispatch *d, struct d_command from);
#define COMMAND(d, ...) d_command((d), (struct d_command){ .fd = { -1, -1 }, __VA_ARGS__ })

void d_command_free_feed(struct d_feed *f); /* Frees a feed that was never used. */
bool d_command_name_ok(const char *name);

/* Looks up the object that a command names; NULL, with a log line, if main and dispatch disagree about it. */
struct d_channel *d_command_channel(struct dispatch *d, uint32_t id, const char *what);
struct d_bridge *d_command_bridge(struct dispatch *d, uint32_t id, const char *what);

#endif
