/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd's deadlines in tests: so long that a machine which stops for seconds makes nothing late. A test that wants
 * something late sets the deadline itself, and keeps the late side from being in time. dispatch.deadline_ms is also how
 * long messages wait for a lossless bridge that has exited, so it is only as long as a machine may stand still; a test
 * in which such a bridge exits sets a short one. Thread: any.
 */
#ifndef TEST_PATIENT_H
#define TEST_PATIENT_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PATIENT_CONF \
	"{\"roudi\":{\"ready_ms\":120000,\"probe_timeout_ms\":60000},\"dispatch\":{\"wait_ms\":60000,\"deadline_ms\":10000}," \
	"\"step\":{\"deadline_ms\":600000},\"bridge\":{\"kill_after_ms\":600000},\"process\":{\"stop_ms\":30000}}"

/*
 * Returns the text of a simd.json with those deadlines as defaults; unchanged if it is no valid JSON, which simd has to
 * refuse. free() it.
 */
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
