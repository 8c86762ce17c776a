/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apollo channels that we subscribe to: checks the option "subscribe"; decodes and publishes received messages, or
 * drops them, counts them and logs why.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sim/introspect.h>

#include "cyber.h"

static void drop(struct cyber_in *in, const char *why)
{
	uint64_t n = atomic_fetch_add(&in->dropped, 1) + 1;

	if ((n & (n - 1)) == 0) /* at 1, 2, 4, 8, ... dropped messages */
		log_warn(in->bridge, "%s: a message is dropped: %s (%llu so far)", in->name, why,
			 (unsigned long long)n);
}

const char *cyber_in_type(const struct cyber_in *in)
{
	return in->own ? cyber_own_name(in->own) : apollo_type_name(in->type);
}

const struct sim_type *cyber_in_sim(const struct cyber_in *in)
{
	return in->own ? cyber_own_type(in->own) : apollo_type_sim(in->type);
}

/* Unknown fields, such as those of a newer sender, are lost: this warns once. */
static void name_unknown(struct cyber_in *in, uint32_t field)
{
	if (!in->unknown_named)
		log_warn(in->bridge, "%s: messages have fields that the definition does not have, the first: number %u",
			 in->name, field);
	in->unknown_named = true;
}

struct taking {
	struct cyber_in *in;
	const struct frame *from;
	char why[256];
};

static int read_into(void *arg, struct message_in *to)
{
	struct taking *k = arg;
	struct cyber_in *in = k->in;
	const struct sim_bridge_host *h = in->bridge->host;
	struct apollo_limits limits = { .now_sim_ns = h->now(h->ctx),
					.max_age_ns = in->bridge->max_age_dur_ns,
					.vehicle = in->bridge->vehicle };

	if (in->own) {
		int r = cyber_own_decode(in->own, k->from->message, k->from->len, to);

		if (r == 0 && to->unknown)
			name_unknown(in, to->unknown);
		return r;
	}
	return apollo_decode(in->type, &limits, &in->options, k->from->message, k->from->len, to, k->why,
			     sizeof(k->why));
}

static void take_one(struct cyber_in *in, const struct frame *f)
{
	struct taking k = { .in = in, .from = f };
	int r = f->len > slot_in_wire_max(&in->slot) ? -EMSGSIZE : slot_in_take(&in->slot, f->len, read_into, &k);

	if (r == 0)
		cyber_safe_heard(in);
	if (r < 0) /* 1: no message results from it, no error */
		drop(in, k.why[0] ? k.why : topics_reason(r));
}

void cyber_take(void *bridge, const struct frame *f)
{
	struct sim_bridge *b = bridge;

	for (unsigned i = 0; i < b->n_in; i++) {
		struct cyber_in *in = &b->in[i];

		if (strlen(in->name) != f->topic_len || memcmp(in->name, f->topic, f->topic_len) != 0 ||
		    !atomic_load(&in->listened))
			continue;
		if (f->message)
			take_one(in, f);
		else
			drop(in, topics_reason(-EMSGSIZE));
	}
}

void cyber_listen(struct sim_bridge *b, const char *channel, int on)
{
	for (unsigned i = 0; i < b->n_in; i++) {
		struct cyber_in *in = &b->in[i];

		if (strcmp(in->channel, channel) != 0)
			continue;
		atomic_store(&in->listened, on != 0);
		if (on && tcp_link_say_add(&b->link, frame_cyber.reader, in->name, cyber_in_type(in)) < 0)
			log_error(b, "%s: cannot subscribe: out of memory", in->name);
	}
}

/* Several Apollo channels may feed one channel of ours; slot_in_offer() reports -EALREADY from the second on. */
void cyber_offer(struct sim_bridge *b)
{
	for (unsigned i = 0; i < b->n_in; i++) {
		const struct cyber_in *in = &b->in[i];
		int r = slot_in_offer(&in->slot);

		if (r < 0 && r != -EALREADY)
			log_warn(b, "%s is not read: %s: %s", in->name, in->channel,
				 r == -EACCES ? "the rig does not list this channel under \"inbound\"" : strerror(-r));
		else if (SIM_BRIDGE_HOST_HAS(b->host, brings))
			b->host->brings(b->host->ctx, in->channel, in->name, cyber_in_type(in));
	}
}

/* ---- what the rig asks for ---- */

static const struct cyber_in *entry_of(const struct sim_bridge *b, const char *channel)
{
	for (unsigned i = 0; i < b->n_in; i++)
		if (strcmp(b->in[i].channel, channel) == 0)
			return &b->in[i];
	return NULL;
}

struct entry { /* one entry of the option; NULL: not given */
	const char *name, *type, *channel, *as, *definition;
	json_t *safe, *timeout_ms;
	size_t max_body; /* 0: not given */
};

/* Chooses Apollo's message, else what a converter or a definition makes of the type. */
static int in_kind(struct sim_bridge *b, struct cyber_in *in, const struct entry *e, char *why, size_t size)
{
	if (!e->definition)
		in->type = apollo_type_named(b->release, e->type, e->as);
	if (in->type)
		return 0;
	if (e->as) {
		snprintf(why, size, "%.80s cannot be made of \"%.80s\"", e->as, e->type);
		return -EINVAL;
	}
	return cyber_own_in_open(b, e->type, e->definition, &in->own, why, size) < 0 ? -EINVAL : 0;
}

static int in_open(struct sim_bridge *b, struct cyber_in *in, const struct entry *e, char *why, size_t size)
{
	const struct cyber_in *other = entry_of(b, e->channel);

	in->bridge = b;
	if (in_kind(b, in, e, why, size) < 0)
		return -EINVAL;
	if (e->safe && !sim_type_equal(cyber_in_sim(in), &sim_VehicleControl_type)) {
		snprintf(why, size, "\"safe_input\" is for sim/VehicleControl, but this entry gives %s",
			 cyber_in_sim(in)->name);
		return -EINVAL;
	}
	if (cyber_safe_read(e->safe, e->timeout_ms, &in->safe, why, size) < 0)
		return -EINVAL;
	if (other && !sim_type_equal(cyber_in_sim(other), cyber_in_sim(in))) {
		snprintf(why, size, "it gives %s, but channel \"%.60s\" is %s already", cyber_in_sim(in)->name,
			 e->channel, cyber_in_sim(other)->name);
		return -EINVAL;
	}
	snprintf(in->name, sizeof(in->name), "%s", e->name);
	snprintf(in->channel, sizeof(in->channel), "%s", e->channel);
	in->options = (struct apollo_options){ .origin = b->has_origin ? b->origin : NULL,
					       .utm_zone = (int)b->utm_zone,
					       .undulation = b->undulation,
					       .is_static = cyber_frames_is(e->name) };
	return slot_in_init(&in->slot, b->host, in->channel, cyber_in_sim(in), e->max_body, why, size);
}

static int read_max_body(const json_t *v, struct entry *e, char *why, size_t size)
{
	json_int_t n = json_integer_value(v);

	if (json_is_integer(v) && n >= 1024 && n <= CYBER_MESSAGE_MAX) {
		e->max_body = (size_t)n;
		return 0;
	}
	snprintf(why, size, "\"max_body\" must be a whole number of bytes from 1024 to %u", CYBER_MESSAGE_MAX);
	return -EINVAL;
}

static int read_key(const char *key, json_t *v, struct entry *e, char *why, size_t size)
{
	const char **to = !strcmp(key, "type")         ? &e->type
			  : !strcmp(key, "channel")    ? &e->channel
			  : !strcmp(key, "as")         ? &e->as
			  : !strcmp(key, "definition") ? &e->definition
						       : NULL;

	if (!strcmp(key, "max_body"))
		return read_max_body(v, e, why, size);
	if (!strcmp(key, "safe_input") || !strcmp(key, "control_timeout_ms")) {
		*(*key == 's' ? &e->safe : &e->timeout_ms) = v;
		return 0;
	}
	if (to)
		*to = json_string_value(v);
	if (to && *to && **to)
		return 0;
	if (to)
		snprintf(why, size, "\"%s\" must be a text that is not empty", key);
	else
		snprintf(
			why, size,
			"there is no key \"%.40s\": type, channel, as, definition, max_body, safe_input, control_timeout_ms",
			key);
	return -EINVAL;
}

static int read_entry(struct sim_bridge *b, const char *name, json_t *j, char *why, size_t size)
{
	struct entry e = { .name = name };
	const char *key;
	json_t *v;
	int r = cyber_name_ok(name, why, size) ? 0 : -EINVAL;

	json_object_foreach(j, key, v)
		r = r < 0 ? r : read_key(key, v, &e, why, size);
	if (r < 0)
		return r;
	if (!e.type || !e.channel)
		snprintf(why, size, "\"%s\" is missing", e.type ? "channel" : "type");
	else if (strlen(e.channel) > SIM_CHANNEL_MAX)
		snprintf(why, size, "\"channel\" has more than %d bytes", SIM_CHANNEL_MAX);
	else if (b->n_in == TOPICS_IN_MAX)
		snprintf(why, size, "more than %u channels", TOPICS_IN_MAX);
	else
		return in_open(b, &b->in[b->n_in], &e, why, size);
	return -EINVAL;
}

/* Reads the entry for one Apollo channel. */
static int read_one(struct sim_bridge *b, const char *name, json_t *j)
{
	char why[256] = "";
	struct cyber_in *in = &b->in[b->n_in];
	int r = read_entry(b, name, j, why, sizeof(why));

	if (r < 0 && b->n_in < TOPICS_IN_MAX) {
		cyber_own_close(in->own);
		in->own = NULL;
	}
	if (r < 0)
		log_error(b, "options.subscribe[\"%.80s\"]: %s", name, why[0] ? why : strerror(-r));
	b->n_in += r == 0;
	return r;
}

int cyber_read_subscribe(struct sim_bridge *b)
{
	const char *text = bridge_option(b->host, "subscribe"), *name;
	json_error_t err = { .text = "" };
	json_t *j = json_loads(*text ? text : "{}", JSON_REJECT_DUPLICATES, &err), *v, *one;
	int r = json_is_object(j) ? 0 : -EINVAL;
	size_t i;

	if (r < 0)
		log_error(b, "options.subscribe: not a JSON object: %s", err.text);
	json_object_foreach(j, name, v) {
		if (r == 0 && !json_is_array(v))
			r = read_one(b, name, v);
		json_array_foreach(v, i, one)
			r = r < 0 ? r : read_one(b, name, one);
	}
	json_decref(j);
	return r;
}

void cyber_in_finish(struct sim_bridge *b)
{
	while (b->n_in) {
		cyber_own_close(b->in[--b->n_in].own);
		slot_in_finish(&b->in[b->n_in].slot);
	}
}
