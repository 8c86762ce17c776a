/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simctl record` under adverse conditions: a disk that blocks, channels that simd refuses, files that disappear,
 * another recorder of the same name, and invalid commands.
 */
#include "recorder.h"

#include <fcntl.h>

#include <sim/msg/CompressedImage.h>

TEST_PROCESSES()

/* ---- a disk that stands still ---- */

#define SMALL  200 /* in a round: fewer than a queue has */
#define LARGE  20
#define ROUNDS 10

/* How often the thread that receives has slept; 0: not there yet. */
static unsigned long receiver_slept(pid_t pid)
{
	char line[512];
	unsigned long n = 0;
	FILE *f;

	snprintf(line, sizeof(line), "grep -l record-in /proc/%d/task/*/comm | sed s/comm/status/ | xargs cat",
		 (int)pid);
	f = popen(line, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &n);
	pclose(f);
	return n;
}

/* The receiving thread rests after a turn in which it has found nothing: three rests later all that was published is received. */
static void await_received(pid_t pid)
{
	unsigned long slept = receiver_slept(pid);

	AWAIT(receiver_slept(pid) >= slept + 3);
}

static void publish_image(struct sim_publisher *p)
{
	static uint8_t body[100000 + 4096] __attribute__((aligned(64)));
	struct sim_builder b;

	sim_CompressedImage_init(body, sizeof(body), &b);
	assert_non_null(sim_CompressedImage_data_alloc(&b, 100000));
	assert_int_equal(sim_publish_local_copy(p, body, sim_builder_size(&b), 0), 0);
}

/* --backlog bounds the messages that wait. No small message is lost while a large one can be lost instead. */
TEST_WITH(while_the_disk_stands_large_messages_are_lost_first, NULL, stack_sweep)
{
	static const char *const channels[] = { "/imu" };
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	unsigned accepted, recorded, lost;
	struct recording rec;

	begin_with("\"TimeSource\":\"simulation\"", SIM_PUB_LOCAL, channels, 1);
	assert_int_equal(sim_advertise(voice.c, "/cam", &sim_CompressedImage_type, &po, &voice.pub[voice.n++]), 0);
	setenv("LD_PRELOAD", GATE, 1);
	RECORD(&rec, "/imu", "/cam", "--backlog", "4MiB", "--compression", "none", "-o", FILE_1);
	unsetenv("LD_PRELOAD");
	AWAIT(is_ready());
	close(open("/tmp/gate", O_CREAT | O_WRONLY, 0600));
	publish(0, 0);
	AWAIT(access("/tmp/gate.waits", F_OK) == 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		publish_many(0, 1 + i * SMALL, SMALL);
		for (unsigned k = 0; k < LARGE; k++)
			publish_image(voice.pub[1]);
		await_received(rec.pid);
	}
	assert_int_equal(unlink("/tmp/gate"), 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	check_numbers(FILE_1, "/imu", 0, 1 + ROUNDS * SMALL);
	assert_int_equal(sscanf(metadata_of(FILE_1, "simd_losses", "/cam"), "accepted=%u recorded=%u lost=%u",
				&accepted, &recorded, &lost),
			 3);
	assert_int_equal(accepted, ROUNDS * LARGE);
	assert_int_equal(recorded, messages_of(FILE_1, "/cam"));
	assert_true(recorded <= 4 * 1024 * 1024 / 100000 + 2 && recorded + lost == accepted);
	assert_int_equal(unlink("/tmp/gate.waits"), 0);
	end();
}

/* ---- channels that are left out ---- */

/* Two of simd's own channels, and one. */
#define FEW RECORDER_CONF ",\"limits\":{\"subscribers\":3}"

static bool is_left_out(const char *path, const char *channel, const char *why)
{
	return strstr(metadata_of(path, "simd_left_out", channel), why);
}

TEST_WITH(channels_refused_by_simd_are_named_and_set_the_exit_code, NULL, stack_sweep)
{
	static const char *const channels[] = { "/a", "/b", "/c" };
	const struct ctl_result *r;
	struct recording rec;

	begin_with(FEW, SIM_PUB_LOCAL, channels, 3);
	r = stack_ctl("record", "--strict", "-o", FILE_1, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "not all requested channels can be recorded (--strict)"));
	assert_int_equal(access(FILE_1, F_OK), -1);
	RECORD(&rec, "-o", FILE_1);
	AWAIT(is_ready());
	assert_true(printed(&rec, "not recorded: /b, /c: "));
	assert_true(printed(&rec, "limits.subscribers allows no more"));
	for (unsigned i = 0; i < 3; i++)
		publish_many(i, 0, 5);
	assert_int_equal(end_record(&rec, SIGINT), 1);
	assert_non_null(strstr(rec.text, "/c: not recorded: "));
	assert_ptr_equal(strstr(strstr(rec.text, "not recorded: /b") + 1, "not recorded: /"), NULL); /* said once */
	assert_int_equal(messages_of(FILE_1, NULL), 5);
	assert_true(is_left_out(FILE_1, "/b", "limits.subscribers"));
	assert_true(is_left_out(FILE_1, "/c", "limits.subscribers"));
	assert_string_equal(metadata_of(FILE_1, "simd_left_out", "/a"), "");
	end();
}

/* ---- two of them ---- */

TEST_WITH(two_recorders_with_one_file_name_write_a_file_each, NULL, stack_sweep)
{
	struct recording one, two;

	BEGIN("/a");
	RECORD(&one, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	RECORD(&two, "/a", "--name", "other", "-o", FILE_1);
	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/other/split"));
	for (unsigned i = 0; i < 5; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
		assert_int_equal(stack_ctl("service", "call", "/other/resume", NULL)->code, 0);
	}
	assert_int_equal(end_record(&one, SIGINT), 0);
	assert_int_equal(end_record(&two, SIGINT), 0);
	assert_int_equal(files_of("a."), 2);
	check_numbers(FILE_1, "/a", 0, 500);
	check_numbers(FILE_2, "/a", 0, 500);
	end();
}

/* ---- files that go away ---- */

TEST_WITH(a_deleted_file_is_reported_and_the_rest_is_recorded, NULL, stack_sweep)
{
	struct recording rec;
	unsigned lost = 0;
	char text[64];

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	AWAIT(access(FILE_1, F_OK) == 0);
	assert_int_equal(unlink(FILE_1), 0);
	AWAIT(printed(&rec, FILE_1 ": the file has disappeared"));
	publish_many(0, 10, 20);
	assert_int_equal(end_record(&rec, SIGINT), 1);
	do { /* messages that were still being ordered are in the next file */
		snprintf(text, sizeof(text), "%u messages, %u lost", 30 - lost, lost);
	} while (!strstr(rec.text, text) && ++lost <= 10);
	assert_in_range(lost, 0, 10);
	check_numbers(FILE_1, "/a", lost, 30 - lost);
	end();
}

/* ---- invalid commands ---- */

TEST_WITH(invalid_options_are_reported, NULL, stack_sweep)
{
	static const struct {
		const char *arg, *value, *sentence;
	} bad[] = {
		{ "--encoding", "morse", "--encoding is native, packed, json, ros2, ros1 or apollo" },
		{ "--compression", "much", "--compression is none, lz4, zstd or bz2" },
		{ "--apollo", "5.0", "--apollo and --definitions are for messages in the encoding apollo" },
		{ "--out", "a.txt", "--out: the name must end in .mcap, .bag or .record" },
		{ "--split-size", "big", "--split-size is a number of bytes" },
		{ "--max-memory", "1GiB", "go with --pre-buffer" },
		{ "--pre-buffer", "5", "--pre-buffer" },
		{ "--whatever", "5", "--whatever" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct ctl_result *r = stack_ctl("record", bad[i].arg, bad[i].value, NULL);

		assert_int_equal(r->code, 2);
		if (!strstr(r->err, bad[i].sentence))
			fail_msg("%s %s: %s", bad[i].arg, bad[i].value, r->err);
	}
	assert_int_equal(stack_ctl("record", "--socket", "/tmp/none", NULL)->code, 1);
}

/* Before it reports that it records. A recorder that waits for a trigger checks it too. */
TEST_WITH(a_file_that_cannot_be_created_is_an_error_at_the_start, NULL, stack_sweep)
{
	const struct ctl_result *r;

	BEGIN("/a");
	r = stack_ctl("record", "-o", "/tmp/missing/x.mcap", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/tmp/missing/x.mcap: No such file or directory"));
	r = stack_ctl("record", "-o", "/tmp/missing/x.bag", "--pre-buffer", "1s", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/tmp/missing/x.bag: No such file or directory"));
	r = stack_ctl("record", "-o", "/proc/x.record", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "/proc/x.record: "));
	assert_int_equal(access("/tmp/missing", F_OK), -1);
	end();
}

TEST_WITH(a_pattern_that_matches_nothing_is_named, NULL, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "/a", "late*", "nope*", "-o", FILE_1);
	AWAIT(is_ready());
	assert_true(printed(&rec, "no channel matches 'nope*' yet; one that appears later is recorded"));
	assert_true(printed(&rec, "no channel matches 'late*' yet"));
	assert_false(printed(&rec, "'/a'"));
	assert_int_equal(sim_advertise(voice.c, "/later", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	AWAIT(is_subscribed("/later"));
	caught_up();
	publish_many(0, 0, 5);
	publish_many(1, 0, 5);
	assert_int_equal(end_record(&rec, SIGINT), 1);
	assert_true(printed(&rec, "no channel has matched 'nope*'"));
	assert_false(printed(&rec, "has matched 'late*'"));
	assert_int_equal(messages_of(FILE_1, NULL), 10);
	end();
}
