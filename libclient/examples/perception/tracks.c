/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest neighbours and an alpha-beta filter. See tracks.h. */
#include "tracks.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX (OBSTACLES_MAX * OBSTACLES_MAX)
/*
 * sightings after which a track's velocity is reliable: a jump then means that another part of the object is seen, and
 * while it is not seen the track moves on
 */
#define SETTLED 5
#define GAP_S   1.0 /* after a longer gap without obstacles all tracks are dropped */

struct one {
	uint32_t id, hits, missed;
	double x, y, vx, vy; /* map */
	struct obstacle box; /* size and yaw in the map, when last seen */
	int64_t first_sim_ns;
};

struct pair {
	double distance;
	uint16_t track, obstacle;
};

struct tracks {
	struct tracks_params p;
	struct one all[OBSTACLES_MAX]; /* by id */
	size_t n;
	uint32_t last_id;
	int64_t last_sim_ns; /* of the last obstacles */
	bool begun;
	struct pair pairs[PAIRS_MAX];
	double seen_x[OBSTACLES_MAX], seen_y[OBSTACLES_MAX]; /* the obstacles' positions in the map */
	bool seen[OBSTACLES_MAX], taken[OBSTACLES_MAX];      /* tracks, obstacles */
};

struct pose {
	double x, y, yaw, cos_yaw, sin_yaw;
};

struct tracks_params tracks_params_default(void)
{
	return (struct tracks_params){
		.gate_m = 2, .alpha = 0.6, .beta = 0.3, .max_accel = 8, .still_m = 10, .confirm = 2, .misses = 5
	};
}

int tracks_create(const struct tracks_params *p, struct tracks **ret, const char **ret_why)
{
	struct tracks *t;

	*ret_why = NULL;
	if (!(p->gate_m > 0 && p->gate_m <= 50))
		*ret_why = "gate_m: above 0, at most 50";
	else if (!(p->alpha > 0 && p->alpha <= 1 && p->beta >= 0 && p->beta <= 1))
		*ret_why = "alpha: above 0, at most 1; beta: 0 to 1";
	else if (!(p->max_accel > 0 && p->still_m > 0))
		*ret_why = "max_accel, still_m: above 0";
	else if (!p->confirm)
		*ret_why = "confirm: 1 or more";
	if (*ret_why)
		return -EINVAL;
	*ret_why = "no memory";
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->p = *p;
	*ret = t;
	return 0;
}

void tracks_destroy(struct tracks *t)
{
	free(t);
}

/* ---- positions ---- */

/* Stamps come from others: their difference may overflow an int64_t. */
static double seconds(int64_t from_sim_ns, int64_t to_sim_ns)
{
	return ((double)to_sim_ns - (double)from_sim_ns) / 1e9;
}

/* The vehicle's pose at another moment: straight on, with constant turn rate. */
static struct pose pose_at(const struct tracks_motion *m, int64_t stamp_sim_ns)
{
	double dt = seconds(m->stamp_sim_ns, stamp_sim_ns);
	struct pose p;

	dt = dt > GAP_S ? GAP_S : dt < -GAP_S ? -GAP_S : dt;
	p.x = m->x + m->vx * dt;
	p.y = m->y + m->vy * dt;
	p.yaw = m->yaw + m->yaw_rate * dt;
	p.cos_yaw = cos(p.yaw);
	p.sin_yaw = sin(p.yaw);
	return p;
}

static void place(struct tracks *t, const struct pose *at, const struct obstacle *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->seen_x[i] = at->x + at->cos_yaw * o[i].x - at->sin_yaw * o[i].y;
		t->seen_y[i] = at->y + at->sin_yaw * o[i].x + at->cos_yaw * o[i].y;
		t->taken[i] = false;
	}
}

/* ---- association ---- */

static int nearer(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;

	if (p->distance < q->distance || p->distance > q->distance)
		return p->distance < q->distance ? -1 : 1;
	return p->track != q->track ? (int)p->track - (int)q->track : (int)p->obstacle - (int)q->obstacle;
}

static size_t find_pairs(struct tracks *t, size_t n)
{
	size_t pairs = 0;

	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < n; k++) {
			double d = hypot(t->seen_x[k] - t->all[i].x, t->seen_y[k] - t->all[i].y);

			if (d <= t->p.gate_m)
				t->pairs[pairs++] = (struct pair){ d, (uint16_t)i, (uint16_t)k };
		}
	}
	qsort(t->pairs, pairs, sizeof(*t->pairs), nearer);
	return pairs;
}

/* ---- the filter ---- */

static void expect(struct tracks *t, double dt)
{
	for (size_t i = 0; i < t->n; i++) {
		t->all[i].x += t->all[i].vx * dt;
		t->all[i].y += t->all[i].vy * dt;
		t->seen[i] = false;
	}
}

static void correct(struct tracks *t, struct one *one, size_t k, const struct obstacle *o, const struct pose *at,
		    double dt)
{
	double dx = t->seen_x[k] - one->x, dy = t->seen_y[k] - one->y;

	one->x += t->p.alpha * dx;
	one->y += t->p.alpha * dy;
	if (fmax(o->length, o->width) > t->p.still_m) {
		one->vx = one->vy = 0;
	} else if (dt > 0) {
		double more_x = t->p.beta * dx / dt, more_y = t->p.beta * dy / dt, more = hypot(more_x, more_y);
		double most = one->hits < SETTLED ? more : fmin(more, t->p.max_accel * dt);

		one->vx += more > 0 ? more_x * most / more : 0;
		one->vy += more > 0 ? more_y * most / more : 0;
	}
	one->box = *o;
	one->box.yaw += at->yaw;
	one->hits++;
	one->missed = 0;
}

static void match(struct tracks *t, const struct obstacle *o, size_t n, const struct pose *at, double dt)
{
	size_t pairs = find_pairs(t, n);

	for (size_t i = 0; i < pairs; i++) {
		const struct pair *p = &t->pairs[i];

		if (t->seen[p->track] || t->taken[p->obstacle])
			continue;
		t->seen[p->track] = t->taken[p->obstacle] = true;
		correct(t, &t->all[p->track], p->obstacle, &o[p->obstacle], at, dt);
	}
}

/*
 * Removes tracks with more than `misses` misses in a row, those with fewer than SETTLED sightings at the first miss.
 * Keeps the order.
 */
static void forget(struct tracks *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		struct one *one = &t->all[i];

		if (!t->seen[i]) {
			one->missed++;
			one->box.points = 0;
		}
		if (one->missed > t->p.misses || (one->missed && one->hits < SETTLED))
			continue;
		t->all[n++] = *one;
	}
	t->n = n;
}

static void begin_tracks(struct tracks *t, const struct obstacle *o, size_t n, const struct pose *at,
			 int64_t stamp_sim_ns)
{
	for (size_t k = 0; k < n && t->n < OBSTACLES_MAX; k++) {
		struct one *one = &t->all[t->n];

		if (t->taken[k])
			continue;
		*one = (struct one){ .id = ++t->last_id,
				     .hits = 1,
				     .x = t->seen_x[k],
				     .y = t->seen_y[k],
				     .box = o[k],
				     .first_sim_ns = stamp_sim_ns };
		one->box.yaw += at->yaw;
		t->n++;
	}
}

static struct track show(const struct tracks *t, const struct one *one, const struct pose *at, int64_t stamp_sim_ns)
{
	double dx = one->x - at->x, dy = one->y - at->y;
	struct track r = { .id = one->id,
			   .box = one->box,
			   .map_x = one->x,
			   .map_y = one->y,
			   .map_vx = one->vx,
			   .map_vy = one->vy,
			   .heading = remainder(one->box.yaw, 2 * M_PI),
			   .vx = at->cos_yaw * one->vx + at->sin_yaw * one->vy,
			   .vy = at->cos_yaw * one->vy - at->sin_yaw * one->vx,
			   .age_dur_ns = stamp_sim_ns - one->first_sim_ns,
			   .score = 1 - (double)one->missed / (t->p.misses + 1) };

	r.box.x = at->cos_yaw * dx + at->sin_yaw * dy;
	r.box.y = at->cos_yaw * dy - at->sin_yaw * dx;
	r.box.yaw = remainder(one->box.yaw - at->yaw, 2 * M_PI);
	return r;
}

size_t tracks_update(struct tracks *t, const struct tracks_motion *ego, int64_t stamp_sim_ns, const struct obstacle *o,
		     size_t n, struct track *ret)
{
	struct pose at = pose_at(ego, stamp_sim_ns);
	double dt = seconds(t->last_sim_ns, stamp_sim_ns);
	size_t shown = 0;

	if (n > OBSTACLES_MAX)
		n = OBSTACLES_MAX;
	if (t->begun && stamp_sim_ns < t->last_sim_ns)
		t->last_id = 0;
	if (!t->begun || stamp_sim_ns < t->last_sim_ns || dt > GAP_S)
		t->n = 0;
	expect(t, dt);
	place(t, &at, o, n);
	match(t, o, n, &at, dt);
	forget(t);
	begin_tracks(t, o, n, &at, stamp_sim_ns);
	t->begun = true;
	t->last_sim_ns = stamp_sim_ns;
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].hits >= t->p.confirm)
			ret[shown++] = show(t, &t->all[i], &at, stamp_sim_ns);
	return shown;
}
