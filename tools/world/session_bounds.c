/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits what one client may send, have passed on to others, and let wait: its share. Counted in frames; a long frame
 * counts for each 4 KiB. The share grows with ticks as well as with wall time, as a world without a pace may be much
 * faster; a client that was stopped for some seconds has saved enough for what it then sends at once. Thread: that of
 * the ticks.
 */
#include "world_private.h"

#define NS_PER_S     INT64_C(1000000000)
#define SHARE_DUR_NS (NS_PER_S / 100) /* wall time in which the share grows by that of one tick */
#define SHARE_SAVED  1000             /* in shares of one tick: 10 s */
#define SHARE_EACH   4                /* for each object it owns */
#define SHARE_OTHER  1024
#define SHARE_BYTES  4096u

#define ASKS_PER_S      1000u
#define AGAIN_ALL_PER_S 1u
#define AGAIN_ALL_BURST 4u
#define AGAIN_PER_S     100u
#define AGAIN_BURST     1000u
#define PARTIAL_PER_S   1024 /* bytes */

static int64_t share_of_tick(const struct session *s)
{
	return SHARE_OTHER + (s->m ? SHARE_EACH * (int64_t)store_owned(s->w->store, s->m->connection) : 0);
}

static void grow(struct session *s, int64_t by, int64_t of_tick)
{
	s->share = s->share + by < SHARE_SAVED * of_tick ? s->share + by : SHARE_SAVED * of_tick;
}

void session_share_init(struct session *s, int64_t now_mono_ns)
{
	s->share = SHARE_SAVED * share_of_tick(s);
	s->share_mono_ns = now_mono_ns;
	s->partial_mono_ns = INT64_MAX;
}

void session_share_tick(struct session *s)
{
	grow(s, share_of_tick(s), share_of_tick(s));
}

void session_share_time(struct session *s, int64_t now_mono_ns)
{
	int64_t dur = now_mono_ns - s->share_mono_ns, of_tick = share_of_tick(s), by;

	dur = dur < SHARE_SAVED * SHARE_DUR_NS ? dur : SHARE_SAVED * SHARE_DUR_NS;
	by = dur > 0 ? of_tick * dur / SHARE_DUR_NS : 0;
	if (!by) /* keep the time: it is too short to count */
		return;
	s->share_mono_ns = now_mono_ns;
	grow(s, by, of_tick);
}

bool session_pays(struct session *s, size_t len)
{
	s->share -= 1 + (int64_t)(len / SHARE_BYTES);
	if (s->share >= 0)
		return true;
	s->w->floods++;
	session_tell_end(s, SIM__WORLD__BYE__REASON__FLOOD,
			 "it sends more than its share of %lld frames in a tick, or in 10 ms",
			 (long long)share_of_tick(s));
	return false;
}

/* ---- before Hello ---- */

void session_not_silent(struct session *s)
{
	s->w->n_silent -= s->hello_mono_ns != INT64_MAX;
	s->hello_mono_ns = INT64_MAX;
}

/*
 * A client that wants to take part sends its Hello soon, so the one silent longest is disconnected. A turn may accept
 * sessions_max connections before any of them is read, and must not disconnect legitimate ones for that.
 */
void world_bound_silent(struct world *w)
{
	struct session *s;

	if (w->n_silent <= w->o.sessions_max)
		return;
	list_for_each(s, &w->sessions, link)
		if (s->hello_mono_ns != INT64_MAX) {
			session_tell_end(s, SIM__WORLD__BYE__REASON__REFUSED,
					 "%u others have connected since, and it has not sent a Hello",
					 w->o.sessions_max);
			return;
		}
}

/* ---- traffic to others ---- */

bool session_may_ask(struct session *s, int64_t now_mono_ns)
{
	uint32_t burst = s->w->o.store.objects_each_max;

	burst = burst < ASKS_PER_S ? ASKS_PER_S : burst > 1000000 ? 1000000 : burst;
	if (bucket_take(&s->asks, ASKS_PER_S, burst, now_mono_ns))
		return true;
	s->info.refused++;
	return false;
}

bool session_pass_on(struct session *to, enum frame_code code, const ProtobufCMessage *m)
{
	size_t queued = to->out.len - to->sent;

	if (queued > to->w->o.queue_soft || queued > to->w->o.queue_hard) {
		to->w->withheld++;
		return false;
	}
	session_put(to, code, m);
	return true;
}

void session_answer(struct session *s, enum frame_code code, const ProtobufCMessage *m)
{
	session_put(s, code, m);
	if (s->out.len - s->sent > s->w->o.queue_hard)
		session_tell_end(s, SIM__WORLD__BYE__REASON__SLOW, "it does not read its data: %zu bytes wait for it",
				 s->out.len - s->sent);
}

/* ---- incomplete frames ---- */

void session_partial(struct session *s, bool whole, int64_t now_mono_ns)
{
	if (!frame_reader_is_amid(&s->in))
		s->partial_mono_ns = INT64_MAX;
	else if (whole || s->partial_mono_ns == INT64_MAX)
		s->partial_mono_ns = now_mono_ns;
}

/*
 * A client may take as long to send a frame as to read its queue, and longer if the frame continues at 1 KiB a second:
 * the ladder handles a client that is stopped, or whose network is down for some seconds.
 */
int64_t session_partial_until(const struct session *s)
{
	size_t have = s->in.end - s->in.begin;

	if (s->partial_mono_ns == INT64_MAX || s->ends)
		return INT64_MAX;
	return s->partial_mono_ns + s->w->o.queue_dur_ns + (int64_t)have * (NS_PER_S / PARTIAL_PER_S);
}

/* ---- resending ---- */

void session_again(struct session *s, const struct section_key *key, int64_t now_mono_ns)
{
	if (key && bucket_take(&s->again_one, AGAIN_PER_S, AGAIN_BURST, now_mono_ns))
		view_lost(&s->view, *key);
	else
		s->again_all = true;
}

void session_again_due(struct session *s, int64_t now_mono_ns)
{
	if (!s->again_all || !bucket_take(&s->again, AGAIN_ALL_PER_S, AGAIN_ALL_BURST, now_mono_ns))
		return;
	s->again_all = false;
	view_lost_all(&s->view);
}
