/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plug-ins that carry channels elsewhere have in common, whatever their messages are: bounds, log, options.
 * Thread: any.
 */
#ifndef OPTION_H
#define OPTION_H

#include <sim/bridge.h>

#define TOPICS_FAN_MAX  16u /* topics of one channel */
#define TOPICS_IN_MAX   32u
#define TOPICS_BUFS_MAX 16u
#define TOPICS_BODY_MAX (64u * 1024) /* bytes of an incoming message, with a host that lends no slots */

/* Writes to the host's log; s: any struct with a `host`. */
#define log_at(s, level, ...) (s)->host->log((s)->host->ctx, level, __VA_ARGS__)
#define log_error(s, ...)     log_at(s, 0, __VA_ARGS__)
#define log_warn(s, ...)      log_at(s, 1, __VA_ARGS__)
#define log_info(s, ...)      log_at(s, 2, __VA_ARGS__)

/* Why an incoming message is dropped, as text. Static, or valid until the thread's next call. */
const char *topics_reason(int r);

#define TOPICS_OPTION_COMPAT \
	{ \
		"compat", "none", \
			"svl2021.3: messages with the mistakes that SVL Simulator's have, for who depends on them" \
	}

/*
 * An option of the bridge. bridge_option() gives its text, "" if the host does not know it; bridge_option_word() its
 * index in `words`, which end with NULL; bridge_option_number() a whole number. -EINVAL, logged: the value is not
 * `expected`, or not a number of `unit` in the range.
 */
const char *bridge_option(const struct sim_bridge_host *h, const char *name);
int bridge_option_word(const struct sim_bridge_host *h, const char *name, const char *const words[],
		       const char *expected);
/* The option "compat", of TOPICS_OPTION_COMPAT: 1 for svl2021.3, 0 for none, -EINVAL. */
int bridge_option_compat(const struct sim_bridge_host *h);
int bridge_option_number(const struct sim_bridge_host *h, const char *name, long min, long max, const char *unit,
			 long *ret);

#endif
