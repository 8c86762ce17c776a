/* SPDX-License-Identifier: Apache-2.0 */
/* What the plug-ins have in common that carry channels elsewhere, whatever the messages are there: bounds, log, options. Thread: any. */
#ifndef OPTION_H
#define OPTION_H

#include <sim/bridge.h>

#define TOPICS_FAN_MAX  16u /* of one channel */
#define TOPICS_IN_MAX   32u
#define TOPICS_BUFS_MAX 16u
#define TOPICS_BODY_MAX (64u * 1024) /* that comes in by a host that lends no slots */

/* To the host's log, of whatever has a `host`. */
#define log_at(s, level, ...) (s)->host->log((s)->host->ctx, level, __VA_ARGS__)
#define log_error(s, ...)     log_at(s, 0, __VA_ARGS__)
#define log_warn(s, ...)      log_at(s, 1, __VA_ARGS__)
#define log_info(s, ...)      log_at(s, 2, __VA_ARGS__)

/* Why what came in is dropped, in words. Static, or until the thread's next call. */
const char *topics_reason(int r);

#define TOPICS_OPTION_COMPAT \
	{ \
		"compat", "none", \
			"svl2021.3: messages with the mistakes that SVL Simulator's have, for who depends on them" \
	}

/*
 * "" where the host knows none; as one of `words`, which NULL ends: its number; as a whole number in a range. -EINVAL and an
 * error in the log: it is not `expected`, or not a number of `unit` in that range.
 */
const char *bridge_option(const struct sim_bridge_host *h, const char *name);
int bridge_option_word(const struct sim_bridge_host *h, const char *name, const char *const words[],
		       const char *expected);
/* "compat", of TOPICS_OPTION_COMPAT: 1 for svl2021.3, 0 for none, -EINVAL. */
int bridge_option_compat(const struct sim_bridge_host *h);
int bridge_option_number(const struct sim_bridge_host *h, const char *name, long min, long max, const char *unit,
			 long *ret);

#endif
