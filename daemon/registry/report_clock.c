/* SPDX-License-Identifier: Apache-2.0 */
/* See report_clock.h. Thread: simd-main. */
#include "report_clock.h"

#include "bridge.h"
#include "client.h"
#include "engine.h"
#include "jsonx.h"
#include "printable.h"

#include <string.h>

json_t *report_driver(const struct time_status *st)
{
	if (!st->has_driver)
		return json_null();
	return client_endpoint_json(st->driver.client_id, st->driver.name, st->driver.pid, st->driver.uid);
}

json_t *report_participants(const struct time_engine *e)
{
	struct time_participant who[TIME_PARTICIPANTS_MAX];
	uint32_t n = time_engine_participants(e, who, TIME_PARTICIPANTS_MAX);
	json_t *a = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(a, JSONX_MAKE(JX_INT("client_id", who[i].client_id),
						    JX_STR("client", who[i].name), JX_INT("pid", who[i].pid),
						    JX_INT("uid", who[i].uid), JX_INT("rank", who[i].rank),
						    JX_BOOL("awaited", who[i].awaited), JX_BOOL("late", who[i].late),
						    JX_INT("waited_ns", who[i].waited_dur_ns)));
	return a;
}

json_t *report_run(const struct time_run *run)
{
	if (!run->began_mono_ns)
		return json_null();
	return JSONX_MAKE(JX_INT("began_mono_ns", run->began_mono_ns), JX_INT("sim_ns", run->sim_dur_ns),
			  JX_INT("wall_ns", run->wall_dur_ns));
}

void report_far_clocks(json_t *a, const struct bridge *b)
{
	for (const char *at = b->other_clocks; *at;) {
		size_t n = strcspn(at, "\n");
		char fit[sizeof(b->other_clocks)];

		printable(fit, sizeof(fit), at, n);
		if (n)
			json_array_append_new(a, json_sprintf("%s, which bridge %s sees,", fit, b->name));
		at += n + (at[n] == '\n');
	}
}
