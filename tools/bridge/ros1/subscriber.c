/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the TCPROS port, and one on which a topic is sent: see publication.h. Thread: the loop's, unless
 * stated otherwise there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "publication.h"
#include "ros1.h"
#include "timeutil.h"

#define TURN_MESSAGES 64 /* sent before other work runs */

static void item_done(void *arg, const struct outbox_item *i, int result)
{
	struct subscriber *s = arg;

	if (result == -ENOBUFS)
		node_has_news(s->bridge);
	message_drop(s->bridge, i->body);
}

static const struct outbox_ops outbox_ops = { .done = item_done };

void subscriber_put(struct subscriber *s, struct message *m)
{
	bool wake;

	m->refs++;
	(void)outbox_put(&s->outbox, s->topic, m, m->total, NULL, &wake);
	if (wake)
		exec_post(&s->wake);
}

/* The unsent pieces of the message, from byte `at` on. */
static unsigned rest_of(const struct message *m, size_t at, struct iovec iov[MESSAGE_IOV])
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->n_iov; i++) {
		size_t len = m->iov[i].iov_len;

		if (at >= len) {
			at -= len;
			continue;
		}
		iov[n++] = (struct iovec){ (uint8_t *)m->iov[i].iov_base + at, len - at };
		at = 0;
	}
	return n;
}

static void drop_item(struct subscriber *s, int result)
{
	if (s->item)
		outbox_done(&s->outbox, s->item, result, exec_now(s->bridge->x));
	s->item = NULL;
	s->at = 0;
}

/* Sends as much as the socket takes. */
static void pump(void *arg)
{
	struct subscriber *s = arg;
	struct iovec iov[MESSAGE_IOV];
	int64_t wait_dur_ns;
	ssize_t n;

	for (unsigned i = 0; i < TURN_MESSAGES; i++) {
		if (!s->item && !(s->item = outbox_take(&s->outbox, exec_now(s->bridge->x), &wait_dur_ns)))
			return;
		n = stream_write(s->stream, iov, rest_of(s->item->body, s->at, iov));
		if (n <= 0)
			return;
		s->at += (size_t)n;
		s->bytes += (size_t)n;
		if (s->at == s->item->size)
			drop_item(s, 0);
	}
	exec_post(&s->wake);
}

void subscriber_end(struct subscriber *s)
{
	struct publication *p = s->publication;

	if (p) {
		pump(s); /* sends what the socket still takes */
		pthread_mutex_lock(&p->lock);
		atomic_fetch_sub(&p->n_subscribers, 1);
		list_remove(&s->link);
		pthread_mutex_unlock(&p->lock);
	} else {
		list_remove(&s->link);
	}
	exec_post_cancel(&s->wake);
	drop_item(s, -ENOTCONN);
	outbox_topic_destroy(&s->outbox, s->topic);
	outbox_finish(&s->outbox);
	stream_destroy(s->stream);
	free(s);
}

static void on_ended(void *arg, int error, const char *why)
{
	struct subscriber *s = arg;

	(void)error;
	(void)why;
	if (s->publication)
		log_peer(s->bridge, "%s: subscriber %s (%s) disconnected", s->publication->name, s->node, s->peer);
	subscriber_end(s);
}

/* Sends the reason and ends the connection. */
static void refuse(struct subscriber *s, const char *why)
{
	struct tcpros_writer w = { .data = NULL };

	node_refuses(s->bridge, "a subscriber at %s: %s", s->peer, why);
	tcpros_put(&w, "error", why);
	if (tcpros_end(&w) == 0)
		(void)stream_send(s->stream, w.data, w.len);
	tcpros_writer_finish(&w);
	stream_end(s->stream, NS_PER_S); /* time for the peer to read it */
}

/* Handles the complete header. */
static void greeted(struct subscriber *s, const struct tcpros_header *h)
{
	char topic[ROS1_TEXT_MAX], why[512];

	tcpros_get(h, "callerid", s->node, sizeof(s->node));
	log_printable(s->node);
	if (!tcpros_get(h, "topic", topic, sizeof(topic))) {
		refuse(s, "the header names neither a topic nor a service");
		return;
	}
	log_printable(topic);
	if (publication_add(s->bridge, topic, h, s, why, sizeof(why)) < 0) {
		refuse(s, why);
		return;
	}
	listener_mood(s->stream, PEER_BUSY);
	log_peer(s->bridge, "%s: subscriber %s (%s)", topic, s->node, s->peer);
}

/* The header asks for a service: hands the connection to caller.c. */
static ssize_t hand_over(struct subscriber *s, const struct tcpros_header *h)
{
	if (!caller_take_over(s->bridge, s->stream, s->peer, h))
		return -EBUSY;
	s->stream = NULL;
	subscriber_end(s);
	return (ssize_t)h->total;
}

/* After its header a subscriber must not send anything. */
static ssize_t take(void *arg, const uint8_t *data, size_t len, char why[STREAM_WHY_MAX])
{
	struct subscriber *s = arg;
	struct tcpros_header h;
	int r = s->publication ? 1 : tcpros_parse(data, len, TCPROS_PEER_MAX, &h, why, STREAM_WHY_MAX);

	if (r == 0)
		return 0;
	if (r < 0)
		refuse(s, why);
	else if (!s->publication && tcpros_get(&h, "service", (char[1]){ 0 }, 1))
		return hand_over(s, &h);
	else if (!s->publication)
		greeted(s, &h);
	return (ssize_t)len;
}

const struct stream_ops subscriber_ops = { .take = take, .room = pump, .ended = on_ended };

void *subscriber_came(void *bridge, struct stream *stream, const char *from)
{
	struct sim_bridge *b = bridge;
	struct subscriber *s = b->off ? NULL : calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->bridge = b;
	s->stream = stream;
	s->id = ++b->n_connections;
	s->outbox.ops = &outbox_ops;
	s->outbox.arg = s;
	exec_post_init(&s->wake, b->x, pump, s);
	snprintf(s->peer, sizeof(s->peer), "%s", from);
	list_prepend(&b->greeting, &s->link);
	if (outbox_init(&s->outbox) == 0) {
		outbox_open(&s->outbox, true);
		return s;
	}
	s->stream = NULL;
	subscriber_end(s);
	return NULL;
}
