/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large messages: converted and written on a thread of their own, "ros2-large", one after the other, so that nothing small waits
 * for them on a lane; and sent in parts, so that no receive buffer overflows. Cyclone sends a whole message at once, and a reader
 * with its own settings has a buffer of 2 MB: what is more is lost unless the reader runs meanwhile. So behind each part we look
 * how full the buffers of this machine are, and go on when there is room; where that cannot be seen, after a fixed time.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sertype.h"
#include "receivers.h"
#include "ros2.h"

#define LARGE            (128u << 10)
#define PART             (128 << 10) /* the most that is sent unseen: three datagrams, which the smallest buffers hold */
#define TIMED_PARTS      4u          /* 512 KiB without a look, then */
#define TIMED_DUR_NS     950000      /* a pause: with the slack of timers, 512 MB/s */
#define ACKED            (1u << 20)  /* a reliable one waits until its readers have the one before it */
#define ACK_DUR_NS       20000000
#define ACK_TIMEOUTS     3u /* in a row; then nobody waits for ACK_SKIP_DUR_NS */
#define ACK_SKIP_DUR_NS  1000000000
#define RMEM_WANT        (4 << 20)
#define RCVBUF_ASK       (10 << 20) /* as in domain.c */
#define LOSS_LINE_DUR_NS INT64_C(10000000000)

/* ---- parts ---- */

struct pace { /* of one message */
	struct sim_bridge *bridge;
	unsigned parts;
	int left;   /* bytes to send before the next look */
	bool timed; /* by the last look */
};

static void look_no_more(struct sim_bridge *b, int e)
{
	log_info(b,
		 "the kernel does not report how full receive buffers are (%s): large messages are sent by time, "
		 "512 KiB a millisecond",
		 strerror(-e));
	receivers_close(b->large.receivers);
	b->large.receivers = NULL;
	b->large.timed = true;
}

static void look(struct pace *p)
{
	int e = receivers_wait(p->bridge->large.receivers, PART);

	p->left = e;
	p->timed = e < 0;
	if (e < 0 && e != -ETIMEDOUT && e != -EAGAIN)
		look_no_more(p->bridge, e);
}

static void between(void *arg)
{
	struct pace *p = arg;
	struct ros2_large *l = &p->bridge->large;

	p->left -= PART;
	if (l->receivers && p->left < PART)
		look(p);
	if (++p->parts % TIMED_PARTS == 0 && (p->timed || l->timed))
		nanosleep(&(struct timespec){ .tv_nsec = TIMED_DUR_NS }, NULL);
}

/* No part goes unseen, the first one neither: what came before may still be unread. */
static void begin(struct pace *p, struct ros2_topic *t)
{
	int total = atomic_load(&t->readers_ever);

	receivers_begin(p->bridge->large.receivers, total != t->readers_known);
	t->readers_known = total;
	look(p);
}

/* The user sees holes in a picture: whose buffer it was, and what helps. */
static void name_loss(struct sim_bridge *b)
{
	struct receivers_loss loss;
	int64_t now_mono_ns = ros2_mono_ns();

	if (now_mono_ns < b->large.quiet_mono_ns || !receivers_lost(b->large.receivers, &loss))
		return;
	b->large.quiet_mono_ns = now_mono_ns + LOSS_LINE_DUR_NS;
	log_warn(
		b,
		"a DDS reader on this machine (UDP port %u) has lost %u packets: its receive buffer of %u bytes was full, "
		"%s; \"ss -uanmp\" shows whose it is",
		loss.port, loss.packets, loss.buffer,
		loss.waited
			? "as it was not read for as long as a message waits (options.pacing_ms): the machine is too busy, or the program hangs"
		: loss.buffer < 2u << 20
			? "on its side run sysctl -w net.core.rmem_max=4194304 net.core.rmem_default=4194304"
			: "as it is not read in time: the machine is too busy, or the program hangs");
}

static void wait_for_acks(struct ros2_topic *t)
{
	int64_t now_mono_ns = ros2_mono_ns();

	if (now_mono_ns < t->acks.skip_mono_ns)
		return;
	if (dds_wait_for_acks(t->writer, ACK_DUR_NS) != DDS_RETCODE_TIMEOUT) {
		t->acks.timeouts = 0;
	} else if (++t->acks.timeouts >= ACK_TIMEOUTS) {
		t->acks.timeouts = 0;
		t->acks.skip_mono_ns = now_mono_ns + ACK_SKIP_DUR_NS;
	}
}

dds_return_t ros2_large_write(struct sim_bridge *b, struct ros2_topic *t, const struct iov_buf *o)
{
	struct ros2_large *l = &b->large;
	struct pace p = { .bridge = b };
	dds_return_t r;

	if (o->total < LARGE)
		return dds_write(t->writer, o);
	pthread_mutex_lock(&l->wire);
	if (t->reliable && o->total >= ACKED)
		wait_for_acks(t);
	if (l->receivers)
		begin(&p, t);
	r = l->whole ? dds_write(t->writer, o) : sertype_write_in_parts(t->writer, o, PART, between, &p);
	if (l->receivers)
		name_loss(b);
	pthread_mutex_unlock(&l->wire);
	return r;
}

/* ---- the thread ---- */

static void *large_main(void *arg)
{
	struct sim_bridge *b = arg;
	struct ros2_large *l = &b->large;

	prctl(PR_SET_NAME, "ros2-large");
	pthread_mutex_lock(&l->lock);
	while (!l->stop || l->n) {
		struct ros2_large_message m = l->ring[l->first];
		int r;

		if (!l->n) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		pthread_mutex_unlock(&l->lock);
		r = ros2_channel_write(b, m.channel, m.m);
		b->host->complete(b->host->ctx, m.task, r);
		pthread_mutex_lock(&l->lock);
		l->first = (l->first + 1) % ROS2_LARGE_MAX;
		l->n--;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* The caller holds l->lock. */
static bool has(const struct ros2_large *l, const struct sim_bridge_topic *channel)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->ring[(l->first + i) % ROS2_LARGE_MAX].channel == channel)
			return true;
	return false;
}

bool ros2_large_take(struct sim_bridge *b, struct sim_bridge_topic *channel, const struct sim_message *m,
		     struct sim_task *task)
{
	struct ros2_large *l = &b->large;
	bool mine;

	if (!task)
		return false;
	pthread_mutex_lock(&l->lock);
	mine = m->body_size >= LARGE || has(l, channel); /* a small one must not overtake */
	while (mine && l->n == ROS2_LARGE_MAX)
		pthread_cond_wait(&l->changed, &l->lock);
	if (mine) {
		l->ring[(l->first + l->n++) % ROS2_LARGE_MAX] = (struct ros2_large_message){ channel, m, task };
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return mine;
}

void ros2_large_drain(struct sim_bridge *b, const struct sim_bridge_topic *channel)
{
	struct ros2_large *l = &b->large;

	pthread_mutex_lock(&l->lock);
	while (has(l, channel))
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

/* ---- opening ---- */

/*
 * Where readers cannot be watched: how large a receive buffer a socket gets here, asked for as Cyclone does. Our side only sends large messages, but a user's
 * side on this machine has the same limit. Linux reports twice what it was asked for, and counts its own overhead within.
 */
static void probe_buffers(struct sim_bridge *b)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), want = RCVBUF_ASK, got = 0;
	socklen_t len = sizeof(got);

	if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want)) == 0 &&
	    getsockopt(s, SOL_SOCKET, SO_RCVBUF, &got, &len) == 0 && got < 2 * RMEM_WANT)
		log_warn(b,
			 "a socket's receive buffer has %d bytes at most: images and clouds will get lost on the way to "
			 "ROS; on both sides run: sysctl -w net.core.rmem_max=%d",
			 got / 2, RMEM_WANT);
	if (s >= 0)
		close(s);
}

static int read_pacing(struct sim_bridge *b, long *ret_ms)
{
	static const char *const words[] = { "auto", "time", "off", NULL };
	int n = bridge_option_word(b->host, "pacing", words, "auto, time or off");
	int r = bridge_option_number(b->host, "pacing_ms", 10, 60000, "ms", ret_ms);

	b->large.whole = n == 2;
	b->large.timed = n == 1 || !b->localhost;
	return r < 0 ? r : n;
}

int ros2_large_open(struct sim_bridge *b)
{
	struct ros2_large *l = &b->large;
	long patience_ms = 0;
	int r, e;

	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->wire, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->open = true;
	r = read_pacing(b, &patience_ms);
	if (r == 0 && (e = receivers_open(patience_ms * INT64_C(1000000), &l->receivers)) < 0)
		look_no_more(b, e);
	if (r >= 0 && (l->timed || l->whole))
		probe_buffers(b);
	if (r >= 0)
		r = -pthread_create(&l->thread, NULL, large_main, b);
	l->running = r == 0;
	return r;
}

void ros2_large_close(struct sim_bridge *b)
{
	struct ros2_large *l = &b->large;

	if (!l->open)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (l->running)
		pthread_join(l->thread, NULL);
	receivers_close(l->receivers);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->wire);
	pthread_mutex_destroy(&l->lock);
}
