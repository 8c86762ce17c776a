/* SPDX-License-Identifier: Apache-2.0 */
/* Objects over time. See track.h. Open addressing over a fixed window: no memory to run out of. */
#include "track.h"

#include <math.h>
#include <string.h>

#define WINDOW 32 /* slots that a key may be in */

void tracks_init(struct tracks *ts)
{
	memset(ts, 0, sizeof(*ts));
	ts->next_id = 1;
}

/* The object's slot; else a free one; else the one unseen for longest. */
static struct track *find(struct tracks *ts, uint64_t key)
{
	struct track *best = NULL;

	for (unsigned i = 0; i < WINDOW; i++) {
		struct track *t = &ts->t[(key + i) % TRACKS_MAX];

		if (t->key == key)
			return t;
		if (!best || (best->key && (!t->key || t->last_sim_ns < best->last_sim_ns)))
			best = t;
	}
	return best;
}

const struct track *tracks_see(struct tracks *ts, uint64_t key, const double vel[2], double yaw, int64_t now_sim_ns)
{
	struct track *t;
	double dt_s;

	key += key == 0;
	t = find(ts, key);
	if (t->key != key || now_sim_ns - t->last_sim_ns > TRACK_FORGET_NS || now_sim_ns < t->last_sim_ns) {
		*t = (struct track){ .key = key,
				     .id = ts->next_id++,
				     .first_sim_ns = now_sim_ns,
				     .last_sim_ns = now_sim_ns,
				     .vel = { vel[0], vel[1] },
				     .yaw = yaw };
		return t;
	}
	dt_s = (double)(now_sim_ns - t->last_sim_ns) / 1e9;
	if (dt_s <= 0)
		return t;
	for (int i = 0; i < 2; i++) {
		t->acc[i] = (vel[i] - t->vel[i]) / dt_s;
		t->vel[i] = vel[i];
	}
	t->yaw_rate = remainder(yaw - t->yaw, 2 * M_PI) / dt_s;
	t->yaw = yaw;
	t->last_sim_ns = now_sim_ns;
	return t;
}
