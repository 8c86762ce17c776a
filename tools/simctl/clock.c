/* SPDX-License-Identifier: Apache-2.0 */
/* clock: shows the time and its driver; pauses, steps and scales it, and selects its source. Thread: main. */
#include <stdio.h>
#include <string.h>

#include "simctl.h"
#include "timeutil.h"

/* Added to step.deadline_ms for a pause, and to dispatch.deadline_ms for a drain. */
#define WAIT_MARGIN_DUR_NS (5 * NS_PER_S)

static void print_driver(const json_t *k)
{
	json_t *d = json_object_get(k, "driver");

	if (json_is_object(d) && json_yes(k, "driver_lost"))
		printf("driver:     %s (pid %.0f), whose time host is not heard: clock stopped until it is\n",
		       json_text(d, "client"), json_num(d, "pid"));
	else if (json_is_object(d))
		printf("driver:     %s (pid %.0f)%s%s\n", json_text(d, "client"), json_num(d, "pid"),
		       json_yes(k, "freewheel") ? ", runs as fast as it can" : "",
		       json_yes(k, "driver_stopped") ? ", STOPPED (SIGSTOP, Ctrl-Z or a debugger): time stands" : "");
	else if (!json_yes(k, "driven"))
		return;
	else if (json_yes(k, "driver_lost"))
		puts("driver:     none: driver lost, clock stopped until one starts");
	else if (json_yes(k, "started"))
		puts("driver:     none: lease released, clock stopped until one starts");
	else
		puts("driver:     no driver yet: start one, or TimeSource=simulation");
}

static void print_participants(const json_t *k)
{
	json_t *a = json_object_get(k, "participants"), *p;
	size_t i;

	if (json_array_size(a) == 0)
		return;
	printf("lock-step:  %zu participant%s, %.0f steps by command\n", json_array_size(a),
	       json_array_size(a) == 1 ? "" : "s", json_num(k, "steps"));
	json_array_foreach(a, i, p) {
		bool awaited = json_yes(p, "awaited");

		printf("  rank %-6.0f %s (pid %.0f)%s", json_num(p, "rank"), json_text(p, "client"), json_num(p, "pid"),
		       awaited ? "" : "\n");
		if (awaited)
			printf(": %s, waited for since %.3f s\n", json_yes(p, "late") ? "LATE" : "running its step",
			       json_num(p, "waited_ns") / 1e9);
	}
}

static void print_waits(const json_t *k)
{
	json_t *a = json_object_get(k, "waits_for"), *v;
	size_t i;

	if (*json_text(k, "driver_waits_for"))
		printf("waits for:  %s, says the driver\n", json_text(k, "driver_waits_for"));
	json_array_foreach(a, i, v)
		printf("%s%s", i ? ", " : "waits for:  ", json_string_value(v));
	if (json_array_size(a))
		puts(", before time begins");
}

static void print_other_clocks(const json_t *k)
{
	json_t *a = json_object_get(k, "other_clocks"), *v;
	size_t i;

	json_array_foreach(a, i, v)
		printf("warning:    %s publishes /clock as well\n", json_string_value(v));
}

static const char *what_moves_it(const json_t *k)
{
	if (strcmp(json_text(k, "source"), "link") == 0)
		return json_yes(k, "driven") ? "by grants of the time host" : "follows the time host";
	return json_yes(k, "driven") ? "driven" : "wall-driven";
}

static void print_clock(const json_t *k)
{
	json_t *late = json_object_get(k, "lateness_ns");
	char stamp[STAMP_FORMAT_MAX];
	const char *state = json_yes(k, "stepping") ? "stepping" : json_yes(k, "paused") ? "paused" : "running";

	if (json_yes(k, "pausing"))
		state = "pausing, until what the driver was granted is published";

	printf("time:       %s s\n", stamp_format(json_integer_value(json_object_get(k, "sim_ns")), stamp));
	printf("source:     %s, %s\n", json_text(k, "source"), what_moves_it(k));
	if (json_is_integer(json_object_get(k, "error_ns")))
		printf("error:      at most %.1f us off the time host's\n", json_num(k, "error_ns") / 1e3);
	printf("state:      %s%s\n", state, json_yes(k, "started") ? "" : ", not started");
	printf("scale:      %g (real-time factor %.3f)\n", json_num(k, "scale"), json_num(k, "real_time_factor"));
	printf("generation: %.0f\n", json_num(k, "clock_generation"));
	print_driver(k);
	print_waits(k);
	print_participants(k);
	printf("/clock:     %.0f Hz wanted, %.0f published, %.0f missed, ", json_num(k, "rate_hz"),
	       json_num(k, "published"), json_num(k, "missed"));
	if (json_num(k, "priority") > 0)
		printf("priority %.0f\n", json_num(k, "priority"));
	else
		printf("no priority\n");
	printf("lateness:   %.1f us (p99 %.1f, max %.1f)\n", json_num(late, "p50") / 1e3, json_num(late, "p99") / 1e3,
	       json_num(late, "max") / 1e3);
	print_other_clocks(k);
}

static int show(struct ctl *c, json_t *reply)
{
	json_t *k = json_object_get(reply, "clock");

	if (!reply)
		return 1;
	if (c->a.json)
		ctl_print_json(c, k);
	else
		print_clock(k);
	json_decref(reply);
	return 0;
}

/* Calls a method of the clock; each returns the clock's new state. Drops the reference to params. */
static int clock_call(struct ctl *c, const char *method, json_t *params)
{
	json_t *reply = ctl_call(c, method, params);

	json_decref(params);
	return show(c, reply);
}

static int status_once(struct ctl *c)
{
	return clock_call(c, "io.simd.Control.GetClock", NULL);
}

int cmd_clock_status(struct ctl *c)
{
	return ctl_repeat(c, status_once);
}

static int64_t deadline(const json_t *config, const char *of)
{
	return (int64_t)json_num(json_object_get(json_object_get(config, "config"), of), "deadline_ms") * NS_PER_MS;
}

/*
 * Waits as long as simd allows the driver (and with --drain the bridges) to take. Returns the reply; NULL: failed, and
 * printed.
 */
static json_t *wait_for_pause(struct ctl *c)
{
	json_t *config = ctl_call(c, "io.simd.Control.GetConfig", NULL), *params, *reply;
	int64_t dur_ns = deadline(config, "step") + WAIT_MARGIN_DUR_NS;

	if (!config)
		return NULL;
	if (c->a.drain)
		dur_ns += deadline(config, "dispatch") + WAIT_MARGIN_DUR_NS;
	json_decref(config);
	params = json_pack("{s:b}", c->a.drain ? "drain" : "wait", 1);
	reply = ctl_call_within(c, "io.simd.Control.PauseClock", params, dur_ns);
	json_decref(params);
	return reply;
}

/* Uses a new connection, as the unanswered pause blocks later calls on the old one. */
static void print_what_is_missing(struct ctl *c)
{
	json_t *reply;

	sim_disconnect(c->client);
	c->client = NULL;
	reply = ctl_connect(c) == 0 ? ctl_call(c, "io.simd.Control.GetClock", NULL) : NULL;
	if (json_yes(json_object_get(reply, "clock"), "pausing"))
		fputs("simctl: the driver has not asked for more time: the clock is pausing until it does\n", stderr);
	else if (json_yes(json_object_get(reply, "clock"), "paused"))
		fputs("simctl: time is paused, and not all messages have arrived: simctl dispatch shows what is in flight\n",
		      stderr);
	json_decref(reply);
}

int cmd_clock_pause(struct ctl *c)
{
	json_t *reply;

	if (c->a.drain && c->a.no_wait) {
		fputs("simctl: --drain waits: leave out --no-wait\n", stderr);
		return 2;
	}
	reply = ctl_call(c, "io.simd.Control.PauseClock", NULL);
	if (!reply || c->a.no_wait || (!c->a.drain && !json_yes(json_object_get(reply, "clock"), "pausing")))
		return show(c, reply);
	json_decref(reply);
	reply = wait_for_pause(c);
	if (!reply)
		print_what_is_missing(c);
	return show(c, reply);
}

int cmd_clock_resume(struct ctl *c)
{
	return clock_call(c, "io.simd.Control.ResumeClock", NULL);
}

int cmd_clock_step(struct ctl *c)
{
	json_t *params = json_pack("{s:I}", "dur_ns", (json_int_t)c->a.step_dur_ns);
	json_t *reply =
		/* no timeout: the driver decides how long a step takes */
		ctl_call_within(c, "io.simd.Control.StepClock", params, -1);

	json_decref(params);
	return show(c, reply);
}

int cmd_clock_scale(struct ctl *c)
{
	return clock_call(c, "io.simd.Control.SetScale", json_pack("{s:f}", "scale", c->a.scale));
}

int cmd_clock_source(struct ctl *c)
{
	return clock_call(c, "io.simd.Control.SetSource",
			  json_pack("{s:s, s:b}", "source", c->a.source, "continue", (int)c->a.cont));
}
