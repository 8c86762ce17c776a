/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `top` shows: simd's replies, with members added that need two of them (rates since the last one) or a judgement (state). Asks
 * nobody: a test gives it replies. Thread: main.
 */
#ifndef SIMCTL_TOP_MODEL_H
#define SIMCTL_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "top_proc.h"

struct column;

enum top_tab { TOP_CHANNELS, TOP_PROCESSES, TOP_POOLS, TOP_BRIDGES, TOP_CLOCK, TOP_TABS };

/* Replies of one moment. bridges and clients are NULL where nobody looks at them. */
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
	json_t *seen[TOP_TABS]; /* what the last sample had, by name or pid */
	int64_t last_mono_ns;   /* 0: none */
	top_proc_fn proc;
};

/* proc: how a process is looked up; NULL: in /proc. */
void top_model_init(struct top_model *m, top_proc_fn proc);
void top_model_finish(struct top_model *m);

/*
 * Takes the sample. Added are: to channels state, new_drops, drop_count; to clients state, cpu, rss, and simd and iox-roudi as two of them; to
 * bridges rate, lost, new_lost; to pools name, percent, free.
 */
void top_model_take(struct top_model *m, struct top_sample *s);

/* Its columns, and its rows: those that hold the text anywhere in their texts, in upper or lower case, sorted. Returns: json_decref(). */
const struct column *top_columns(enum top_tab tab);
unsigned top_column_count(enum top_tab tab);
json_t *top_rows(const struct top_model *m, enum top_tab tab, const char *text, unsigned sort, bool descending);

/* "channels"; -1: no tab, no column of it is called so. In upper or lower case. */
const char *top_tab_name(enum top_tab tab);
int top_tab_of(const char *name);
int top_column_of(enum top_tab tab, const char *head);

#endif
