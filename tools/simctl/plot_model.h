/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `plot` shows: the last samples of some fields, the stretch of simulated time that is looked at, and axes that suit it. Draws nothing
 * and asks nobody. Thread: the owner's.
 */
#ifndef SIMCTL_PLOT_MODEL_H
#define SIMCTL_PLOT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define PLOT_SERIES_MAX 6
#define PLOT_SAMPLES    65536u /* kept of each series; of more the oldest go */
#define PLOT_WINDOW_MIN INT64_C(1000000)
#define PLOT_WINDOW_MAX INT64_C(3600000000000)

struct plot_sample {
	int64_t stamp_sim_ns;
	double value; /* NaN: none, a gap */
};

struct plot_series {
	char name[192], unit[32]; /* "": none */
	struct plot_sample *v;    /* ring of PLOT_SAMPLES */
	uint32_t first, n;
};

struct plot_model {
	struct plot_series series[PLOT_SERIES_MAX];
	unsigned n;
	int64_t window_dur_ns;
	int64_t now_sim_ns, newest_sim_ns; /* of the clock, of the samples */
	uint32_t generation;               /* of the clock */
	bool known;                        /* ... it has been told */
	bool jumped;                       /* it has changed since */
	int64_t jump_sim_ns;               /* to here */
	bool held;                         /* the picture stands still, at held_sim_ns; samples are taken in */
	int64_t held_sim_ns;
};

/* 0 or -ENOMEM, -E2BIG: there are PLOT_SERIES_MAX. name and unit: copied, cut to their room. */
int plot_model_series(struct plot_model *m, const char *name, const char *unit);
void plot_model_finish(struct plot_model *m);

/* What time it is. Another generation: all samples go, and the jump is remembered; the picture stands still no more. */
void plot_model_clock(struct plot_model *m, uint32_t generation, int64_t now_sim_ns);
/* A sample of a message of that generation; of any but the clock's it is left out. What is not finite is a gap. */
void plot_model_add(struct plot_model *m, unsigned series, uint32_t generation, int64_t stamp_sim_ns, double value);
void plot_model_hold(struct plot_model *m, bool held);
/* The next longer window of 1, 2, 5, 10, ..., or the next shorter one. */
void plot_model_zoom(struct plot_model *m, bool longer);

/* The right edge: the clock's time, or a stamp that is ahead of it; where the picture stands still, what that was. */
int64_t plot_model_end(const struct plot_model *m);
/* The i-th oldest. */
const struct plot_sample *plot_series_at(const struct plot_series *s, uint32_t i);

struct plot_summary { /* of what lies in the window; n 0: nothing does */
	uint32_t n;
	double last, min, max; /* last: NaN where the newest sample is none */
};

struct plot_summary plot_model_summary(const struct plot_model *m, unsigned series);

struct plot_axis {
	double low, high, step; /* both ends are ticks; high > low */
	int places;             /* behind the point; -1: too large or too small for that */
};

/* For all series together, with so many ticks at most, but at least both ends. Where there is nothing: 0 to 1. */
struct plot_axis plot_model_axis(const struct plot_model *m, unsigned ticks);
/* Of 1, 2 and 5 and their multiples by ten the least that is not less than v > 0. */
double plot_nice(double v);
int64_t plot_nice_ns(int64_t dur_ns);

#endif
