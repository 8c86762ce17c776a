/* SPDX-License-Identifier: Apache-2.0 */
/* One word for the state of a row of `top`, and that word's colour. Pure; thread: any. */
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
	TOP_SERIES, /* and the following values: colours of the lines of `plot` */
	TOP_TONES = TOP_SERIES + 6
};

/*
 * "flows"; "late": silent for more than three periods and a second; "silent": for more than ten periods and 5 s;
 * "paused": late while time is paused; "never": nothing published yet; "unused": no publisher and no message ever.
 * period_s: 0 if unknown. Static.
 */
const char *top_channel_state(const json_t *channel, double period_s, const json_t *clock);
/* "runs", "sleeps", "stopped", ... for the state letter of /proc. */
const char *top_process_state(char letter);
/* "fine", "tight" from 75 % on, "full" from 95 % on. */
const char *top_pool_state(double percent);

enum top_tone top_tone_of(const char *state);

#endif
