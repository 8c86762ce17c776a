/* SPDX-License-Identifier: Apache-2.0 */
/* Objects over time. See track.h. Motion by open addressing over a fixed window; ids grow with the run. */
#include "track.h"

#include <math.h>
#include <string.h>

#define WINDOW 32 /* slots in which a key may be */

void tracks_init(struct tracks *ts)
{
	memset(ts, 0, sizeof(*ts));
}

void tracks_finish(struct tracks *ts)
{
	ids_finish(&ts->ids);
}

#define UNNUMBERED (UINT32_C(1) << 31)

/* Without memory the id is derived from the key, in the upper range. */
static void begin(struct tracks *ts, struct track *t, uint64_t key, int64_t now_sim_ns)
{
	const struct ids_entry *e;
	int r = ids_see(&ts->ids, key, now_sim_ns, &e);

	*t = (struct track){ .key = key,
			     .id = r < 0 ? (uint32_t)key | UNNUMBERED : e->id,
			     .first_sim_ns = r < 0 ? now_sim_ns : e->first_sim_ns,
			     .last_sim_ns = now_sim_ns };
}

/* Keeps an object that is in view from being forgotten by `ids`. */
static void remember(struct tracks *ts, const struct track *t, int64_t now_sim_ns)
{
	const struct ids_entry *e;

	if (!(t->id & UNNUMBERED))
		(void)!ids_see(&ts->ids, t->key, now_sim_ns, &e);
}

/* Returns the object's slot; else a free one; else the one unseen for longest. */
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
		begin(ts, t, key, now_sim_ns);
		t->vel[0] = vel[0];
		t->vel[1] = vel[1];
		t->yaw = yaw;
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
	remember(ts, t, now_sim_ns);
	return t;
}
