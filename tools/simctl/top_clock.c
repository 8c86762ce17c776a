/* SPDX-License-Identifier: Apache-2.0 */
/* See top_clock.h. */
#include "top_clock.h"

#include <stdarg.h>
#include <stdio.h>

#include "simctl.h"
#include "timeutil.h"

static void __attribute__((format(printf, 4, 5)))
line(json_t *list, const char *name, const char *state, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "name", name, "value", text, "state", state));
}

const char *top_clock_state(const json_t *k)
{
	if (json_yes(k, "driver_stopped"))
		return "driver stopped";
	if (json_yes(k, "driver_lost"))
		return "driver lost";
	if (json_yes(k, "driven") && !json_is_object(json_object_get(k, "driver")))
		return "no driver";
	if (json_yes(k, "stepping"))
		return "stepping";
	if (json_yes(k, "paused") || json_yes(k, "pausing"))
		return json_yes(k, "paused") ? "paused" : "pausing";
	return json_yes(k, "started") ? "running" : "not started";
}

static void add_driver(json_t *list, const json_t *k)
{
	const json_t *d = json_object_get(k, "driver");

	if (json_is_object(d))
		line(list, "driver", json_yes(k, "driver_stopped") ? "stopped" : "fine", "%s, pid %.0f%s%s",
		     json_text(d, "client"), json_num(d, "pid"), json_yes(k, "freewheel") ? ", as fast as it can" : "",
		     json_yes(k, "driver_stopped") ? ", its process is stopped (SIGSTOP, a debugger)" : "");
	else if (json_yes(k, "driven"))
		line(list, "driver", json_yes(k, "driver_lost") ? "silent" : "late", "%s",
		     json_yes(k, "driver_lost") ? "lost: time stands until one starts"
						: "none yet: time stands until one starts");
}

static void add_participants(json_t *list, const json_t *k)
{
	json_t *p;
	size_t i;

	json_array_foreach(json_object_get(k, "participants"), i, p)
		line(list, "lock-step", json_yes(p, "late") ? "silent" : "fine", "rank %.0f, %s, pid %.0f%s%s",
		     json_num(p, "rank"), json_text(p, "client"), json_num(p, "pid"),
		     json_yes(p, "awaited") ? ", awaited" : "", json_yes(p, "late") ? ", LATE" : "");
}

static void add_names(json_t *list, const char *name, const json_t *names, const char *what)
{
	json_t *v;
	size_t i;

	json_array_foreach(names, i, v)
		line(list, name, "late", "%s%s", json_string_value(v), what);
}

static void add_pace(json_t *list, const json_t *k)
{
	const json_t *late = json_object_get(k, "lateness_ns");
	double rtf = json_num(k, "real_time_factor"), scale = json_num(k, "scale");

	line(list, "scale", "", "%g", scale);
	line(list, "real-time factor", rtf < 0.9 * scale ? "late" : "fine", "%.3f", rtf);
	line(list, "generation", "", "%.0f", json_num(k, "clock_generation"));
	line(list, "/clock", json_num(k, "missed") > 0 ? "late" : "fine", "%.0f Hz, %.0f published, %.0f missed",
	     json_num(k, "rate_hz"), json_num(k, "published"), json_num(k, "missed"));
	line(list, "lateness", "", "%.1f us, p99 %.1f, max %.1f", json_num(late, "p50") / 1e3,
	     json_num(late, "p99") / 1e3, json_num(late, "max") / 1e3);
}

json_t *top_clock_lines(const json_t *k)
{
	json_t *list = json_array();
	char stamp[STAMP_FORMAT_MAX];

	if (!k)
		return list;
	line(list, "time", "", "%s s", stamp_format(json_integer_value(json_object_get(k, "sim_ns")), stamp));
	line(list, "source", "", "%s, %s", json_text(k, "source"), json_yes(k, "driven") ? "driven" : "wall-driven");
	line(list, "state", "", "%s", top_clock_state(k));
	add_driver(list, k);
	add_pace(list, k);
	if (*json_text(k, "driver_waits_for"))
		line(list, "waits for", "late", "%s, says the driver", json_text(k, "driver_waits_for"));
	add_names(list, "waits for", json_object_get(k, "waits_for"), ", before time begins");
	add_participants(list, k);
	add_names(list, "warning", json_object_get(k, "other_clocks"), " publishes /clock as well");
	return list;
}
