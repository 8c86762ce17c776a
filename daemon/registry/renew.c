/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribers in place of damaged ones; contract in renew.h. Thread: simd-main. */
#include "renew.h"

#include "channel.h"
#include "err.h"
#include "event.h"
#include "log.h"
#include "simd.h"
#include "timeutil.h"

LOG_TOPIC("channel");

#define PAUSE_DUR_NS (1 * NS_PER_S)   /* between two renewals of a channel */
#define STEP_DUR_NS  (10 * NS_PER_MS) /* each creation waits for RouDi, so simd-main makes only a few at once */
#define STEP_MAX     8

static void renew(struct channel *ch)
{
	int r = channel_renew(ch);

	ch->renewed_mono_ns = exec_now(ch->s->x);
	ch->renew_due = r == -EAGAIN;
	if (ch->renew_due)
		return;
	if (ch->n_subscribers)
		event_renew(ch->s, ch->name);
	if (r < 0)
		log_warn("%s; its feed stays as it is: a publisher that was killed may have made its queue shorter",
			 err_why());
	else
		log_debug("channel %s: a publisher has died, its subscribers are replaced", ch->name);
}

static void arm(struct simd *s, int64_t at_mono_ns)
{
	if (!exec_timer_armed(&s->renew_timer))
		exec_timer_at(&s->renew_timer, at_mono_ns);
}

static void on_timer(void *arg)
{
	struct simd *s = (struct simd *)arg;
	int64_t now = exec_now(s->x), next = INT64_MAX;
	struct channel *ch;
	unsigned n = 0;

	if (!s->dataplane.ready || s->stopping)
		return; /* the next generation gets new ones */
	list_for_each(ch, &s->channels, link) {
		int64_t due = ch->renewed_mono_ns ? ch->renewed_mono_ns + PAUSE_DUR_NS : now;

		if (!ch->renew_due)
			continue;
		if (due <= now && n++ < STEP_MAX) {
			renew(ch);
			if (!ch->renew_due)
				continue;
			due = exec_now(s->x) + PAUSE_DUR_NS;
		}
		due = due > now ? due : now + STEP_DUR_NS;
		next = due < next ? due : next;
	}
	if (next != INT64_MAX)
		arm(s, next);
}

void renew_channels(struct simd *s, const uint32_t *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct channel *ch = ids[i] < WIRE_CHANNELS_MAX ? s->by_id[ids[i]] : NULL;

		if (ch)
			ch->renew_due = true;
	}
	if (n)
		exec_timer_at(&s->renew_timer, exec_now(s->x));
}

void renew_init(struct simd *s)
{
	exec_timer_init(&s->renew_timer, s->x, on_timer, s);
}

void renew_finish(struct simd *s)
{
	exec_timer_cancel(&s->renew_timer);
}
