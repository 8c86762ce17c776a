/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's deadlines in tests: nothing is late because the machine stops for seconds. A test that wants something late sets the
 * deadline itself, and keeps the late side from being in time. dispatch.deadline_ms is also how long messages wait for a bridge that keeps
 * all and is gone, so that one is no longer than a machine may stand still; a test in which such a bridge goes sets a short one.
 * Thread: any.
 */
#ifndef TEST_PATIENT_H
#define TEST_PATIENT_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PATIENT_CONF \
	"{\"roudi\":{\"ready_ms\":120000,\"probe_timeout_ms\":60000},\"dispatch\":{\"wait_ms\":60000,\"deadline_ms\":10000}," \
	"\"step\":{\"deadline_ms\":600000},\"bridge\":{\"kill_after_ms\":600000},\"process\":{\"stop_ms\":30000}}"

/* The text of a simd.json over those deadlines; as it is where it is no JSON, which is simd's to refuse. Returns what free() takes. */
static inline char *patient_conf(const char *conf)
{
	json_t *all = json_loads(PATIENT_CONF, 0, NULL), *own = json_loads(conf, 0, NULL);
	char *text =
		own && json_object_update_recursive(all, own) == 0 ? json_dumps(all, JSON_INDENT(1)) : strdup(conf);

	json_decref(own);
	json_decref(all);
	return text;
}

#endif
