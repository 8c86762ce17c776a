/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of messages that come in, see slot_in.h. */
#include "slot_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

/* Messages of a type without strings and lists are all of one size. */
static bool one_size(const struct sim_type *type)
{
	for (uint32_t i = 0; i < type->n_fields; i++) {
		const struct sim_field *f = &type->fields[i];

		if (f->kind == SIM_KIND_STRING || (f->array != SIM_ARRAY_NONE && f->array != SIM_ARRAY_FIXED) ||
		    (f->type && !one_size(f->type)))
			return false;
	}
	return true;
}

/* Without a word of the rig: a command needs no large slot, and what sensors of today send is known. */
static size_t max_body_of(const struct sim_type *type)
{
	static const struct {
		const char *name;
		size_t max_body;
	} large[] = { { "sim/Image", 8u << 20 },
		      { "sim/CompressedImage", 4u << 20 },
		      { "sim/PointCloud", 8u << 20 },
		      { "sim/OccupancyGrid", 4u << 20 } };

	for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
		if (strcmp(type->name, large[i].name) == 0)
			return large[i].max_body;
	return one_size(type) || type->fixed_size > TOPICS_BODY_MAX ? type->fixed_size : TOPICS_BODY_MAX;
}

int slot_in_init(struct slot_in *s, const struct sim_bridge_host *host, const char *channel,
		 const struct sim_type *type, size_t max_body, char *why, size_t why_size)
{
	*s = (struct slot_in){
		.host = host, .channel = channel, .type = type, .max_body = max_body ? max_body : max_body_of(type)
	};
	if (s->max_body >= type->fixed_size)
		return 0;
	snprintf(why, why_size, "\"max_body\" %zu is less than the fixed part of %s, %u bytes", max_body, type->name,
		 type->fixed_size);
	return -EINVAL;
}

void slot_in_finish(struct slot_in *s)
{
	free(s->body);
	s->body = NULL;
}

int slot_in_offer(const struct slot_in *s)
{
	if (SIM_BRIDGE_HOST_HAS(s->host, unloan))
		return s->host->offer_large(s->host->ctx, s->channel, s->type, s->max_body);
	return s->host->offer(s->host->ctx, s->channel, s->type);
}

size_t slot_in_wire_max(const struct slot_in *s)
{
	size_t least = 4 * (size_t)TOPICS_BODY_MAX;

	return s->max_body < least / 4 ? least : 4 * s->max_body;
}

/* By a host that lends no slots: a copy, without stamp and frame. */
static int take_copied(struct slot_in *s, slot_in_read_fn read, void *arg)
{
	struct message_in to = { .room = TOPICS_BODY_MAX };
	int r;

	if (!s->body)
		s->body = aligned_alloc(64, TOPICS_BODY_MAX);
	if (!s->body)
		return -ENOMEM;
	to.buf = s->body;
	r = read(arg, &to);
	if (r)
		return r == -ENOBUFS ? -EMSGSIZE : r;
	return s->host->publish(s->host->ctx, s->channel, s->type, s->body, to.size);
}

/* Into a slot of that room. -ENOBUFS: it needs more. */
static int take_in_place(struct slot_in *s, size_t room, slot_in_read_fn read, void *arg)
{
	const struct sim_bridge_host *h = s->host;
	struct message_in to = { .room = room };
	int r = h->loan(h->ctx, s->channel, s->type, room, &to.buf);

	if (r < 0)
		return r == -ENOBUFS ? -EBUSY : r;
	r = read(arg, &to);
	if (r) {
		h->unloan(h->ctx, s->channel, to.buf);
		return r;
	}
	return h->publish_loan(h->ctx, s->channel, to.buf, to.size,
			       to.stamp_sim_ns == MESSAGE_IN_NO_STAMP ? 0 : to.stamp_sim_ns, to.frame);
}

int slot_in_take(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg)
{
	size_t room = s->max_body;
	int r;

	if (!SIM_BRIDGE_HOST_HAS(s->host, unloan))
		return take_copied(s, read, arg);
	if (wire_size && wire_size < room - room / 4)
		room = wire_size + wire_size / 4 + 4096;
	room = room < s->type->fixed_size ? s->type->fixed_size : room;
	room = room < s->max_body ? room : s->max_body;
	while ((r = take_in_place(s, room, read, arg)) == -ENOBUFS && room < s->max_body)
		room = room < s->max_body / 4 ? room * 4 : s->max_body;
	return r == -ENOBUFS ? -EMSGSIZE : r;
}
