/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h: the log lines about clients are bounded, and suppressed ones are counted; the log and the input log.
 * Thread: the test's.
 */
#include "support/test.h"

#include <errno.h>
#include <unistd.h>

#include "tools/world/events.h"

#define S INT64_C(1000000000)

static unsigned lines;
static unsigned long long held;
static char last[LOG_LINE_MAX];

static void take_line(void *user, enum log_level level, const char *topic, const char *text)
{
	const char *at = strchr(text, '(');
	unsigned long long n;

	(void)user, (void)level, (void)topic;
	lines++;
	held += at && sscanf(at, "(%llu more like it before)", &n) == 1 ? n : 0;
	snprintf(last, sizeof(last), "%s", text);
}

static int begin(void **state)
{
	(void)state;
	lines = 0;
	held = 0;
	log_set_handler(take_line, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	log_set_handler(NULL, NULL);
	return 0;
}

TEST_WITH(clients_that_reconnect_all_the_time_do_not_fill_the_log, begin, end)
{
	struct events e;
	unsigned n = 0;

	events_init(&e, NULL);
	for (int64_t now = S; now < 6 * S; now += S / 10000, n += 2) {
		events_take(&e, WORLD_CAME, 7, "harm", "regulating", now);
		events_take(&e, WORLD_LEFT, 7, "harm", "its connection is lost", now);
	}
	assert_in_range(lines, 2, 2 * 20 * 6);
	events_take(&e, WORLD_CAME, 7, "harm", "regulating", 8 * S);
	events_take(&e, WORLD_LEFT, 7, "harm", "its connection is lost", 8 * S);
	assert_int_equal(lines + held, n + 2);
	assert_non_null(strstr(last, "client 7 harm: disconnected: its connection is lost ("));
}

/* Each kind of event has a limit of its own: many connects and disconnects do not hide a late client. */
TEST_WITH(each_kind_of_event_has_its_own_limit, begin, end)
{
	struct events e;

	events_init(&e, NULL);
	for (int i = 0; i < 1000; i++)
		events_take(&e, WORLD_CAME, 7, "harm", "regulating", S);
	events_take(&e, WORLD_LATE, 3, "", "time has waited for it for 0.050 s", S);
	assert_string_equal(last, "client 3 (no name): late: time has waited for it for 0.050 s");
}

TEST_WITH(the_input_log_has_the_same_events_as_the_log, begin, end)
{
	char path[TEST_PATH_MAX];
	struct input_log_options o = {
		.path = test_path(path, "events.world"),
		.store = { .objects_max = 10, .objects_each_max = 10, .section_mm = 1000, .step_dur_ns = 1000000 },
		.number = 1
	};
	struct input_log_info before, after;
	struct input_log *l;
	struct events e;

	assert_int_equal(input_log_create(&o, &l), 0);
	input_log_info(l, &before);
	events_init(&e, l);
	for (int i = 0; i < 1000; i++)
		events_take(&e, WORLD_CAME, 7, "harm", "regulating", S);
	input_log_info(l, &after);
	assert_int_equal(after.records - before.records, lines);
	input_log_destroy(l);
	assert_int_equal(unlink(path), 0);
}
