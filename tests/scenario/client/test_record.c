/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving part of `simctl record`, in virtual time: a prompt recorder and a starved one write the same log times,
 * those of publishing.
 */
#include "scenario/client/world.h"

#include <stdlib.h>

#include <sim/msg/Ultrasonic.h>

#include "record/log.h"
#include "simctl/record.h"

#define CHANNELS 3
#define MESSAGES 80 /* of each channel: no more than a queue takes */
#define FILES    64

WORLD_FIXTURE(test_seed(3), "");

/* When each was published: by channel and number. */
struct times {
	int64_t ns[CHANNELS][MESSAGES + 1];
	unsigned n, files;
};

/* ---- a recorder ---- */

struct recorder {
	struct sim_client *c;
	struct recording *recording;
	struct record_channels *channels;
	char stem[TEST_PATH_MAX];
	char said[1000];
};

static void say(void *arg, const char *sentence)
{
	struct recorder *r = arg;

	snprintf(r->said, sizeof(r->said), "%s", sentence);
}

static void recorder_start(struct recorder *r, const char *name)
{
	struct recording_options ro = { .stem = test_path(r->stem, name) }; /* no window: they come in order */
	static const char *const of_simd[] = { "/simd/*" };                 /* there is no room for these here */
	struct record_channels_options o = { .say = say, .arg = r, .match = { .exclude = of_simd, .n_exclude = 1 } };
	char why[300];

	r->said[0] = '\0';
	r->c = o.client = world_client(&w, name, 0);
	assert_int_equal(recording_create(&ro, &r->recording, why, sizeof(why)), 0);
	o.recording = r->recording;
	assert_int_equal(record_channels_create(&o, &r->channels), 0);
	assert_int_equal(record_channels_look(r->channels), 0);
	if (*r->said)
		fail_msg("%s", r->said);
}

static void drain(struct recorder *r)
{
	while (record_channels_drain(r->channels) > 0)
		;
}

static void recorder_end(struct recorder *r)
{
	char why[300];

	drain(r);
	record_channels_destroy(r->channels);
	assert_int_equal(recording_destroy(r->recording, why, sizeof(why)), 0);
	sim_disconnect(r->c);
}

/* ---- the recorded files ---- */

static void read_file(const char *path, struct times *ret)
{
	int64_t last_ns = 0;
	struct log_reader *r;
	struct log_message m;
	char why[300];

	if (log_reader_open(path, &(struct log_read_options){ .file_order = true }, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (log_reader_next(r, &m) > 0) {
		const char *topic = log_reader_info(r)->channels[m.channel].topic;

		assert_in_range(topic[1], 'a', 'a' + CHANNELS - 1);
		assert_in_range(m.sequence, 1, MESSAGES);
		assert_true(m.log_time_ns >= last_ns); /* in the file's own order */
		last_ns = ret->ns[topic[1] - 'a'][m.sequence] = m.log_time_ns;
		ret->n++;
	}
	log_reader_close(r);
}

static void read_all(const struct recorder *r, struct times *ret)
{
	char path[TEST_PATH_MAX + 32];

	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 1; i <= FILES; i++, ret->files++) {
		snprintf(path, sizeof(path), i > 1 ? "%s.%u.mcap" : "%s.mcap", r->stem, i);
		if (access(path, R_OK) < 0)
			return;
		read_file(path, ret);
	}
}

/* ---- a run ---- */

struct run {
	struct sim_client *c;
	struct sim_publisher *p[CHANNELS];
	unsigned n[CHANNELS];
	struct times published;
	unsigned seed;
};

static void call(struct run *r, const char *method, const char *params)
{
	char *json;

	if (sim_call(r->c, method, params, &json) < 0)
		fail_msg("%s: %s", method, sim_why());
	free(json);
}

static struct sim_publisher *advertise(struct run *r, unsigned i, unsigned flags)
{
	const char name[] = { '/', (char)('a' + i), '\0' };
	struct sim_publisher_options o = { .size = sizeof(o), .flags = SIM_PUB_LOCAL | flags };
	struct sim_publisher *p;

	if (sim_advertise(r->c, name, &sim_Ultrasonic_type, &o, &p) < 0)
		fail_msg("%s: %s", name, sim_why());
	return p;
}

static void run_start(struct run *r)
{
	memset(r, 0, sizeof(*r));
	r->seed = (unsigned)test_seed(11);
	r->c = world_client(&w, "sensor", SIM_CLIENT_SOURCE);
	call(r, "SetSource", "{\"source\": \"simulation\"}");
	for (unsigned i = 0; i < CHANNELS; i++)
		r->p[i] = advertise(r, i, 0);
	world_run(&w, 10 * MS);
}

static void publish(struct run *r, unsigned i)
{
	struct sim_slot *slot;
	struct sim_builder b;

	assert_int_equal(sim_loan(r->p[i], sizeof(struct sim_Ultrasonic), &slot), 0);
	assert_non_null(sim_Ultrasonic_init(sim_slot_body_mut(slot), slot->body_size, &b));
	world_run(&w, 1 + rand_r(&r->seed) % (20 * MS));
	r->published.ns[i][++r->n[i]] = sim_now(r->c);
	r->published.n++;
	assert_int_equal(sim_publish_local(r->p[i], slot), 0);
	world_run(&w, 1 + rand_r(&r->seed) % 1000);
}

/* Pauses, scales, jumps back and forward. */
static void disturb(struct run *r, unsigned n)
{
	static const char *const calls[][2] = {
		{ "PauseClock", NULL },
		{ "ResumeClock", NULL },
		{ "SetScale", "{\"scale\": 3.25}" },
		{ "SetSource", "{\"source\": \"system\"}" },
		{ "ResumeClock", NULL },
		{ "SetSource", "{\"source\": \"simulation\"}" },
		{ "SetScale", "{\"scale\": 0.5}" },
	};

	call(r, calls[n % 7][0], calls[n % 7][1]);
}

static void run_end(struct run *r)
{
	for (unsigned i = 0; i < CHANNELS; i++)
		sim_publisher_destroy(r->p[i]);
	sim_disconnect(r->c);
}

static void expect_same(const struct times *a, const struct times *b)
{
	assert_int_equal(a->n, b->n);
	for (unsigned i = 0; i < CHANNELS; i++)
		for (unsigned k = 1; k <= MESSAGES; k++)
			assert_int_equal(a->ns[i][k], b->ns[i][k]);
}

TEST_WITH(a_starved_recorder_writes_the_same_times, setup, teardown)
{
	static struct recorder prompt, starved;
	static struct times a, b;
	static struct run r;

	run_start(&r);
	recorder_start(&prompt, "prompt");
	recorder_start(&starved, "starved");
	for (unsigned i = 0; i < CHANNELS * MESSAGES; i++) {
		publish(&r, i % CHANNELS);
		drain(&prompt);
		if (i % 11 == 5)
			disturb(&r, i / 11);
	}
	assert_int_equal(record_channels_count(prompt.channels), record_channels_count(starved.channels));
	assert_int_equal(record_channels_undated(starved.channels), 0);
	recorder_end(&prompt);
	recorder_end(&starved);
	run_end(&r);
	read_all(&prompt, &a);
	read_all(&starved, &b);
	assert_true(a.files > 2 && a.files == b.files); /* time has jumped back */
	expect_same(&a, &r.published);
	expect_same(&b, &r.published);
	assert_string_equal(starved.said, "");
}

/* Time that is driven stands while messages are published, and has moved on when a starved recorder takes them. */
TEST_WITH(in_lockstep_a_recorder_writes_the_time_of_the_step, setup, teardown)
{
	static struct recorder prompt, starved;
	static struct times a, b;
	static struct run r;
	struct sim_driver *d;

	run_start(&r);
	call(&r, "SetSource", "{\"source\": \"unity\"}");
	assert_int_equal(sim_driver_acquire(r.c, SIM_DRIVER_LOCKSTEP, &d), 0);
	recorder_start(&prompt, "step_prompt");
	recorder_start(&starved, "step_starved");
	for (unsigned i = 0; i < MESSAGES; i++) {
		assert_int_equal(sim_driver_advance(d, 10 * MS, NULL), 0);
		assert_true(sim_clock_page(r.c)->flags & SIM_CLOCK_LOCKSTEP);
		for (unsigned k = 0; k < CHANNELS; k++)
			publish(&r, k);
		drain(&prompt);
	}
	recorder_end(&prompt);
	recorder_end(&starved);
	sim_driver_release(d);
	run_end(&r);
	read_all(&prompt, &a);
	read_all(&starved, &b);
	assert_int_equal(r.published.ns[0][MESSAGES] - r.published.ns[0][1], (MESSAGES - 1) * 10 * MS);
	expect_same(&a, &r.published);
	expect_same(&b, &r.published);
}

/* An engine that reloads its scene: one file for each run, and a starved recorder writes nothing into the wrong one. */
TEST_WITH(a_reloaded_scene_is_recorded_into_a_new_file, setup, teardown)
{
	static struct recorder prompt, starved;
	static struct times a, b;
	static struct run r;
	struct sim_driver *d;

	run_start(&r);
	call(&r, "SetSource", "{\"source\": \"unity\"}");
	assert_int_equal(sim_driver_acquire(r.c, 0, &d), 0);
	recorder_start(&prompt, "scene_prompt");
	recorder_start(&starved, "scene_starved");
	for (unsigned i = 0; i < MESSAGES; i++) {
		if (i && i % (MESSAGES / 4) == 0)
			assert_int_equal(sim_driver_jump(d, 0), 0);
		assert_int_equal(sim_driver_advance(d, 10 * MS, NULL), 0);
		for (unsigned k = 0; k < CHANNELS; k++)
			publish(&r, k);
		drain(&prompt);
	}
	recorder_end(&prompt);
	recorder_end(&starved);
	sim_driver_release(d);
	run_end(&r);
	read_all(&prompt, &a);
	read_all(&starved, &b);
	assert_int_equal(a.files, 4);
	assert_int_equal(b.files, 4);
	assert_int_equal(a.ns[0][MESSAGES], MESSAGES / 4 * 10 * MS);
	expect_same(&a, &r.published);
	expect_same(&b, &r.published);
}

/* The time at which latched messages were published is known, too; but a log begins when its recorder did. */
TEST_WITH(latched_messages_are_recorded_with_the_start_time_of_the_log, setup, teardown)
{
	static struct recorder rec;
	static struct times t;
	static struct run r;
	int64_t began_ns;

	run_start(&r);
	sim_publisher_destroy(r.p[0]);
	r.p[0] = advertise(&r, 0, SIM_PUB_LATCH);
	publish(&r, 0);
	world_run(&w, 10 * S);
	began_ns = sim_now(r.c);
	recorder_start(&rec, "latched");
	world_run(&w, MS);
	publish(&r, 1);
	recorder_end(&rec);
	run_end(&r);
	read_all(&rec, &t);
	assert_int_equal(t.n, 2);
	assert_in_range(t.ns[0][1], began_ns, r.published.ns[1][1]);
	assert_true(t.ns[0][1] - began_ns < 100 * MS);
	assert_int_equal(t.ns[1][1], r.published.ns[1][1]);
}
