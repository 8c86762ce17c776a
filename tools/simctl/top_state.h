/* SPDX-License-Identifier: Apache-2.0 */
/* One word for how a thing of `top` is, and what colour that word has. Pure; thread: any. */
#ifndef SIMCTL_TOP_STATE_H
#define SIMCTL_TOP_STATE_H

#include <jansson.h>

enum top_tone {
	TOP_PLAIN,
	TOP_GOOD,
	TOP_WARN,
	TOP_BAD,
	TOP_DIM,
	TOP_HEAD,
	TOP_TITLE,
	TOP_SERIES, /* and the next: the lines of `plot` */
	TOP_TONES = TOP_SERIES + 6
};

/*
 * "flows", "late" (longer silent than three periods and a second), "silent" (than ten and five), "paused" (late, while time stands), "never"
 * (published nothing), "unused" (has no publisher and never had a message). period_s: 0 where it is not known. Static.
 */
const char *top_channel_state(const json_t *channel, double period_s, const json_t *clock);
/* "runs", "sleeps", "stopped", ... of the letter that /proc has. */
const char *top_process_state(char letter);
/* "fine", "tight" from 75 % on, "full" from 95 % on. */
const char *top_pool_state(double percent);

enum top_tone top_tone_of(const char *state);

#endif
