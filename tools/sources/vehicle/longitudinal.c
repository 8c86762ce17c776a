/* SPDX-License-Identifier: Apache-2.0 */
/* Speed from pedals. See longitudinal.h. */
#include "longitudinal.h"

#include <math.h>

#define PIECES_MAX 8  /* per move: the pedal changes its sign once, the speed stops once and reaches its limit once */
#define HALVINGS   60 /* exact to the last bit of a double */

/* A stretch in which the acceleration is sign * pedal + extra. */
struct stretch {
	const struct longitudinal_params *p;
	double wanted, sign, extra;
};

static struct lag_motion pedal_after(const struct stretch *w, const struct longitudinal *s, double t)
{
	return lag_move(&w->p->pedal, s->pedal, w->wanted, t);
}

static double speed_after(const struct stretch *w, const struct longitudinal *s, double t)
{
	return s->speed + w->sign * pedal_after(w, s, t).integral + w->extra * t;
}

/* How the pedal acts now. turning: the side of 0 on which it is, or will be next. */
static struct stretch stretch_of(const struct longitudinal *s, const struct longitudinal_params *p, double wanted,
				 int direction, double hold)
{
	double side = s->pedal != 0 ? s->pedal : wanted;
	double way = s->speed > 0 ? 1 : s->speed < 0 ? -1 : 0;
	struct stretch w = { .p = p, .wanted = wanted, .extra = -way * hold };

	if (hold > 0)
		w.sign = side < 0 ? way : 0;
	else if (!p->geared)
		w.sign = 1;
	else
		w.sign = side > 0 ? direction : way;
	return w;
}

/* Only brakes act: the speed ends at 0 and does not change its sign. */
static bool braking(const struct stretch *w, const struct longitudinal *s, int direction)
{
	double side = s->pedal != 0 ? s->pedal : w->wanted;

	return w->extra != 0 || (w->p->geared && (side < 0 || direction == 0));
}

/* The first time up to t at which the speed is `level`; the speed is monotonic within a stretch. */
static double when_speed(const struct stretch *w, const struct longitudinal *s, double level, double t)
{
	double lo = 0, hi = t;
	bool below = s->speed < level;

	for (int i = 0; i < HALVINGS && lo < hi; i++) {
		double mid = lo + (hi - lo) / 2;

		if ((speed_after(w, s, mid) < level) == below)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

static double move_for(const struct stretch *w, struct longitudinal *s, double t)
{
	struct lag_motion m = pedal_after(w, s, t);
	double way = s->speed * t + w->sign * m.second + w->extra * t * t / 2;

	s->speed += w->sign * m.integral + w->extra * t;
	s->pedal = m.x;
	s->accel = w->sign * m.x + w->extra;
	return way;
}

/* The speed is at its limit: it stays constant; only the pedal moves. */
static double coast(const struct stretch *w, struct longitudinal *s, double t)
{
	double way = s->speed * t;

	s->pedal = pedal_after(w, s, t).x;
	s->accel = 0;
	return way;
}

/* Whether the pedals push beyond the limit. */
static bool limited(const struct stretch *w, const struct longitudinal *s)
{
	double side = s->pedal != 0 ? s->pedal : w->wanted;

	return fabs(s->speed) >= w->p->speed_lim && w->sign * side * s->speed > 0;
}

/* Moves through one stretch of at most t; adds to *ret_way. Returns its duration. */
static double piece(struct longitudinal *s, const struct longitudinal_params *p, double wanted, int direction,
		    double hold, double t, double *ret_way)
{
	struct stretch w = stretch_of(s, p, wanted, direction, hold);
	double turn = s->pedal * wanted < 0 ? lag_reaches(&p->pedal, s->pedal, wanted, 0) : INFINITY, after;
	bool turns = turn <= t;

	if (turns)
		t = turn;
	if (limited(&w, s)) {
		*ret_way += coast(&w, s, t);
	} else {
		after = speed_after(&w, s, t);
		if (braking(&w, s, direction) && s->speed * after < 0) {
			t = when_speed(&w, s, 0, t);
			*ret_way += move_for(&w, s, t);
			s->speed = 0;
			turns = false;
		} else if (fabs(after) > p->speed_lim && fabs(after) > fabs(s->speed)) {
			t = when_speed(&w, s, copysign(p->speed_lim, after), t);
			*ret_way += move_for(&w, s, t);
			s->speed = copysign(p->speed_lim, after);
			turns = false;
		} else {
			*ret_way += move_for(&w, s, t);
		}
	}
	if (turns)
		s->pedal = 0;
	return t;
}

double longitudinal_move(struct longitudinal *s, const struct longitudinal_params *p, double wanted, int direction,
			 double hold, double dt_s)
{
	struct stretch end;
	double way = 0;

	for (int i = 0; i < PIECES_MAX && dt_s > 0; i++)
		dt_s -= piece(s, p, wanted, direction, hold, dt_s, &way);
	end = stretch_of(s, p, wanted, direction, hold);
	s->accel = limited(&end, s) ? 0 : end.sign * s->pedal + end.extra;
	return way;
}
