/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model of `top`: simd's replies, with members added that need two replies (rates since the last one) or a judgement
 * (state). Does no I/O: a test feeds it replies. Thread: main.
 */
#ifndef SIMCTL_TOP_MODEL_H
#define SIMCTL_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "top_proc.h"

struct column;

enum top_tab { TOP_CHANNELS, TOP_PROCESSES, TOP_POOLS, TOP_BRIDGES, TOP_CLOCK, TOP_TABS };

/* Replies taken at the same moment. bridges and clients are NULL if their page is not shown. */
struct top_sample {
	json_t *info, *clock, *channels, *bridges, *clients;
	int64_t mono_ns;
};

void top_sample_finish(struct top_sample *s);

struct top_totals { /* over all channels */
	unsigned channels, flow, late, silent;
	double hz, bytes_per_s, drops, new_drops, pool_percent;
};

struct top_model {
	struct top_sample now;
	struct top_totals totals;
	json_t *seen[TOP_TABS]; /* values of the last sample, by name or pid */
	int64_t last_mono_ns;   /* 0: no sample yet */
	top_proc_fn proc;
};

/* proc: looks up a process; NULL: in /proc. */
void top_model_init(struct top_model *m, top_proc_fn proc);
void top_model_finish(struct top_model *m);

/*
 * Takes over the sample, and adds members: to channels state, new_drops; to clients state, cpu, rss, and two clients
 * for simd and iox-roudi; to bridges rate, lost, new_lost, state; to pools name, percent, free, for, state.
 */
void top_model_take(struct top_model *m, struct top_sample *s);

/*
 * Columns of a tab, and its sorted rows: those with the text in any of their strings, ignoring case. Free with
 * json_decref().
 */
const struct column *top_columns(enum top_tab tab);
unsigned top_column_count(enum top_tab tab);
json_t *top_rows(const struct top_model *m, enum top_tab tab, const char *text, unsigned sort, bool descending);

/* "channels"; the inverse functions ignore case, and return -1 if no tab or column has that name. */
const char *top_tab_name(enum top_tab tab);
int top_tab_of(const char *name);
int top_column_of(enum top_tab tab, const char *head);

#endif
