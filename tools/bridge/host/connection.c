/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the far side: made when simd asks for it, and again, after growing pauses, when the plug-in reports
 * its loss. Before messages flow again, the plug-in gets its state back: channels are closed and opened, then listen()
 * and service() are called. Meanwhile simd sees "connecting", and messages on their way are answered -ENOTCONN.
 *
 * A plug-in that reconnects by itself reports CONNECTING, and is left alone until it reports CONNECTED.
 *
 * Thread: connect and disconnect any, one at a time (connection.lock, before service.watch_lock);
 * host_connection_step() main.
 */
#include <errno.h>
#include <string.h>

#include "err.h"
#include "host.h"
#include "log.h"
#include "mem.h"
#include "task.h"
#include "timeutil.h"

LOG_TOPIC("connection");

#define PAUSE_MIN_DUR_NS (100 * NS_PER_MS)
#define PAUSE_MAX_DUR_NS (10 * NS_PER_S)
#define LOOK_DUR_NS      (5 * NS_PER_MS) /* how often to check whether lanes are still inside publish() */

void host_connection_init(struct host *h)
{
	pthread_mutex_init(&h->connection.lock, NULL);
	h->connection.re.pause_dur_ns = PAUSE_MIN_DUR_NS;
}

void host_connection_finish(struct host *h)
{
	pthread_mutex_destroy(&h->connection.lock);
	mem_free(h->connection.wanted);
}

/* Caller holds connection.lock. */
static int connect_locked(struct host *h)
{
	int r = h->plugin->ops->connect(h->bridge, h->connection.wanted);
	char why[160];

	if (r == 0)
		return 0;
	snprintf(why, sizeof(why), "the plug-in refuses \"%.80s\": %s", h->connection.wanted, err_text(r));
	h->services.status(h, SIM_BRIDGE_DISCONNECTED, why);
	return r;
}

void host_connect(struct host *h, const char *connection)
{
	int r = -ENOMEM;

	log_debug("connect \"%s\"", connection);
	pthread_mutex_lock(&h->connection.lock);
	if (h->connection.closed) {
		pthread_mutex_unlock(&h->connection.lock);
		return;
	}
	mem_free(h->connection.wanted);
	h->connection.wanted = mem_strdup(connection);
	if (h->connection.wanted)
		r = connect_locked(h);
	pthread_mutex_unlock(&h->connection.lock);
	if (r < 0)
		return;
	host_clock_start(h);
	host_service_start(h);
}

void host_connection_close(struct host *h)
{
	pthread_mutex_lock(&h->connection.lock);
	h->connection.closed = true;
	pthread_mutex_unlock(&h->connection.lock);
	host_disconnect(h);
}

void host_disconnect(struct host *h)
{
	host_flush(h);
	pthread_mutex_lock(&h->connection.lock);
	mem_free(h->connection.wanted);
	h->connection.wanted = NULL;
	host_service_stop(h);
	h->plugin->ops->disconnect(h->bridge);
	pthread_mutex_unlock(&h->connection.lock);
}

/* ---- after a loss ---- */

/* Whether a lane is still inside publish(). While the connection is marked as lost, no lane enters it. */
static bool lanes_inside(struct host *h)
{
	struct host_lane *l;
	bool inside = false;

	pthread_mutex_lock(&h->lanes_lock);
	list_for_each(l, &h->lanes, link)
		inside |= atomic_load(&l->inside);
	pthread_mutex_unlock(&h->lanes_lock);
	return inside;
}

static void schedule(struct host_connection *k, int64_t now_mono_ns)
{
	k->re.due_mono_ns = ns_add(now_mono_ns, k->re.pause_dur_ns);
	k->re.pause_dur_ns = k->re.pause_dur_ns < PAUSE_MAX_DUR_NS / 2 ? 2 * k->re.pause_dur_ns : PAUSE_MAX_DUR_NS;
}

static void try_again(struct host *h, int64_t now_mono_ns)
{
	struct host_connection *k = &h->connection;
	int r = 0;

	log_debug("connecting again");
	pthread_mutex_lock(&k->lock);
	if (k->wanted)
		r = connect_locked(h);
	pthread_mutex_unlock(&k->lock);
	if (r < 0)
		log_warn("reconnecting failed: %s", err_text(r));
	schedule(k, now_mono_ns);
}

/* On the first step after a loss. If the connection had lasted longer than the last pause, pauses start short again. */
static void note_loss(struct host_connection *k, int64_t now_mono_ns)
{
	if (k->re.due_mono_ns)
		return;
	if (now_mono_ns - k->re.up_mono_ns > k->re.pause_dur_ns)
		k->re.pause_dur_ns = PAUSE_MIN_DUR_NS;
	schedule(k, now_mono_ns);
}

static bool wanted(struct host *h)
{
	bool yes;

	pthread_mutex_lock(&h->connection.lock);
	yes = h->connection.wanted != NULL;
	pthread_mutex_unlock(&h->connection.lock);
	return yes;
}

/*
 * Ends the loss. With only_connected, returns false and keeps it if the connection was lost again meanwhile: the next
 * step starts over.
 */
static bool back(struct host *h, bool only_connected, int64_t now_mono_ns)
{
	struct host_connection *k = &h->connection;
	bool yes;

	k->re.due_mono_ns = 0;
	k->re.up_mono_ns = now_mono_ns;
	pthread_mutex_lock(&h->lanes_lock); /* guards status and `lost` */
	yes = !only_connected || atomic_load(&h->status) == SIM_BRIDGE_CONNECTED;
	if (yes)
		atomic_store(&k->lost, false);
	pthread_mutex_unlock(&h->lanes_lock);
	return yes;
}

/* Ends pending service calls of the old connection, and announces services again. */
static void services_replay(struct host *h)
{
	pthread_mutex_lock(&h->connection.lock);
	if (h->connection.wanted) {
		host_service_stop(h);
		host_service_start(h);
	}
	pthread_mutex_unlock(&h->connection.lock);
}

static void replay(struct host *h, int64_t now_mono_ns)
{
	host_topics_replay(h);
	host_inbound_replay(h);
	services_replay(h);
	atomic_fetch_add(&h->connection.replays, 1);
	if (!back(h, true, now_mono_ns))
		return;
	log_info("connected again; channels are open again");
	host_report(h);
}

int64_t host_connection_step(struct host *h, int64_t now_mono_ns)
{
	struct host_connection *k = &h->connection;
	int status;

	if (!atomic_load(&k->lost))
		return INT64_MAX;
	note_loss(k, now_mono_ns);
	status = atomic_load(&h->status);
	if (status == SIM_BRIDGE_CONNECTED) {
		if (lanes_inside(h))
			return LOOK_DUR_NS;
		replay(h, now_mono_ns);
		return 0;
	}
	if (!wanted(h)) { /* simd has asked for a disconnect meanwhile */
		(void)back(h, false, now_mono_ns);
		return INT64_MAX;
	}
	if (now_mono_ns < k->re.due_mono_ns)
		return k->re.due_mono_ns - now_mono_ns;
	if (status == SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED || status == SIM_BRIDGE_DISCONNECTED)
		try_again(h, now_mono_ns);
	else
		k->re.due_mono_ns = ns_add(now_mono_ns, k->re.pause_dur_ns); /* the plug-in is reconnecting by itself */
	return atomic_load(&h->status) == SIM_BRIDGE_CONNECTED ? 0 : k->re.due_mono_ns - now_mono_ns;
}

enum sim_bridge_status host_connection_status(const struct host *h)
{
	enum sim_bridge_status status = (enum sim_bridge_status)atomic_load(&h->status);

	return status == SIM_BRIDGE_CONNECTED && atomic_load(&h->connection.lost) ? SIM_BRIDGE_CONNECTING : status;
}
