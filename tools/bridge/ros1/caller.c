/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection on which a service is called: its header was read by subscriber.c, as for any connection to that port.
 * Our header is sent, then requests are received, each answered before the next one is read. Thread: the I/O thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listener.h"
#include "ros/ros_type.h"
#include "ros1.h"
#include "service.h"
#include "timeutil.h"

#define CALLERS_MAX 256u
#define WAIT_DUR_NS (30 * NS_PER_S) /* for the rest of a request, and for reading an answer */
#define END_DUR_NS  NS_PER_S        /* time for the last answer to be read */

struct caller {
	struct sim_bridge *bridge;
	struct stream *stream;
	struct caller *next;          /* services::callers */
	struct ros1_service *service; /* NULL: the caller only gets a refusal */
	struct call *call;            /* its pending request; NULL: none */
	char peer[ROS1_TEXT_MAX];
	bool persistent;
	bool begun;  /* part of a request has arrived */
	bool ending; /* closed when everything is sent */
};

void caller_end(struct caller *c)
{
	struct caller **at = &c->bridge->services.callers;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->bridge->services.n_callers--;
	if (c->call)
		c->call->caller = NULL;
	if (c->service)
		service_unref(c->service);
	stream_destroy(c->stream);
	free(c);
}

static void on_ended(void *arg, int error, const char *why)
{
	(void)error;
	(void)why;
	caller_end(arg);
}

/* ---- answers ---- */

/* While a request is pending, or an answer is not yet read by the peer, no further request is read. */
static void go_on(void *arg)
{
	struct caller *c = arg;

	if (c->call)
		return;
	if (c->ending) {
		stream_end(c->stream, END_DUR_NS);
		return;
	}
	stream_deadline(c->stream, c->persistent ? 0 : WAIT_DUR_NS);
	stream_pause(c->stream, false);
}

static void send_and_go_on(struct caller *c, const uint8_t *out, size_t len)
{
	int r = stream_send(c->stream, out, len);

	c->ending |= r < 0;
	stream_pause(c->stream, true);
	if (r != 1 || c->ending)
		go_on(c);
}

static void refuse(struct caller *c, const char *why, bool last)
{
	size_t len = 0;
	uint8_t *out = caller_refusal(why, &len);

	c->ending |= last || !c->persistent || !out;
	send_and_go_on(c, out, len);
	free(out);
}

void caller_answer(struct caller *c, const uint8_t *out, size_t len)
{
	c->call = NULL;
	c->ending |= !out;
	send_and_go_on(c, out, len);
}

/* ---- requests ---- */

/* Takes one request, if it is complete; data after it waits until it is answered. */
static ssize_t take(void *arg, const uint8_t *data, size_t len, char unused[STREAM_WHY_MAX])
{
	struct caller *c = arg;
	uint32_t size = len < 4 ? 0 : tcpros_u32(data);
	char why[256];

	(void)unused;
	if (size > SERVICE_REQUEST_MAX) {
		snprintf(why, sizeof(why), "a request of %u bytes: %u at most", size, SERVICE_REQUEST_MAX);
		node_refuses(c->bridge, "a caller of %s at %s: %s", c->service->name, c->peer, why);
		refuse(c, why, true);
		return (ssize_t)len;
	}
	if (!c->begun)
		stream_deadline(c->stream, WAIT_DUR_NS);
	c->begun = len < 4 || len - 4 < size;
	if (c->begun)
		return 0;
	stream_deadline(c->stream, 0); /* the service has its own time limit */
	stream_pause(c->stream, true);
	if (service_call(c->service, c, data + 4, size, &c->call, why, sizeof(why)) < 0) {
		node_refuses(c->bridge, "a caller of %s at %s: %s", c->service->name, c->peer, why);
		refuse(c, why, false);
	} else {
		c->ending |= !c->persistent;
	}
	return (ssize_t)size + 4;
}

static const struct stream_ops ops = { .take = take, .room = go_on, .ended = on_ended };

/* ---- the header ---- */

static int check(struct caller *c, const struct tcpros_header *h, const char *name, char *why, size_t why_size)
{
	struct sim_bridge *b = c->bridge;
	struct ros1_service *s = service_find(b, name);
	char theirs[40];

	if (!s) {
		snprintf(why, why_size, "%s does not offer service %.200s", b->names.node, name);
		return -ENOENT;
	}
	if (!tcpros_get(h, "md5sum", theirs, sizeof(theirs))) {
		snprintf(why, why_size, "the header has no md5sum");
		return -EINVAL;
	}
	if (!tcpros_is(h, "md5sum", "*") && !tcpros_is(h, "md5sum", s->type.md5)) {
		log_printable(theirs);
		snprintf(why, why_size, "%s is %s with md5sum %s, not %s", s->name, s->type.name, s->type.md5, theirs);
		return -EINVAL;
	}
	s->refs++;
	c->service = s;
	return 0;
}

/* In headers "demo/Measure_Request" is "demo/MeasureRequest". */
static void put_half(struct tcpros_writer *w, const char *key, const struct service_type *t, const char *half)
{
	char name[sizeof(t->name) + 16];

	snprintf(name, sizeof(name), "%s%s", t->name, half);
	tcpros_put(w, key, name);
}

static void greet(struct caller *c, const char *error)
{
	struct tcpros_writer w = { .data = NULL };

	if (error) {
		tcpros_put(&w, "error", error);
	} else {
		const struct service_type *t = &c->service->type;

		tcpros_put(&w, "callerid", c->bridge->names.node);
		tcpros_put(&w, "md5sum", t->md5);
		put_half(&w, "request_type", t, "Request");
		put_half(&w, "response_type", t, "Response");
		tcpros_put(&w, "service", c->service->name);
		tcpros_put(&w, "type", t->name);
	}
	c->ending |= tcpros_end(&w) < 0 || error;
	send_and_go_on(c, w.data, w.err ? 0 : w.len);
	tcpros_writer_finish(&w);
}

static struct caller *create(struct sim_bridge *b, struct stream *s, const char *peer, const struct tcpros_header *h)
{
	struct caller *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->bridge = b;
	c->stream = s;
	c->persistent = tcpros_is(h, "persistent", "1") || tcpros_is(h, "persistent", "true");
	snprintf(c->peer, sizeof(c->peer), "%s", peer);
	stream_hand(s, &ops, c);
	stream_hurry(s, WAIT_DUR_NS);
	listener_mood(s, PEER_LEAVES);
	c->next = b->services.callers;
	b->services.callers = c;
	b->services.n_callers++;
	return c;
}

bool caller_take_over(struct sim_bridge *b, struct stream *s, const char *peer, const struct tcpros_header *h)
{
	struct caller *c = b->services.n_callers < CALLERS_MAX ? create(b, s, peer, h) : NULL;
	char name[ROS1_TEXT_MAX], why[512];
	int r;

	if (!c) {
		node_refuses(b, "a caller at %s: %u callers are connected already", peer, b->services.n_callers);
		return false;
	}
	tcpros_get(h, "service", name, sizeof(name));
	log_printable(name);
	r = check(c, h, name, why, sizeof(why));
	if (r < 0)
		node_refuses(b, "a caller at %s: %s", peer, why);
	c->ending = tcpros_is(h, "probe", "1");
	greet(c, r < 0 ? why : NULL);
	return true;
}

/* ---- all callers ---- */

void callers_end(struct sim_bridge *b, const struct ros1_service *s)
{
	for (struct caller *c = b->services.callers; c; c = c->next) {
		if (c->service != s)
			continue;
		c->ending = true;
		go_on(c);
	}
}
