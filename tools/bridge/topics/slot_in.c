/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of incoming messages: see slot_in.h. */
#include "slot_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define SLOT_IN_MAX ((size_t)512 << 20)
/* more than a 4K image; limits the memory that one message of any sender can take */
#define USUAL_MAX  ((size_t)64 << 20)
#define SMALL      (1u << 20)
#define ONCE_LEAST ((size_t)8 << 20) /* only the part that is used takes memory */

static size_t less(size_t a, size_t b)
{
	return a < b ? a : b;
}

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

/* The default of "max_body": the type's size if that is fixed, else 64 MiB. */
static size_t max_body_of(const struct sim_type *type)
{
	return one_size(type) ? type->fixed_size : USUAL_MAX;
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
	s->body_room = 0;
}

/* Offers with small slots: those for a longer message are requested when it arrives. */
int slot_in_offer(const struct slot_in *s)
{
	return s->host->offer(s->host->ctx, s->channel, s->type);
}

size_t slot_in_wire_max(const struct slot_in *s)
{
	size_t most = 4 * less(s->max_body, SLOT_IN_MAX / 4);

	return most < 4 * (size_t)TOPICS_BODY_MAX ? 4 * (size_t)TOPICS_BODY_MAX : most;
}

/* Reads into our own buffer, of `room` bytes. Errors as of slot_in_read_fn, but -EMSGSIZE instead of -ENOBUFS. */
static int read_aside(struct slot_in *s, size_t room, slot_in_read_fn read, void *arg, struct message_in *to)
{
	int r;

	if (s->body_room < room) {
		free(s->body);
		s->body = aligned_alloc(64, (room + 63) / 64 * 64);
		s->body_room = s->body ? room : 0;
	}
	if (!s->body)
		return -ENOMEM;
	*to = (struct message_in){ .buf = s->body, .room = room };
	r = read(arg, to);
	return r == -ENOBUFS ? -EMSGSIZE : r;
}

/* For a host that lends no slots: publishes a copy, without stamp and frame. */
static int take_copied(struct slot_in *s, slot_in_read_fn read, void *arg)
{
	struct message_in to;
	int r = read_aside(s, TOPICS_BODY_MAX, read, arg, &to);

	return r ? r : s->host->publish(s->host->ctx, s->channel, s->type, s->body, to.size);
}

static int publish_loan(const struct slot_in *s, const struct message_in *m)
{
	const struct sim_bridge_host *h = s->host;

	return h->publish_loan(h->ctx, s->channel, m->buf, m->size,
			       m->stamp_sim_ns == MESSAGE_IN_NO_STAMP ? 0 : m->stamp_sim_ns, m->frame);
}

int slot_in_take_once(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg)
{
	const struct sim_bridge_host *h = s->host;
	size_t room = 4 * less(wire_size, SLOT_IN_MAX / 4);
	struct message_in to;
	void *slot;
	int r;

	if (!SIM_BRIDGE_HOST_HAS(h, unloan))
		return take_copied(s, read, arg);
	r = read_aside(s, less(room > ONCE_LEAST ? room : ONCE_LEAST, s->max_body), read, arg, &to);
	if (r)
		return r;
	r = h->loan(h->ctx, s->channel, s->type, to.size, &slot);
	if (r < 0)
		return r == -ENOBUFS ? -EBUSY : r;
	memcpy(slot, to.buf, to.size);
	to.buf = slot;
	return publish_loan(s, &to);
}

/* Reads into a slot of `room` bytes. -ENOBUFS: it needs more. */
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
	return publish_loan(s, &to);
}

/* Adds spare room. The channel keeps the largest slots that a message has needed, so large ones grow in small steps. */
static size_t with_spare(size_t room)
{
	return room < SMALL ? room + room / 4 + 4096 : room + room / 16;
}

int slot_in_take(struct slot_in *s, size_t wire_size, slot_in_read_fn read, void *arg)
{
	size_t room;
	int r;

	if (!SIM_BRIDGE_HOST_HAS(s->host, unloan))
		return take_copied(s, read, arg);
	room = with_spare(less(wire_size, s->max_body));
	room = less(room > s->type->fixed_size ? room : s->type->fixed_size, s->max_body);
	while ((r = take_in_place(s, room, read, arg)) == -ENOBUFS && room < s->max_body)
		room = less(room < SMALL ? 4 * room : room + room / 4, s->max_body);
	return r == -ENOBUFS ? -EMSGSIZE : r;
}
