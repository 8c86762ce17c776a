/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of the clock thread, see clock_ticks.h. Thread: the owner's. */
#include "clock_ticks.h"

#include "timeutil.h"

void clock_ticks_init(struct clock_ticks *t, int64_t start_mono_ns, uint32_t rate_hz, int64_t lead_max_dur_ns)
{
	int64_t quarter_dur_ns = NS_PER_S / rate_hz / 4;

	*t = (struct clock_ticks){
		.start_mono_ns = start_mono_ns,
		.rate_hz = rate_hz,
		.next = 1,
		.lead_max_dur_ns = lead_max_dur_ns < quarter_dur_ns ? lead_max_dur_ns : quarter_dur_ns,
	};
}

int64_t clock_ticks_deadline(const struct clock_ticks *t)
{
	/* split into whole seconds, so that no product exceeds 64 bits */
	return t->start_mono_ns + (int64_t)(t->next / t->rate_hz) * NS_PER_S +
	       (int64_t)(t->next % t->rate_hz) * NS_PER_S / t->rate_hz;
}

int64_t clock_ticks_wake_at(const struct clock_ticks *t)
{
	return clock_ticks_deadline(t) - t->lead_dur_ns;
}

/*
 * Estimates a quantile without storing samples: 3 parts up if a sleep ended later than the lead, 1 part down if
 * earlier, which settles where three of four sleeps end in time. The part grows with the lead, so learning is fast and
 * stable.
 */
void clock_ticks_woke(struct clock_ticks *t, int64_t wanted_mono_ns, int64_t now_mono_ns)
{
	int64_t part_dur_ns = t->lead_dur_ns / 256 + 20;

	if (!t->lead_max_dur_ns)
		return;
	t->lead_dur_ns += now_mono_ns - wanted_mono_ns > t->lead_dur_ns ? 3 * part_dur_ns : -part_dur_ns;
	if (t->lead_dur_ns < 0)
		t->lead_dur_ns = 0;
	if (t->lead_dur_ns > t->lead_max_dur_ns)
		t->lead_dur_ns = t->lead_max_dur_ns;
}

bool clock_ticks_take(struct clock_ticks *t, int64_t now_mono_ns, int64_t *ret_late_dur_ns)
{
	int64_t deadline_mono_ns = clock_ticks_deadline(t);
	uint64_t after;

	if (now_mono_ns < deadline_mono_ns)
		return false;
	/* floor(k x 1e9 / hz) <= d  is  k < (d + 1) x hz / 1e9: the first k for which that is false */
	after = (uint64_t)(((int128)(now_mono_ns - t->start_mono_ns + 1) * t->rate_hz + NS_PER_S - 1) / NS_PER_S);
	t->missed += after - t->next - 1;
	t->next = after;
	*ret_late_dur_ns = now_mono_ns - deadline_mono_ns;
	return true;
}
