/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recording bridge, in a whole simd: every accepted message is in its files, however it is stopped, blocked or
 * restarted, and @mcap/core counts the same. That equal runs write equal files is tested by test_order.
 */
#include "peer.h"
#include "stack.h"

#include <fcntl.h>
#include <stdlib.h>

#include "record/log.h"

#define STEPS     3000
#define STEP_DUR  (20 * NS_PER_MS)
#define SLOW_ONES 300
#define CONF \
	"\"TimeSource\":\"unity\"," STACK_POOLS ",\"dispatch\":{\"deadline_ms\":60000}," \
	"\"process\":{\"stop_ms\":60000},\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/out\"}]}]"

static pid_t simd;

static void start(void)
{
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
}

/* ---- the content of the files ---- */

struct found {
	unsigned files, one, two;
	uint64_t accepted, recorded, lost; /* by the metadata */
	int64_t end_ns[8];                 /* of each file */
	bool complete[8];
};

static const char *path_of(unsigned number)
{
	static char path[64];

	snprintf(path, sizeof(path), number > 1 ? "/tmp/out.%u.mcap" : "/tmp/out.mcap", number);
	return path;
}

static void add_losses(struct found *f, const struct log_info *info)
{
	for (size_t i = 0; i < info->n_metadata; i++)
		for (size_t k = 0; !strcmp(info->metadata[i].name, "simd_losses") && k < info->metadata[i].n; k++) {
			unsigned long long a, r, l;

			assert_int_equal(sscanf(info->metadata[i].pairs[k].value,
						"accepted=%llu recorded=%llu lost=%llu", &a, &r, &l),
					 3);
			f->accepted += a;
			f->recorded += r;
			f->lost += l;
		}
}

static uint64_t newest[2];       /* of each channel */
static uint64_t steps = STEPS;   /* that were made at most */
static int64_t published_dur_ns; /* a step's, where each message is to have the time of its own; 0: it is not looked at */

/*
 * Each number once and in order, whatever the number of lanes, and times of each channel only rise; in lock-step those of all. Else one
 * channel may come later than what the recording waits, where this process stands still (unit/record/test_recording_order.c: the order).
 */
static void read_file(struct found *f, struct log_reader *r, bool lockstep)
{
	int64_t ns[2] = { -1, -1 };
	struct log_message m;
	int k;

	while ((k = log_reader_next(r, &m)) > 0) {
		unsigned two = !strcmp(log_reader_info(r)->channels[m.channel].topic, "/t/two");

		assert_true(m.sequence > newest[two] && m.sequence <= steps);
		newest[two] = m.sequence;
		assert_true(m.log_time_ns >= ns[two] && (!lockstep || m.log_time_ns >= ns[!two]));
		if (published_dur_ns)
			assert_int_equal(m.log_time_ns, m.sequence * published_dur_ns);
		ns[two] = m.log_time_ns;
		*(two ? &f->two : &f->one) += 1;
	}
	assert_int_equal(k, 0);
	add_losses(f, log_reader_info(r));
	f->complete[f->files] = log_reader_info(r)->complete;
	f->end_ns[f->files] = ns[0] > ns[1] ? ns[0] : ns[1];
}

static struct found look(bool lockstep)
{
	struct found f = { 0 };
	struct log_reader *r;
	char why[512];
	int e;

	memset(newest, 0, sizeof(newest));
	for (; f.files < 8; f.files++) {
		e = log_reader_open(path_of(f.files + 1), &(struct log_read_options){ .file_order = true }, &r, why,
				    sizeof(why));
		if (e == -ENOENT)
			break;
		if (e < 0)
			fail_msg("%s", why);
		read_file(&f, r, lockstep);
		log_reader_close(r);
	}
	return f;
}

/* ---- an engine ---- */

/* n steps; 0: until it is to stop, no faster than a log of 200000 messages lasts for. */
static int run(struct peer *p, unsigned flags, int n, int64_t step_ns)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_publisher *one = peer_advertise(p, c, "/t/one", 64, 0), *two = peer_advertise(p, c, "/t/two", 64, 0);
	struct sim_driver *d;

	PEER(p, sim_driver_acquire(c, flags, &d) == 0);
	atomic_store(&p->ready, 1);
	for (int i = 0; n ? i < n : !atomic_load(&p->stop); i++) {
		if (!n)
			pace_us(200);
		PEER(p, sim_driver_advance(d, step_ns, NULL) == 0);
		PEER(p, peer_queue(p, one, sizeof(struct sim_Ultrasonic), NULL) == 0);
		PEER(p, peer_queue(p, two, sizeof(struct sim_Ultrasonic), NULL) == 0);
		atomic_store(&p->sim_ns, (i + 1) * step_ns);
	}
	sim_driver_release(d); /* messages accepted by now are still waited for */
	peer_settle(p);
	sim_publisher_destroy(one);
	sim_publisher_destroy(two);
	sim_disconnect(c);
	return 0;
}

/* Advances as fast as it can. */
static int engine(struct peer *p)
{
	return run(p, SIM_DRIVER_FREEWHEEL, STEPS, 10 * NS_PER_MS);
}

/* Until it is to stop. */
static int long_engine(struct peer *p)
{
	return run(p, SIM_DRIVER_FREEWHEEL, 0, STEP_DUR);
}

static int lockstep_engine(struct peer *p)
{
	return run(p, SIM_DRIVER_FREEWHEEL | SIM_DRIVER_LOCKSTEP, SLOW_ONES, STEP_DUR);
}

/* ---- @mcap/core ---- */

/* The counts of @mcap/core for each topic of the file, by the index and as a stream, equal ours. */
static void foreign_counts(const char *path, unsigned one, unsigned two)
{
	char line[256], want[128], got[128] = "";
	FILE *f;

	if (access("build/npm/node_modules/@mcap/core", F_OK) < 0) {
		print_message("not tried, without @mcap/core: run tools/dev/deps.sh full\n");
		assert_false(test_full());
		return;
	}
	snprintf(line, sizeof(line), "node tests/system/decode/counts.js build/npm %s", path);
	snprintf(want, sizeof(want), "/t/one %u\n", one);
	f = popen(line, "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof(got), f));
	assert_string_equal(got, want);
	snprintf(want, sizeof(want), "/t/two %u\n", two);
	assert_non_null(fgets(got, sizeof(got), f));
	assert_string_equal(got, want);
	assert_int_equal(pclose(f), 0);
}

/* ---- tests ---- */

/* While it is stopped producers wait for it; started again it goes on in a new file. Nothing is lost by either. */
TEST_WITH(all_accepted_messages_are_recorded, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	struct found f;
	pid_t pid, rec;
	uint64_t called;

	start();
	pid = peer_fork(p, engine);
	AWAIT(p->called > 500);
	rec = (pid_t)stack_bridge("rec", "pid");
	assert_int_equal(kill(rec, SIGSTOP), 0);
	do { /* until nothing moves any more */
		called = p->called;
		moment_us(100000);
	} while (p->called != called);
	assert_int_equal(kill(rec, SIGCONT), 0);
	AWAIT(p->called > 2000);
	assert_int_equal(stack_ctl("bridge", "restart", "rec", NULL)->code, 0);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->accepted, 2 * STEPS);
	assert_int_equal(p->ok, 2 * STEPS);
	stack_stop(simd);
	f = look(false);
	assert_true(f.files == 2 ||
		    f.files == 1); /* one where the run was over first: a file without messages is removed */
	assert_int_equal(f.one, STEPS);
	assert_int_equal(f.two, STEPS);
	assert_int_equal(f.accepted, 2 * STEPS);
	assert_int_equal(f.recorded, 2 * STEPS);
	assert_int_equal(f.lost, 0);
	assert_true(f.complete[0] && (f.files < 2 || f.complete[1]));
	peer_free(p);
}

TEST_WITH(other_readers_count_the_same_messages, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	struct found f;

	start();
	peer_join(p, peer_fork(p, engine));
	peer_check(p, false);
	stack_stop(simd);
	f = look(false);
	assert_int_equal(f.files, 1);
	assert_int_equal(f.one + f.two, p->ok);
	foreign_counts(path_of(1), f.one, f.two);
	peer_free(p);
}

/* ---- a disk that stands still ---- */

#define BLOCKED(deadline_ms) \
	"\"TimeSource\":\"unity\"," STACK_POOLS ",\"dispatch\":{\"deadline_ms\":" deadline_ms "}," \
	"\"process\":{\"stop_ms\":60000},\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/out\",\"channels\":[\"/t/*\"]}," \
	"{\"name\":\"free\",\"plugin\":\"null\",\"channels\":[\"/free\"]}]}]"
#define FREE 300 /* messages past it */

/* simd and what it starts; a thread of theirs that writes into a log waits as long as GATE_FILE is there (gate.c). */
static void start_gated(const char *conf)
{
	setenv("LD_PRELOAD", GATE, 1);
	simd = stack_start(conf);
	unsetenv("LD_PRELOAD");
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
	AWAIT(!strcmp(stack_bridge_text("free", "status"), "connected"));
}

/* On a channel of another bridge of the rig: each of its messages is delivered. */
static int past_it(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "free");
	struct sim_publisher *pub = peer_advertise(p, c, "/free", 64, 0);

	for (unsigned i = 0; i < FREE; i++)
		PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
	peer_settle(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/*
 * The bridge's records wait for the disk, but nothing else does: neither simd, nor a channel of another bridge. The
 * bridge is not considered dead, and when the disk continues all accepted messages are in one file, with the time at
 * which they were published.
 */
TEST_WITH(while_the_disk_stands_producers_wait_and_nothing_is_lost, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *other = peer_new();
	uint64_t called;
	struct found f;
	pid_t pid, rec;

	start_gated(BLOCKED("60000"));
	rec = (pid_t)stack_bridge("rec", "pid");
	pid = peer_fork(p, long_engine);
	AWAIT(p->called > 500);
	close(open("/tmp/gate", O_CREAT | O_WRONLY, 0600));
	AWAIT(access("/tmp/gate.waits", F_OK) == 0);
	do { /* until nothing moves any more */
		called = p->called;
		moment_us(100000);
	} while (p->called != called);
	peer_join(other, peer_fork(other, past_it));
	peer_check(other, false);
	assert_int_equal(other->ok, FREE);
	assert_int_equal(p->called, called);
	assert_string_equal(stack_bridge_text("rec", "status"), "connected");
	assert_int_equal(unlink("/tmp/gate"), 0);
	assert_int_equal(unlink("/tmp/gate.waits"), 0);
	AWAIT(p->called > called + 500);
	atomic_store(&p->stop, 1);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(p->ok, p->accepted);
	assert_int_equal(stack_bridge("rec", "pid"), rec);
	stack_stop(simd);
	steps = p->accepted / 2;
	published_dur_ns = STEP_DUR;
	f = look(false);
	assert_int_equal(f.files, 1);
	assert_int_equal(f.one, steps);
	assert_int_equal(f.two, steps);
	assert_int_equal(f.recorded, 2 * steps);
	assert_int_equal(f.lost, 0);
	peer_free(other);
	peer_free(p);
}

/*
 * The disk blocks for longer than a bridge may take to answer: the bridge is skipped, of which its producers are
 * notified, and takes part again when the disk continues.
 */
TEST_WITH(a_disk_that_blocks_for_too_long_stalls_the_bridge, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	uint64_t called, ok;
	struct found f;
	pid_t pid, rec;

	start_gated(BLOCKED("200"));
	rec = (pid_t)stack_bridge("rec", "pid");
	pid = peer_fork(p, long_engine);
	AWAIT(p->called > 500);
	close(open("/tmp/gate", O_CREAT | O_WRONLY, 0600));
	AWAIT(access("/tmp/gate.waits", F_OK) == 0);
	AWAIT(p->reasons[SIM_REASON_BRIDGE_SLOW] > 0);
	called = p->called;
	AWAIT(p->called > called + 500);
	assert_int_equal(unlink("/tmp/gate"), 0);
	assert_int_equal(unlink("/tmp/gate.waits"), 0);
	ok = p->ok;
	AWAIT(p->ok > ok + 500);
	atomic_store(&p->stop, 1);
	peer_join(p, pid);
	peer_check(p, false);
	assert_int_equal(stack_bridge("rec", "pid"), rec);
	stack_stop(simd);
	steps = p->accepted / 2;
	published_dur_ns = STEP_DUR;
	f = look(false);
	assert_int_equal(f.files, 1);
	assert_true(f.one + f.two >= p->ok); /* an answer that came too late is none */
	assert_true(f.one + f.two < p->accepted);
	assert_int_equal(f.lost, 0); /* of the messages that it was given */
	peer_free(p);
}

/* All but the last second of simulated time is in its file. */
TEST_WITH(a_kill_loses_one_second_at_most, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	struct found f;
	int64_t at;
	pid_t pid;

	start();
	pid = peer_fork(p, lockstep_engine);
	AWAIT(p->sim_ns > 3500 * NS_PER_MS);
	at = p->sim_ns;
	assert_int_equal(kill((pid_t)stack_bridge("rec", "pid"), SIGKILL), 0);
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	f = look(true);
	assert_true(f.files == 2 || f.files == 1);
	assert_false(f.complete[0]);
	assert_true(f.files < 2 || f.complete[1]);
	if (f.end_ns[0] < at - NS_PER_S - 2 * STEP_DUR)
		fail_msg("killed at %lld ms, the file ends at %lld ms", (long long)(at / NS_PER_MS),
			 (long long)(f.end_ns[0] / NS_PER_MS));
	peer_free(p);
}

/* ---- options ---- */

TEST(options_are_checked)
{
	static const char *const argv[] = { "simd", "--config", "/tmp/rec.json", "--check-config", NULL };
	static const char *const bad[][2] = {
		{ "\"encoding\":\"xml\"",
		  "options.encoding: \"xml\" is not native, json, ros2, ros1, packed or apollo" },
		{ "\"compression\":\"bz2\"", "options.compression: \"bz2\" is not none, lz4 or zstd" },
		{ "\"level\":23", "options.level: \"23\" is not a whole number" },
		{ "\"split_size\":\"1kB\"", "options.split_size: \"1kB\" is not 0 or a size" },
		{ "\"split_size\":1000", "options.split_size: \"1000\" is not 0 or a size" },
		{ "\"split_duration\":-1", "options.split_duration: \"-1\" is not 0 or a number of seconds" },
		{ "\"colour\":1", "has no such option" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *f = fopen("/tmp/rec.json", "w");
		const struct ctl_result *r;

		assert_non_null(f);
		fprintf(f,
			"{\"rigs\":[{\"name\":\"a\",\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\","
			"\"connection\":\"/tmp/x\",\"options\":{%s}}]}]}",
			bad[i][0]);
		fclose(f);
		r = stack_run(argv);
		if (r->code != 1 || !strstr(r->err, bad[i][1]))
			fail_msg("%d, \"%s\" does not say \"%s\"", r->code, r->err, bad[i][1]);
	}
	assert_int_equal(remove("/tmp/rec.json"), 0);
}
