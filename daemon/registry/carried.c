/* SPDX-License-Identifier: Apache-2.0 */
/* What bridges say of channels; contract in carried.h. Thread: simd-main. */
#include "carried.h"

#include "bridge.h"
#include "channel.h"
#include "log.h"
#include "mem.h"
#include "simd.h"

LOG_TOPIC("bridge");

struct carried {
	struct list link; /* bridge::carried */
	uint32_t channel_id;
	int result;
	char *name, *type;
};

static struct carried *find(const struct bridge *b, uint32_t channel_id)
{
	struct carried *k;

	list_for_each(k, &b->carried, link) {
		if (k->channel_id == channel_id)
			return k;
	}
	return NULL;
}

static void carried_free(struct carried *k)
{
	list_remove(&k->link);
	mem_free(k->name);
	mem_free(k->type);
	mem_free(k);
}

void carried_set(struct bridge *b, const struct channel *ch, int result, const char *name, const char *type)
{
	struct carried *k = find(b, ch->id);

	if (k)
		carried_free(k);
	k = MEM_NEW(struct carried);
	if (!k) {
		log_error("no memory to keep what bridge %s says of %s", b->name, ch->name);
		return;
	}
	k->channel_id = ch->id;
	k->result = result;
	k->name = mem_strdup(name);
	k->type = mem_strdup(type);
	list_append(&b->carried, &k->link);
}

void carried_clear(struct bridge *b)
{
	struct carried *k, *next;

	list_for_each_safe(k, next, &b->carried, link)
		carried_free(k);
}

void carried_forget(struct simd *s, uint32_t channel_id)
{
	struct bridge *b;

	list_for_each(b, &s->bridges, link) {
		struct carried *k = find(b, channel_id);

		if (k)
			carried_free(k);
	}
}

bool carried_refused(const struct bridge *b, const struct channel *ch)
{
	const struct carried *k = find(b, ch->id);

	return k && k->result < 0;
}

static json_t *to_json(const struct bridge *b, const struct carried *k)
{
	const char *name = k->name ? k->name : "", *type = k->type ? k->type : "";
	bool refused = k->result < 0;

	return json_pack("{s:s, s:s, s:s, s:s, s:s}", "bridge", b->name, "channel", b->s->by_id[k->channel_id]->name,
			 "name", refused ? "" : name, "type", refused ? "" : type, "why",
			 !refused ? ""
			 : *name  ? name
				  : "it did not say why");
}

json_t *carried_of_bridge(const struct bridge *b)
{
	json_t *a = json_array();
	struct carried *k;

	list_for_each(k, &b->carried, link) {
		if (b->s->by_id[k->channel_id])
			json_array_append_new(a, to_json(b, k));
	}
	return a;
}

json_t *carried_of_channel(const struct channel *ch)
{
	json_t *a = json_array();
	struct bridge *b;

	list_for_each(b, &ch->s->bridges, link) {
		const struct carried *k = find(b, ch->id);

		if (k)
			json_array_append_new(a, to_json(b, k));
	}
	return a;
}
