/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model of `plot`: the latest samples of some fields, the window of simulated time on display, and axes that fit it.
 * Does no I/O. Thread: the owner's.
 */
#ifndef SIMCTL_PLOT_MODEL_H
#define SIMCTL_PLOT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#define PLOT_SERIES_MAX 6
#define PLOT_SAMPLES    65536u /* kept per series; the oldest are dropped */
#define PLOT_WINDOW_MIN INT64_C(1000000)
#define PLOT_WINDOW_MAX INT64_C(3600000000000)

struct plot_sample {
	int64_t stamp_sim_ns;
	double value; /* NaN: a gap */
};

struct plot_series {
	char name[192], unit[32]; /* unit "": no unit */
	struct plot_sample *v;    /* ring of PLOT_SAMPLES */
	uint32_t first, n;
};

struct plot_model {
	struct plot_series series[PLOT_SERIES_MAX];
	unsigned n;
	int64_t window_dur_ns;
	int64_t now_sim_ns, newest_sim_ns; /* the clock's; the latest stamp */
	uint32_t generation;               /* of the clock */
	bool known;                        /* generation is valid */
	bool jumped;                       /* generation has changed since */
	int64_t jump_sim_ns;               /* time after that jump */
	bool held;                         /* display frozen at held_sim_ns; samples are still taken in */
	int64_t held_sim_ns;
};

/* Adds a series. -E2BIG: PLOT_SERIES_MAX reached; -ENOMEM. name and unit: copied, truncated if too long. */
int plot_model_series(struct plot_model *m, const char *name, const char *unit);
void plot_model_finish(struct plot_model *m);

/* Sets the current time. A new clock generation clears all samples, records the jump, and unfreezes the display. */
void plot_model_clock(struct plot_model *m, uint32_t generation, int64_t now_sim_ns);
/* Adds a sample. Ignored if its generation is not the clock's. A value that is not finite is a gap. */
void plot_model_add(struct plot_model *m, unsigned series, uint32_t generation, int64_t stamp_sim_ns, double value);
void plot_model_hold(struct plot_model *m, bool held);
/* Goes to the next longer or shorter window of the series 1, 2, 5, 10, ... */
void plot_model_zoom(struct plot_model *m, bool longer);

/* Time at the right edge: the clock's, or a later stamp; while frozen, its value at that moment. */
int64_t plot_model_end(const struct plot_model *m);
/* The i-th oldest. */
const struct plot_sample *plot_series_at(const struct plot_series *s, uint32_t i);

struct plot_summary { /* of the samples in the window; n 0: no samples */
	uint32_t n;
	double last, min, max; /* last: NaN if the newest sample is a gap */
};

struct plot_summary plot_model_summary(const struct plot_model *m, unsigned series);

struct plot_axis {
	double low, high, step; /* both ends are ticks; high > low */
	int places;             /* decimal places; -1: too large or too small for them */
};

/*
 * The value axis of all series together, with at most so many ticks, but at least both ends. Without samples: 0 to 1.
 */
struct plot_axis plot_model_axis(const struct plot_model *m, unsigned ticks);
/* Smallest of 1, 2, 5 times a power of ten that is not less than v > 0. */
double plot_nice(double v);
int64_t plot_nice_ns(int64_t dur_ns);

#endif
