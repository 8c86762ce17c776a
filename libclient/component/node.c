/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "channel_name.h"
#include "err.h"
#include "mem.h"
#include "reader.h"
#include "writer.h"

/* Adds the node to the host's list, if its name is unique. */
static int enlist(struct sim_node *n)
{
	struct sim_node *other;
	int r = 0;

	pthread_mutex_lock(&n->h->lock);
	list_for_each(other, &n->h->nodes, link)
		if (strcmp(other->name, n->name) == 0)
			r = err_set(-EEXIST, "there is a node \"%s\" in this host already; give each its own name",
				    n->name);
	if (r == 0)
		list_append(&n->h->nodes, &n->link);
	pthread_mutex_unlock(&n->h->lock);
	return r;
}

int sim_node_create(struct sim_host *h, const char *name, struct sim_node **ret)
{
	struct sim_node *n;
	int r = h && ret ? node_name_check(name)
			 : err_set(-EINVAL, "sim_node_create: no host, or the output pointer is NULL");

	if (r < 0)
		return r;
	n = MEM_NEW(struct sim_node);
	if (!n)
		return err_nomem();
	list_init(&n->link);
	list_init(&n->readers);
	list_init(&n->writers);
	n->h = h;
	snprintf(n->name, sizeof(n->name), "%s", name);
	r = enlist(n);
	if (r == 0 && h->client)
		r = node_service_create(n, &n->service);
	if (r < 0) {
		sim_node_destroy(n);
		return r;
	}
	*ret = n;
	return 0;
}

void sim_node_destroy(struct sim_node *n)
{
	if (!n)
		return;
	node_service_destroy(n->service);
	pthread_mutex_lock(&n->h->lock);
	list_remove(&n->link);
	pthread_mutex_unlock(&n->h->lock);
	mem_free(n);
}

/* fn must not call back into this host: its lists are locked meanwhile. */
void sim_node_channels(const struct sim_node *n, sim_node_channel_fn fn, void *user)
{
	struct sim_node_reader *r;
	struct sim_node_writer *w;

	pthread_mutex_lock(&n->h->lock);
	list_for_each(r, &n->readers, link)
		fn(user, r->ch->name, false);
	list_for_each(w, &n->writers, link)
		fn(user, w->ch->name, true);
	pthread_mutex_unlock(&n->h->lock);
}

const char *sim_node_name(const struct sim_node *n)
{
	return n->name;
}

struct sim_host *sim_node_host(const struct sim_node *n)
{
	return n->h;
}
