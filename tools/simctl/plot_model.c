/* SPDX-License-Identifier: Apache-2.0 */
/* See plot_model.h. */
#include "plot_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAST    1e-300 /* values closer to 0 count as 0 */
#define GREATEST 1e307  /* keeps the difference of two values finite */

int plot_model_series(struct plot_model *m, const char *name, const char *unit)
{
	struct plot_series *s = &m->series[m->n];

	if (m->n == PLOT_SERIES_MAX)
		return -E2BIG;
	*s = (struct plot_series){ .v = calloc(PLOT_SAMPLES, sizeof(*s->v)) };
	if (!s->v)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->unit, sizeof(s->unit), "%s", unit);
	m->n++;
	return 0;
}

void plot_model_finish(struct plot_model *m)
{
	for (unsigned i = 0; i < m->n; i++)
		free(m->series[i].v);
	m->n = 0;
}

/* ---- samples ---- */

static void jump(struct plot_model *m, int64_t to_sim_ns)
{
	for (unsigned i = 0; i < m->n; i++)
		m->series[i].first = m->series[i].n = 0;
	m->newest_sim_ns = to_sim_ns;
	m->jump_sim_ns = to_sim_ns;
	m->jumped = true;
	m->held = false;
}

void plot_model_clock(struct plot_model *m, uint32_t generation, int64_t now_sim_ns)
{
	if (m->known && generation != m->generation)
		jump(m, now_sim_ns);
	else if (!m->known)
		m->newest_sim_ns = now_sim_ns;
	m->known = true;
	m->generation = generation;
	m->now_sim_ns = now_sim_ns;
}

void plot_model_add(struct plot_model *m, unsigned series, uint32_t generation, int64_t stamp_sim_ns, double value)
{
	struct plot_series *s = &m->series[series];

	if (!m->known || generation != m->generation)
		return;
	s->v[(s->first + s->n) % PLOT_SAMPLES] = (struct plot_sample){ stamp_sim_ns, isfinite(value) ? value : NAN };
	if (s->n < PLOT_SAMPLES)
		s->n++;
	else
		s->first = (s->first + 1) % PLOT_SAMPLES;
	if (stamp_sim_ns > m->newest_sim_ns)
		m->newest_sim_ns = stamp_sim_ns;
}

void plot_model_hold(struct plot_model *m, bool held)
{
	m->held_sim_ns = plot_model_end(m);
	m->held = held;
}

void plot_model_zoom(struct plot_model *m, bool longer)
{
	int64_t dur = longer ? plot_nice_ns(m->window_dur_ns + 1) : plot_nice_ns((m->window_dur_ns * 2 + 4) / 5);

	/* from 5 to 2, from 2 to 1, and from 10 to 4, which is rounded up to 5 */
	m->window_dur_ns = dur < PLOT_WINDOW_MIN ? PLOT_WINDOW_MIN : dur > PLOT_WINDOW_MAX ? PLOT_WINDOW_MAX : dur;
}

/* ---- window ---- */

int64_t plot_model_end(const struct plot_model *m)
{
	if (m->held)
		return m->held_sim_ns;
	return m->newest_sim_ns > m->now_sim_ns ? m->newest_sim_ns : m->now_sim_ns;
}

const struct plot_sample *plot_series_at(const struct plot_series *s, uint32_t i)
{
	return &s->v[(s->first + i) % PLOT_SAMPLES];
}

static bool in_window(const struct plot_model *m, const struct plot_sample *p)
{
	const int64_t end = plot_model_end(m);

	return p->stamp_sim_ns <= end && end - p->stamp_sim_ns <= m->window_dur_ns;
}

struct plot_summary plot_model_summary(const struct plot_model *m, unsigned series)
{
	const struct plot_series *s = &m->series[series];
	struct plot_summary sum = { .last = NAN };

	for (uint32_t i = 0; i < s->n; i++) {
		const struct plot_sample *p = plot_series_at(s, i);

		if (!in_window(m, p))
			continue;
		sum.last = p->value;
		if (isnan(p->value))
			continue;
		sum.min = !sum.n || p->value < sum.min ? p->value : sum.min;
		sum.max = !sum.n || p->value > sum.max ? p->value : sum.max;
		sum.n++;
	}
	return sum;
}

/* ---- axes ---- */

double plot_nice(double v)
{
	static const double steps[] = { 1, 2, 5 };
	const double power = pow(10, floor(log10(v)));

	for (unsigned i = 0; i < 3; i++)
		if (steps[i] * power >= v * (1 - 1e-9))
			return steps[i] * power;
	return 10 * power;
}

int64_t plot_nice_ns(int64_t dur_ns)
{
	int64_t power = 1;

	while (power <= INT64_MAX / 10 && power * 10 <= dur_ns)
		power *= 10;
	if (power > INT64_MAX / 10)
		return power;
	return power >= dur_ns ? power : 2 * power >= dur_ns ? 2 * power : 5 * power >= dur_ns ? 5 * power : 10 * power;
}

static int places_of(double low, double high, double step)
{
	const double most = fabs(low) > fabs(high) ? fabs(low) : fabs(high);

	if (most >= 1e7 || step < 1e-5)
		return -1;
	return step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
}

static double bounded(double v)
{
	return v > GREATEST ? GREATEST : v < -GREATEST ? -GREATEST : v;
}

/* Range of all values in the window; false: no values. */
static bool extent(const struct plot_model *m, double *ret_low, double *ret_high)
{
	bool any = false;

	for (unsigned i = 0; i < m->n; i++) {
		const struct plot_summary s = plot_model_summary(m, i);

		if (!s.n)
			continue;
		*ret_low = !any || s.min < *ret_low ? s.min : *ret_low;
		*ret_high = !any || s.max > *ret_high ? s.max : *ret_high;
		any = true;
	}
	return any;
}

struct plot_axis plot_model_axis(const struct plot_model *m, unsigned ticks)
{
	struct plot_axis a = { 0, 1, 0, 0 };

	if (extent(m, &a.low, &a.high)) {
		a.low = bounded(a.low);
		a.high = bounded(a.high);
		if (a.high - a.low <= fabs(a.high) * 1e-12 + LEAST) { /* a constant value is centred */
			double half = fabs(a.high) > LEAST ? fabs(a.high) / 10 : 1;

			a.low = bounded(a.low - half);
			a.high = bounded(a.high + half);
		}
	}
	a.step = plot_nice((a.high - a.low) / (ticks > 2 ? ticks - 1 : 1));
	a.low = floor(a.low / a.step + 1e-9) * a.step;
	a.high = ceil(a.high / a.step - 1e-9) * a.step;
	a.places = places_of(a.low, a.high, a.step);
	return a;
}
