/* SPDX-License-Identifier: Apache-2.0 */
/* A connection on the port of TCPROS, and one on which a topic is sent: see publication.h. Thread: the I/O thread, but for what says otherwise there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "publication.h"
#include "ros1.h"

#define HEADER_MAX      65536u /* theirs has no definition in it, or a short one */
#define HEADER_DUR_NS   INT64_C(10000000000)
#define SUBSCRIBERS_MAX 256u

/* ---- the queue ---- */

static void drop_one(struct subscriber *s, unsigned i, struct job **done)
{
	message_unref(&s->bridge->pool, s->ring[(s->first + i) % s->room], done);
	for (; i + 1 < s->n; i++)
		s->ring[(s->first + i) % s->room] = s->ring[(s->first + i + 1) % s->room];
	s->n--;
	s->dropped++;
	node_has_news(s->bridge);
}

static size_t waiting_bytes(const struct subscriber *s)
{
	size_t sum = 0;

	for (unsigned i = 0; i < s->n; i++)
		sum += s->ring[(s->first + i) % s->room]->total;
	return sum;
}

void subscriber_queue(struct subscriber *s, struct message *m, struct job **done)
{
	/* what has begun must be ended, and our header comes first */
	unsigned fixed = s->n && (s->at || s->ring[s->first]->bare);

	while (s->n - fixed > 0 && (s->n - fixed > s->room - 3 || waiting_bytes(s) + m->total > PUBLICATION_HELD_MAX))
		drop_one(s, fixed, done);
	m->refs++;
	s->ring[(s->first + s->n++) % s->room] = m;
}

/* The pieces of the message that are still to be sent. */
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

int subscriber_write(struct subscriber *s, struct job **done)
{
	while (s->n) {
		struct message *m = s->ring[s->first];
		struct iovec iov[MESSAGE_IOV];
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = rest_of(m, s->at, iov) };
		ssize_t n = sendmsg(s->io.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == ENOBUFS ? 0 : -errno;
		s->at += (size_t)n;
		s->bytes += (size_t)n;
		if (s->at < m->total)
			continue;
		s->sent += !m->bare;
		s->at = 0;
		s->first = (s->first + 1) % s->room;
		s->n--;
		message_unref(&s->bridge->pool, m, done);
	}
	return 0;
}

/* ---- the connection ---- */

static struct subscriber *of(struct io_source *io)
{
	return (struct subscriber *)(void *)io;
}

static void close_it(struct subscriber *s)
{
	if (s->io.closed)
		return;
	if (s->publication)
		log_peer(s->bridge, "%s: subscriber %s (%s) disconnected", s->publication->name, s->node, s->peer);
	io_close(s->bridge->io, &s->io);
	if (s->publication)
		publication_remove(s);
}

static void free_it(struct io_source *io)
{
	struct subscriber *s = of(io);

	if (s->publication)
		publication_remove(s);
	s->bridge->n_subscribers--;
	free(s->ring);
	free(s->in);
	free(s);
}

/* An answer that says why, and the end. */
static void refuse(struct subscriber *s, const char *why)
{
	struct tcpros_writer w = { .data = NULL };

	node_refuses(s->bridge, "a subscriber at %s: %s", s->peer, why);
	tcpros_put(&w, "error", why);
	if (tcpros_end(&w) == 0 && send(s->io.fd, w.data, w.len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		shutdown(s->io.fd, SHUT_WR);
	tcpros_writer_finish(&w);
	free(s->in);
	s->in = NULL;
	s->ending = true;
	s->io.due_mono_ns = io_mono_ns() + 1000000000; /* so that it can read that */
}

/* -ECANCELED: it is no subscriber, and its descriptor is another's now. */
static int greeted(struct subscriber *s, const struct tcpros_header *h)
{
	char topic[NET_TEXT_MAX], why[512];
	int r;

	if (tcpros_get(h, "service", topic, sizeof(topic))) {
		caller_accept(s->bridge, io_release(s->bridge->io, &s->io), s->peer, h, s->in + h->total,
			      s->in_len - h->total);
		return -ECANCELED;
	}
	tcpros_get(h, "callerid", s->node, sizeof(s->node));
	log_printable(s->node);
	if (!tcpros_get(h, "topic", topic, sizeof(topic))) {
		refuse(s, "the header names neither a topic nor a service");
		return 0;
	}
	log_printable(topic);
	r = publication_add(s->bridge, topic, h, s, why, sizeof(why));
	if (r < 0) {
		refuse(s, why);
		return 0;
	}
	free(s->in);
	s->in = NULL;
	s->io.due_mono_ns = 0;
	s->io.calm = IO_BUSY;
	log_peer(s->bridge, "%s: subscriber %s (%s)", topic, s->node, s->peer);
	return 0;
}

/* Its header; -EAGAIN there is no more. */
static int read_header(struct subscriber *s)
{
	struct tcpros_header h;
	char why[160];
	ssize_t n = recv(s->io.fd, s->in + s->in_len, HEADER_MAX - s->in_len, MSG_DONTWAIT);
	int r;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	s->in_len += (size_t)n;
	r = tcpros_parse(s->in, s->in_len, HEADER_MAX - 4, &h, why, sizeof(why));
	if (r == 1)
		return greeted(s, &h);
	if (r < 0)
		refuse(s, why);
	return 0;
}

/* After its header it has nothing to say. */
static int read_nothing(const struct subscriber *s)
{
	char some[4096];
	ssize_t n = recv(s->io.fd, some, sizeof(some), MSG_DONTWAIT);

	return n > 0 || (n < 0 && errno == EINTR) ? 0 : n == 0 ? -ECONNRESET : -errno;
}

static void ready(struct io_source *io, uint32_t events)
{
	struct subscriber *s = of(io);
	struct job *done = NULL;
	int r = 0;

	while (r == 0 && events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		r = s->in ? read_header(s) : read_nothing(s);
	if (r < 0 && r != -EAGAIN) {
		close_it(s);
		return;
	}
	if (!s->publication)
		return;
	pthread_mutex_lock(&s->publication->lock);
	r = subscriber_write(s, &done);
	pthread_mutex_unlock(&s->publication->lock);
	jobs_answer(s->bridge->host, done);
	if (r < 0)
		close_it(s);
}

void subscriber_accept(struct sim_bridge *b, int fd, const char *peer)
{
	bool room = b->n_subscribers < SUBSCRIBERS_MAX || io_make_room(b->io, free_it);
	struct subscriber *s = room ? calloc(1, sizeof(*s)) : NULL;

	if (s)
		s->in = malloc(HEADER_MAX);
	if (!s || !s->in) {
		node_refuses(b, "a connection from %s: there are %u", peer, b->n_subscribers);
		free(s);
		close(fd);
		return;
	}
	s->io = (struct io_source){ .fd = fd,
				    .ready = ready,
				    .free = free_it,
				    .calm = IO_SILENT,
				    .due_mono_ns = io_mono_ns() + HEADER_DUR_NS };
	s->bridge = b;
	s->id = ++b->n_connections;
	snprintf(s->peer, sizeof(s->peer), "%s", peer);
	b->n_subscribers++;
	if (io_add(b->io, &s->io) < 0)
		free_it(&s->io);
}
