/* SPDX-License-Identifier: Apache-2.0 */
/* What a bridge has reported of channels; contract in carried.h. Thread: simd-main. */
#include "carried.h"

#include "jsonx.h"
#include "mem.h"

#include <errno.h>
#include <string.h>

static struct carried *find(const struct list *all, uint32_t channel_id)
{
	struct carried *k;

	list_for_each(k, all, link) {
		if (k->channel_id == channel_id)
			return k;
	}
	return NULL;
}

static void carried_free(struct carried *k)
{
	list_remove(&k->link);
	mem_free(k->channel);
	mem_free(k->name);
	mem_free(k->type);
	mem_free(k);
}

int carried_set(struct list *all, uint32_t channel_id, int result, const char *name, const char *type)
{
	struct carried *k;

	carried_forget(all, channel_id);
	k = MEM_NEW(struct carried);
	if (!k)
		return -ENOMEM;
	k->channel_id = channel_id;
	k->result = result;
	k->name = mem_strdup(name);
	k->type = mem_strdup(type);
	list_append(all, &k->link);
	return 0;
}

static struct carried *find_named(const struct list *all, const char *channel, bool inbound, const char *name,
				  unsigned *ret_n)
{
	struct carried *k;

	*ret_n = 0;
	list_for_each(k, all, link) {
		if (!k->channel)
			continue;
		if (k->inbound == inbound && !strcmp(k->channel, channel) && !strcmp(k->name, name))
			return k;
		++*ret_n;
	}
	return NULL;
}

int carried_name(struct list *all, const char *channel, bool inbound, const char *name, const char *type)
{
	unsigned n;
	struct carried *k = find_named(all, channel, inbound, name, &n);

	if (k)
		carried_free(k);
	else if (n == CARRIED_NAMED_MAX)
		return -ENOSPC;
	k = MEM_NEW(struct carried);
	if (!k)
		return -ENOMEM;
	k->channel_id = CARRIED_BY_NAME;
	k->inbound = inbound;
	k->channel = mem_strdup(channel);
	k->name = mem_strdup(name);
	k->type = mem_strdup(type);
	list_append(all, &k->link);
	if (k->channel && k->name && k->type)
		return 0;
	carried_free(k);
	return -ENOMEM;
}

static void clear(struct list *all, bool by_name)
{
	struct carried *k, *next;

	list_for_each_safe(k, next, all, link)
		if ((k->channel != NULL) == by_name)
			carried_free(k);
}

void carried_clear_reported(struct list *all)
{
	clear(all, false);
}

void carried_clear_named(struct list *all)
{
	clear(all, true);
}

void carried_forget(struct list *all, uint32_t channel_id)
{
	struct carried *k = find(all, channel_id);

	if (k)
		carried_free(k);
}

const struct carried *carried_find(const struct list *all, uint32_t channel_id)
{
	return find(all, channel_id);
}

bool carried_refused(const struct list *all, uint32_t channel_id)
{
	const struct carried *k = find(all, channel_id);

	return k && k->result < 0;
}

json_t *carried_json(const struct carried *k, const char *bridge, const char *channel)
{
	const char *name = k->name ? k->name : "", *type = k->type ? k->type : "";
	bool refused = k->result < 0;
	const char *why = *name ? name : "no reason reported";

	return JSONX_MAKE(JX_STR("bridge", bridge), JX_STR("channel", k->channel ? k->channel : channel),
			  JX_STR("name", refused ? "" : name), JX_STR("type", refused ? "" : type),
			  JX_STR("why", refused ? why : ""), JX_BOOL("inbound", k->inbound));
}
