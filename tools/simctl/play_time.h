/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the start, the end and the rate that a user gives for playing. Pure; thread: any. */
#ifndef SIMCTL_PLAY_TIME_H
#define SIMCTL_PLAY_TIME_H

#include <stdint.h>

/*
 * "12.5": seconds after begin_ns; also "90s", "1500ms"; "@12.5": seconds of the log's own clock; a date
 * "2026-11-23T03:40:00.5Z", with +01:00 instead of Z, or without a zone (UTC). Returns 0; -EINVAL; -ERANGE if out of a
 * clock's range.
 */
int play_time_parse(const char *text, int64_t begin_ns, int64_t *ret_log_ns);
/* "2x" or "0.5", in millionths. 0, -EINVAL, -ERANGE. */
int play_rate_parse(const char *text, int64_t *ret_e6);

#endif
