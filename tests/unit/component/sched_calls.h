/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler of a configuration that is right, and its end. */
#ifndef TESTS_SCHED_CALLS_H
#define TESTS_SCHED_CALLS_H

#include "tests/support/test.h"

#include "libclient/component/scheduler.h"

#include "err.h"

static inline struct sched *sched_new(const char *json)
{
	struct sched_conf *conf;
	struct sched *s;

	assert_ok(sched_conf_read(json, &conf));
	assert_ok(sched_create(conf, &s));
	sched_conf_destroy(conf);
	return s;
}

static inline void sched_end(struct sched *s)
{
	sched_stop(s);
	sched_destroy(s);
}

#endif
