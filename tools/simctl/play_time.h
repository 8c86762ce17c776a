/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a log to begin and to end, as a user writes it. Pure; thread: any. */
#ifndef SIMCTL_PLAY_TIME_H
#define SIMCTL_PLAY_TIME_H

#include <stdint.h>

/*
 * "12.5" seconds behind begin_ns; "90s", "1500ms" as well; "@12.5" seconds of the log's own clock; "2026-11-23T03:40:00.5Z", with
 * +01:00 instead of Z, or without any: UTC. 0; -EINVAL; -ERANGE beyond what a time can be.
 */
int play_time_parse(const char *text, int64_t begin_ns, int64_t *ret_log_ns);
/* "2x", "0.5": a rate in millionths. 0, -EINVAL, -ERANGE. */
int play_rate_parse(const char *text, int64_t *ret_e6);

#endif
