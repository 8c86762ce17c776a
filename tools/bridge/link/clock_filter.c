/* SPDX-License-Identifier: Apache-2.0 */
/* See clock_filter.h. */
#include "clock_filter.h"

#include <errno.h>

#define LONGEST_NS  (INT64_C(1) << 62)
#define SKEW_EVERY  (CLOCK_TRIPS / 4)   /* measured after so many trips */
#define SKEW_DUR_NS INT64_C(1000000000) /* two trips closer together than this do not tell the skew */
#define SKEW_PART   4                   /* smoothing: a new value counts 1 / SKEW_PART */
#define GUESS_E6    20                  /* assumed error of the measured skew, in ppm */

static bool plausible(const struct clock_trip *t)
{
	return t->sent_mono_ns >= 0 && t->back_mono_ns >= t->sent_mono_ns && t->back_mono_ns <= LONGEST_NS &&
	       t->came_mono_ns >= 0 && t->left_mono_ns >= t->came_mono_ns && t->left_mono_ns <= LONGEST_NS;
}

/* The trip with the least delay in the older (0) or newer (1) half. */
static uint32_t best_of_half(const struct clock_filter *f, uint32_t half)
{
	uint32_t first = f->n + half * CLOCK_TRIPS / 2, best = first % CLOCK_TRIPS;

	for (uint32_t k = first; k < first + CLOCK_TRIPS / 2; k++)
		if (f->trips[k % CLOCK_TRIPS].delay_dur_ns < f->trips[best].delay_dur_ns)
			best = k % CLOCK_TRIPS;
	return best;
}

static void measure_skew(struct clock_filter *f)
{
	uint32_t a = best_of_half(f, 0), b = best_of_half(f, 1);
	int64_t dur_ns = f->trips[b].at_mono_ns - f->trips[a].at_mono_ns, most_e9 = CLOCK_DRIFT_E6 * INT64_C(1000);
	int64_t parted_ns = f->trips[b].ahead_dur_ns - f->trips[a].ahead_dur_ns, skew_e9;

	if (dur_ns < SKEW_DUR_NS)
		return;
	if (parted_ns > dur_ns / 1000000 * CLOCK_DRIFT_E6)
		skew_e9 = most_e9;
	else if (parted_ns < -(dur_ns / 1000000 * CLOCK_DRIFT_E6))
		skew_e9 = -most_e9;
	else
		skew_e9 = parted_ns * 1000000 / (dur_ns / 1000);
	f->skew_e9 = f->skew_known ? f->skew_e9 + (skew_e9 - f->skew_e9) / SKEW_PART : skew_e9;
	f->skew_known = true;
}

int clock_filter_add(struct clock_filter *f, const struct clock_trip *t)
{
	int64_t delay, there, back;
	uint32_t i = f->n % CLOCK_TRIPS;

	if (!plausible(t))
		return -EINVAL;
	delay = (t->back_mono_ns - t->sent_mono_ns) - (t->left_mono_ns - t->came_mono_ns);
	if (delay < 0) /* possible if the other clock runs faster: slightly, by what it gained while answering */
		delay = -delay;
	there = t->came_mono_ns - t->sent_mono_ns;
	back = t->left_mono_ns - t->back_mono_ns;
	f->trips[i].at_mono_ns = t->back_mono_ns;
	f->trips[i].ahead_dur_ns = there / 2 + back / 2 + (there % 2 + back % 2) / 2;
	f->trips[i].delay_dur_ns = delay;
	f->n++;
	if (f->n >= CLOCK_TRIPS && f->n % SKEW_EVERY == 0)
		measure_skew(f);
	return 0;
}

static int64_t age_of(const struct clock_filter *f, uint32_t i, int64_t now_mono_ns)
{
	int64_t age = now_mono_ns - f->trips[i].at_mono_ns;

	return age < 0 ? 0 : age;
}

/* Bound of a trip's error if the clocks drift apart by up to drift_e6 ppm. */
static int64_t error_of(const struct clock_filter *f, uint32_t i, int64_t now_mono_ns, int64_t drift_e6)
{
	int64_t age = age_of(f, i, now_mono_ns);

	return f->trips[i].delay_dur_ns / 2 + 1 + age / 1000000 * drift_e6 + age % 1000000 * drift_e6 / 1000000;
}

static uint32_t best_of(const struct clock_filter *f, int64_t now_mono_ns, int64_t drift_e6)
{
	uint32_t n = f->n < CLOCK_TRIPS ? f->n : CLOCK_TRIPS, best = 0;

	for (uint32_t i = 1; i < n; i++)
		if (error_of(f, i, now_mono_ns, drift_e6) < error_of(f, best, now_mono_ns, drift_e6))
			best = i;
	return best;
}

bool clock_filter_offset(const struct clock_filter *f, int64_t now_mono_ns, struct clock_offset *ret)
{
	uint32_t best, guess;
	int64_t ahead, error, off;

	if (!f->n)
		return false;
	best = best_of(f, now_mono_ns, CLOCK_DRIFT_E6);
	ahead = f->trips[best].ahead_dur_ns;
	error = error_of(f, best, now_mono_ns, CLOCK_DRIFT_E6);
	*ret = (struct clock_offset){ ahead, error, f->trips[best].delay_dur_ns };
	if (!f->skew_known)
		return true;
	guess = best_of(f, now_mono_ns, GUESS_E6);
	off = f->trips[guess].ahead_dur_ns + age_of(f, guess, now_mono_ns) / 1000000 * f->skew_e9 / 1000 - ahead;
	off = off > error ? error : off < -error ? -error : off; /* limit the estimate to the bound */
	ret->ahead_dur_ns += off;
	ret->error_dur_ns += off < 0 ? -off : off;
	return true;
}
