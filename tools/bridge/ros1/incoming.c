/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection on which a topic is received: our header, the publisher's, then messages, each preceded by its length.
 * Thread: the loop's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ros/ros_type.h"
#include "ros1.h"
#include "tcpros.h"
#include "timeutil.h"

#define GREETING_DUR_NS (10 * NS_PER_S)
#define CLOCK_MAX       1024u
#define MD5_OF_NOTHING  "d41d8cd98f00b204e9800998ecf8427e" /* md5sum of a type without fields */
#define SKIP_MAX        (512u << 20)                       /* a larger length is invalid */

/* Maximum size of a message; larger ones are skipped. */
static size_t size_max(const struct subscription *s)
{
	return s->clock || atomic_load(&s->in.waits) ? CLOCK_MAX : topic_in_wire_max(&s->in);
}

void incoming_end(struct incoming *c)
{
	if (!c)
		return;
	c->link->connection = NULL;
	if (c->link->subscription->clock)
		sim_time_lost(c->bridge, c->link);
	stream_destroy(c->stream);
	free(c);
}

/* Reports why a publisher is not read. The same reason is reported once, however often the link is tried. */
static void refuse(struct incoming *c, const char *why)
{
	struct link *l = c->link;

	if (strcmp(l->said, why) == 0)
		return;
	node_refuses(c->bridge, "%s: its publisher %s at %s: %s", l->subscription->in.name, c->node, l->uri, why);
	snprintf(l->said, sizeof(l->said), "%s", atomic_load(&l->subscription->in.waits) ? why : "");
}

static void on_ended(void *arg, int error, const char *why)
{
	struct incoming *c = arg;
	struct link *l = c->link;
	bool greeted = c->greeted, learnt = c->learnt;

	(void)error;
	if (!learnt && (c->lied || !greeted))
		refuse(c, why);
	incoming_end(c);
	if (learnt)
		subscription_learnt(l->subscription);
	else
		link_lost(l, greeted);
}

/* ---- headers ---- */

static void on_opened(void *arg)
{
	struct incoming *c = arg;
	const struct subscription *s = c->link->subscription;
	struct tcpros_writer w = { .data = NULL };

	tcpros_put(&w, "callerid", c->bridge->names.node);
	tcpros_put(&w, "md5sum", s->type->hash);
	tcpros_put(&w, "message_definition", s->type->definition);
	tcpros_put(&w, "tcp_nodelay", "1");
	tcpros_put(&w, "topic", s->in.name);
	tcpros_put(&w, "type", s->type->name);
	if (tcpros_end(&w) == 0)
		(void)stream_send(c->stream, w.data, w.len);
	tcpros_writer_finish(&w);
	stream_deadline(c->stream, GREETING_DUR_NS);
}

/* An empty definition counts only for a type without fields. */
static bool has_definition(const struct tcpros_header *h, char *ret, size_t size)
{
	return tcpros_get(h, "message_definition", ret, size) && (*ret || tcpros_is(h, "md5sum", MD5_OF_NOTHING));
}

/*
 * Learns the type from the first publisher; messages are requested later, when the channel has a subscriber. Never
 * returns 0: this connection ends.
 */
static int learn(struct incoming *c, const struct tcpros_header *h, char *why, size_t why_size)
{
	struct subscription *s = c->link->subscription;
	char type[2 * SIM_TYPE_NAME_MAX], hash[40], *definition = malloc(TCPROS_HEADER_MAX + 1);
	bool given = definition && has_definition(h, definition, TCPROS_HEADER_MAX + 1);

	snprintf(why, why_size, "no memory");
	tcpros_get(h, "type", type, sizeof(type));
	tcpros_get(h, "md5sum", hash, sizeof(hash));
	log_printable(type);
	log_printable(hash);
	c->learnt = definition && topic_in_learn(&s->in, type, hash, given ? definition : NULL, why, why_size) == 0;
	free(definition);
	if (c->learnt) {
		s->type = s->in.conversion.type;
		log_peer(c->bridge, "%s: %s, as publisher %s says", s->in.name, s->type->name, c->node);
	}
	log_printable(why);
	return -EPROTO;
}

/* Checks the publisher's header. 0, or -EPROTO with a reason. */
static int greeted(struct incoming *c, const struct tcpros_header *h, char *why, size_t why_size)
{
	const struct subscription *s = c->link->subscription;
	char theirs[200];

	tcpros_get(h, "callerid", c->node, sizeof(c->node));
	log_printable(c->node);
	if (tcpros_get(h, "error", theirs, sizeof(theirs))) {
		log_printable(theirs);
		snprintf(why, why_size, "it refuses: %s", theirs);
		return -EPROTO;
	}
	if (!s->clock && atomic_load(&s->in.waits))
		return learn(c, h, why, why_size);
	if (!tcpros_is(h, "md5sum", s->type->hash)) {
		tcpros_get(h, "md5sum", theirs, 40);
		log_printable(theirs);
		snprintf(why, why_size, "it sends another definition of %.100s: md5sum %.32s, not %.32s", s->type->name,
			 theirs, s->type->hash);
		return -EPROTO;
	}
	if (s->clock && *c->bridge->mark && tcpros_is(h, "simd", c->bridge->mark)) {
		c->link->ours = true;
		snprintf(why, why_size, "it is our own clock");
		return -EPROTO;
	}
	c->greeted = true;
	stream_deadline(c->stream, 0);
	log_peer(c->bridge, "%s: publisher %s", s->in.name, c->node);
	return 0;
}

/* ---- messages ---- */

static void deliver(struct incoming *c, const void *data, size_t len)
{
	struct subscription *s = c->link->subscription;

	c->messages++;
	if (atomic_load(&c->bridge->status) != SIM_BRIDGE_CONNECTED)
		return;
	if (s->clock)
		sim_time_take(c->bridge, c->link, data, len);
	else
		topic_in_take(&s->in, data, len);
}

static ssize_t take_header(struct incoming *c, const uint8_t *p, size_t left, char *why, size_t why_size)
{
	struct tcpros_header h;
	int r = tcpros_parse(p, left, TCPROS_HEADER_MAX, &h, why, why_size);

	if (r == 1)
		r = greeted(c, &h, why, why_size);
	return r < 0 ? r : c->greeted ? (ssize_t)h.total : 0;
}

/*
 * Handles one part of the `left` bytes at p. Returns how many bytes it used; 0: more are needed. Negative: end the
 * connection.
 */
static ssize_t take_one(struct incoming *c, const uint8_t *p, size_t left, char *why, size_t why_size)
{
	struct subscription *s = c->link->subscription;
	uint32_t size;

	if (c->skip) {
		size_t n = left < c->skip ? left : c->skip;

		c->skip -= (uint32_t)n;
		return (ssize_t)n;
	}
	if (!c->greeted)
		return take_header(c, p, left, why, why_size);
	if (left < 4)
		return 0;
	size = tcpros_u32(p);
	if (size > SKIP_MAX) {
		snprintf(why, why_size, "a message of %u bytes", size);
		return -EMSGSIZE;
	}
	if (size > size_max(s)) {
		if (!s->clock)
			topic_in_drop(&s->in, -EMSGSIZE);
		c->skip = size;
		return 4;
	}
	if (left - 4 < size)
		return 0;
	deliver(c, p + 4, size);
	return (ssize_t)size + 4;
}

static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct incoming *c = arg;
	size_t at = 0;
	ssize_t n = 1;

	while (at < len && (n = take_one(c, data + at, len - at, why, STREAM_WHY_MAX)) > 0)
		at += (size_t)n;
	c->bytes += at;
	c->lied = n < 0;
	return n < 0 ? n : (ssize_t)at;
}

/* ---- opening ---- */

int incoming_open(struct sim_bridge *b, struct link *l, const struct address *at, char why[STREAM_WHY_MAX])
{
	static const struct stream_ops ops = { .opened = on_opened, .take = take, .ended = on_ended };
	size_t message = size_max(l->subscription) + 4, header = TCPROS_HEADER_MAX + 4;
	struct stream_options o = { .ops = &ops,
				    .buffer = (message > header ? message : header) + 1,
				    .dial_dur_ns = GREETING_DUR_NS,
				    .lookup = b->publisher_names };
	struct incoming *c = calloc(1, sizeof(*c));
	int r;

	snprintf(why, STREAM_WHY_MAX, "no memory");
	if (!c)
		return -ENOMEM;
	c->bridge = b;
	c->link = l;
	c->id = ++b->n_connections;
	snprintf(c->node, sizeof(c->node), "?");
	o.arg = c;
	r = stream_dial(b->x, at, &o, &c->stream, why);
	if (r < 0)
		free(c);
	else
		l->connection = c;
	return r;
}
