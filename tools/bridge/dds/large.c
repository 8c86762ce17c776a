/* SPDX-License-Identifier: Apache-2.0 */
/* See large.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "large.h"
#include "option.h"
#include "in_parts.h"
#include "receivers.h"
#include "timeutil.h"

#define PART             (128 << 10) /* bytes sent between two looks: three datagrams, which fit the smallest buffers */
#define TIMED_PARTS      4u          /* when sending by time: parts (512 KiB) between two pauses */
#define TIMED_DUR_NS     950000      /* length of such a pause; with timer slack this gives 512 MB/s */
#define ACKED            (1u << 20) /* size from which a reliable writer waits until its readers have the previous message */
#define ACK_DUR_NS       20000000
#define ACK_TIMEOUTS     3u /* consecutive timeouts after which it does not wait for ACK_SKIP_DUR_NS */
#define ACK_SKIP_DUR_NS  1000000000
#define RMEM_WANT        (4 << 20)
#define RCVBUF_ASK       (10 << 20) /* as Cyclone is configured to request */
#define LOSS_LINE_DUR_NS INT64_C(10000000000)

/* ---- parts ---- */

struct pace { /* of one message */
	struct large *l;
	unsigned parts;
	int left;   /* bytes to send before the next look */
	bool timed; /* as the last look says */
};

static void look_no_more(struct large *l, int e)
{
	log_info(l,
		 "the kernel does not report how full receive buffers are (%s): large messages are sent by time, "
		 "512 KiB a millisecond",
		 strerror(-e));
	receivers_close(l->receivers);
	l->receivers = NULL;
	l->timed = true;
}

static void look(struct pace *p)
{
	int e = receivers_wait(p->l->receivers, PART);

	p->left = e;
	p->timed = e < 0;
	if (e < 0 && e != -ETIMEDOUT && e != -EAGAIN)
		look_no_more(p->l, e);
}

static void between(void *arg)
{
	struct pace *p = arg;
	struct large *l = p->l;

	p->left -= PART;
	if (l->receivers && p->left < PART)
		look(p);
	if (++p->parts % TIMED_PARTS == 0 && (p->timed || l->timed))
		nanosleep(&(struct timespec){ .tv_nsec = TIMED_DUR_NS }, NULL);
}

/* Looks before the first part, too: earlier messages may still be unread. */
static void begin(struct pace *p, struct large_writer *w)
{
	int total = atomic_load(&w->readers_ever);

	receivers_begin(p->l->receivers, total != w->readers_known);
	w->readers_known = total;
	look(p);
}

/* Logs whose receive buffer lost packets and what helps; users see it as holes in a picture. */
static void name_loss(struct large *l)
{
	struct receivers_loss loss;
	int64_t now_mono_ns = mono_now_ns();

	if (now_mono_ns < l->quiet_mono_ns || !receivers_lost(l->receivers, &loss))
		return;
	l->quiet_mono_ns = now_mono_ns + LOSS_LINE_DUR_NS;
	log_warn(
		l,
		"a DDS reader on this machine (UDP port %u) has lost %u packets: its receive buffer of %u bytes was full, "
		"%s; \"ss -uanmp\" shows whose it is",
		loss.port, loss.packets, loss.buffer,
		loss.waited
			? "because it was not read within options.pacing_ms: the machine is too busy, or the program hangs"
		: loss.buffer < 2u << 20
			? "on its side run sysctl -w net.core.rmem_max=4194304 net.core.rmem_default=4194304"
			: "because it is not read in time: the machine is too busy, or the program hangs");
}

static void wait_for_acks(struct large_writer *w, dds_entity_t writer)
{
	int64_t now_mono_ns = mono_now_ns();

	if (now_mono_ns < w->acks.skip_mono_ns)
		return;
	if (dds_wait_for_acks(writer, ACK_DUR_NS) != DDS_RETCODE_TIMEOUT) {
		w->acks.timeouts = 0;
	} else if (++w->acks.timeouts >= ACK_TIMEOUTS) {
		w->acks.timeouts = 0;
		w->acks.skip_mono_ns = now_mono_ns + ACK_SKIP_DUR_NS;
	}
}

dds_return_t large_write(struct large *l, struct large_writer *w, dds_entity_t writer, const void *sample, size_t size)
{
	struct pace p = { .l = l };
	dds_return_t r;

	if (size < LARGE_BYTES)
		return dds_write(writer, sample);
	pthread_mutex_lock(&l->wire);
	if (w->reliable && size >= ACKED)
		wait_for_acks(w, writer);
	if (l->receivers)
		begin(&p, w);
	r = l->whole ? dds_write(writer, sample) : in_parts_write(writer, sample, PART, between, &p);
	if (l->receivers)
		name_loss(l);
	pthread_mutex_unlock(&l->wire);
	return r;
}

/* ---- the thread ---- */

static void *large_main(void *arg)
{
	struct large *l = arg;

	prctl(PR_SET_NAME, l->name);
	pthread_mutex_lock(&l->lock);
	while (!l->stop || l->n) {
		struct large_message m = l->ring[l->first];
		int r;

		if (!l->n) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		pthread_mutex_unlock(&l->lock);
		r = l->write(l->arg, m.channel, m.m, m.task);
		if (r != 1)
			l->host->complete(l->host->ctx, m.task, r);
		pthread_mutex_lock(&l->lock);
		l->first = (l->first + 1) % LARGE_MAX;
		l->n--;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Caller holds l->lock. */
static bool has(const struct large *l, const struct sim_bridge_topic *channel)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->ring[(l->first + i) % LARGE_MAX].channel == channel)
			return true;
	return false;
}

bool large_take(struct large *l, struct sim_bridge_topic *channel, const struct sim_message *m, struct sim_task *task)
{
	bool mine;

	if (!task)
		return false;
	pthread_mutex_lock(&l->lock);
	mine = m->body_size >= LARGE_BYTES || has(l, channel); /* a small message must not overtake a large one */
	while (mine && l->n == LARGE_MAX)
		pthread_cond_wait(&l->changed, &l->lock);
	if (mine) {
		l->ring[(l->first + l->n++) % LARGE_MAX] = (struct large_message){ channel, m, task };
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return mine;
}

void large_drain(struct large *l, const struct sim_bridge_topic *channel)
{
	pthread_mutex_lock(&l->lock);
	while (has(l, channel))
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

/* ---- opening ---- */

/*
 * Warns of small receive buffers if readers cannot be watched: requests one as Cyclone does, since readers on this
 * machine have the same limit. Linux reports twice the requested size, which includes its own overhead.
 */
static void probe_buffers(struct large *l)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), want = RCVBUF_ASK, got = 0;
	socklen_t len = sizeof(got);

	if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want)) == 0 &&
	    getsockopt(s, SOL_SOCKET, SO_RCVBUF, &got, &len) == 0 && got < 2 * RMEM_WANT)
		log_warn(l,
			 "a socket's receive buffer has %d bytes at most: images and clouds will get lost on the way; "
			 "on both sides run: sysctl -w net.core.rmem_max=%d",
			 got / 2, RMEM_WANT);
	if (s >= 0)
		close(s);
}

static int read_pacing(struct large *l, bool localhost, long *ret_ms)
{
	static const char *const words[] = { "auto", "time", "off", NULL };
	int n = bridge_option_word(l->host, "pacing", words, "auto, time or off");
	int r = bridge_option_number(l->host, "pacing_ms", 10, 60000, "ms", ret_ms);

	l->whole = n == 2;
	l->timed = n == 1 || !localhost;
	return r < 0 ? r : n;
}

int large_open(struct large *l, const struct sim_bridge_host *host, bool localhost, const char *name,
	       large_write_fn *write, struct sim_bridge *b)
{
	long patience_ms = 0;
	int r, e;

	l->host = host;
	l->write = write;
	l->arg = b;
	snprintf(l->name, sizeof(l->name), "%s", name);
	pthread_mutex_init(&l->lock, NULL);
	pthread_mutex_init(&l->wire, NULL);
	pthread_cond_init(&l->changed, NULL);
	l->open = true;
	r = read_pacing(l, localhost, &patience_ms);
	if (r == 0 && (e = receivers_open(patience_ms * INT64_C(1000000), &l->receivers)) < 0)
		look_no_more(l, e);
	if (r >= 0 && (l->timed || l->whole))
		probe_buffers(l);
	if (r >= 0)
		r = -pthread_create(&l->thread, NULL, large_main, l);
	l->running = r == 0;
	return r;
}

void large_close(struct large *l)
{
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
	l->open = false;
}
