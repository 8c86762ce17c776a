/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `simctl record` with a real simd: what is in the log of what was published, channels that appear later, files that are split, the last
 * seconds before a trigger, pauses, losses, ends, a restart of simd.
 */
#include "peer.h"
#include "stack.h"
#include "terminal.h"

#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/stat.h>
#include <utmp.h>

#include <sim/msg/ClockEvent.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Imu.h>
#include <sim/msg/ServiceCall.h>

#include "record/codec.h"
#include "record/log.h"

TEST_PROCESSES()

#define CONF \
	"\"TimeSource\":\"simulation\",\"pools\":[{\"size\":\"1KiB\",\"count\":3000},{\"size\":\"64KiB\",\"count\":200}]"
#define FILE_1 "/tmp/a.mcap"
#define FILE_2 "/tmp/a.2.mcap"

/* ---- the recorder beside the test ---- */

struct recording {
	pid_t pid;
	int out; /* what it prints */
	size_t n;
	char text[65536];
};

static void exec_record(const char *const *args)
{
	const char *argv[32] = { "simctl", "--socket", STACK_SOCKET, "record" };
	char path[4200];
	ssize_t n = readlink("/proc/self/exe", path, 4000);
	int k = 4;

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../bin/simctl");
	while (*args)
		argv[k++] = *args++;
	execv(path, (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void start_record(struct recording *rec, const char *const *args)
{
	int fd[2];

	memset(rec, 0, sizeof(*rec));
	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	rec->pid = fork();
	assert_true(rec->pid >= 0);
	if (rec->pid == 0) {
		dup2(fd[1], STDOUT_FILENO);
		dup2(fd[1], STDERR_FILENO);
		close(STDIN_FILENO); /* it needs none */
		exec_record(args);
	}
	close(fd[1]);
	rec->out = fd[0];
	assert_int_equal(fcntl(rec->out, F_SETFL, O_NONBLOCK), 0);
}
#define RECORD(rec, ...) start_record(rec, (const char *const[]){ __VA_ARGS__, NULL })

/* Whether it has printed that by now. */
static bool printed(struct recording *rec, const char *text)
{
	ssize_t got;

	while (rec->n < sizeof(rec->text) - 1 &&
	       (got = read(rec->out, rec->text + rec->n, sizeof(rec->text) - 1 - rec->n)) > 0)
		rec->n += (size_t)got;
	rec->text[rec->n] = '\0';
	return strstr(rec->text, text);
}

static int end_record(struct recording *rec, int sig)
{
	int status;

	kill(rec->pid, sig);
	status = stack_wait(rec->pid);
	(void)printed(rec, "");
	close(rec->out);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- who publishes ---- */

struct voice {
	struct sim_client *c;
	struct sim_publisher *pub[3];
	unsigned n;
};

static pid_t simd;
static struct voice voice;

static void begin_with(const char *conf, unsigned flags, const char *const *channels, unsigned n)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "voice", .timeout_ms = PATIENT_MS };
	struct sim_publisher_options po = { .size = sizeof(po), .flags = flags };

	(void)!system("rm -f /tmp/*.mcap /tmp/*.bag /tmp/*.record");
	simd = stack_start(conf);
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	assert_int_equal(sim_connect(&o, &voice.c), 0);
	voice.n = n;
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sim_advertise(voice.c, channels[i], &sim_Imu_type, &po, &voice.pub[i]), 0);
}
static void begin(const char *const *channels, unsigned n)
{
	begin_with(CONF, SIM_PUB_LOCAL, channels, n);
}
#define BEGIN(...) \
	begin((const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void end_voice(void)
{
	for (unsigned i = 0; i < voice.n; i++)
		sim_publisher_destroy(voice.pub[i]);
	sim_disconnect(voice.c);
}

static void end(void)
{
	end_voice();
	stack_kill(simd);
}

/* It has all its channels: its services come last. */
static bool is_ready(void)
{
	return strstr(stack_ctl("service", "list", "--names", NULL)->out, "/record/split");
}

/* It has recorded what was published before, and all that it knows of is subscribed to. */
static void caught_up(void)
{
	assert_int_equal(stack_ctl("service", "call", "/record/resume", NULL)->code, 0);
}

static void publish(unsigned i, unsigned number)
{
	struct sim_Imu m = { .position = { .x = number } };

	assert_int_equal(sim_publish_local_copy(voice.pub[i], &m, sizeof(m), 0), 0);
}

/* No more than its queue takes. */
static void publish_many(unsigned i, unsigned from, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		publish(i, from + k);
}

static bool is_subscribed(const char *channel)
{
	json_t *reply = stack_call("ListChannels", NULL), *ch;
	bool is = false;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch)
		if (strcmp(json_string_value(json_object_get(ch, "name")), channel) == 0)
			is = json_array_size(json_object_get(ch, "subscribers")) == 1;
	json_decref(reply);
	return is;
}

/* ---- what is in a file ---- */

static unsigned messages_of(const char *path, const char *channel)
{
	struct log_reader *r;
	struct log_message m;
	char why[300];
	unsigned n = 0;

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (log_reader_next(r, &m) == 1)
		n += !channel || strcmp(log_reader_info(r)->channels[m.channel].topic, channel) == 0;
	assert_true(log_reader_info(r)->complete);
	log_reader_close(r);
	return n;
}

/* A value of the metadata of that name; static; "": it is not there. */
static const char *metadata_of(const char *path, const char *name, const char *key)
{
	static char value[200];
	const struct log_info *info;
	struct log_reader *r;
	char why[300];

	*value = '\0';
	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), 0);
	info = log_reader_info(r);
	for (size_t i = 0; i < info->n_metadata; i++)
		for (size_t k = 0; strcmp(info->metadata[i].name, name) == 0 && k < info->metadata[i].n; k++)
			if (strcmp(info->metadata[i].pairs[k].key, key) == 0)
				snprintf(value, sizeof(value), "%s", info->metadata[i].pairs[k].value);
	log_reader_close(r);
	return value;
}

/* Numbers of the channel's messages, which must follow one another from `first` on. */
static void check_numbers(const char *path, const char *channel, unsigned first, unsigned n)
{
	uint8_t body[4096] __attribute__((aligned(64)));
	struct codec_in *codec = NULL;
	struct log_reader *r;
	struct log_message m;
	unsigned k = 0;
	char why[300];

	assert_int_equal(log_reader_open(path, NULL, &r, why, sizeof(why)), 0);
	while (log_reader_next(r, &m) == 1) {
		const struct log_channel *ch = &log_reader_info(r)->channels[m.channel];
		struct message_in in = { .buf = body, .room = sizeof(body) };

		if (strcmp(ch->topic, channel) != 0)
			continue;
		if (!codec)
			assert_int_equal(codec_in_create(ch, &codec, why, sizeof(why)), 0);
		assert_int_equal(codec_in_decode(codec, &m, &in), 0);
		assert_true(((const struct sim_Imu *)(const void *)body)->position.x == first + k);
		k++;
	}
	assert_int_equal(k, n);
	codec_in_destroy(codec);
	log_reader_close(r);
}

/* ---- tests ---- */

TEST_WITH(what_is_published_is_in_the_file, NULL, stack_sweep)
{
	struct recording rec;
	const struct ctl_result *r;

	BEGIN("/a", "/b");
	RECORD(&rec, "-o", FILE_1);
	AWAIT(is_ready());
	assert_true(is_subscribed("/a") && is_subscribed("/b") && is_subscribed("/simd/clock_events"));
	publish_many(0, 0, 200);
	publish_many(1, 0, 100);
	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(stack_ctl("service", "call", "/record/resume", NULL)->code, 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_non_null(strstr(rec.text, "302 messages, 0 lost"));
	check_numbers(FILE_1, "/a", 0, 200);
	check_numbers(FILE_1, "/b", 0, 100);
	assert_int_equal(messages_of(FILE_1, "/simd/clock_events"), 1);
	assert_int_equal(messages_of(FILE_1, "/simd/service_calls"), 1);
	assert_string_equal(metadata_of(FILE_1, "simd_losses", "/a"), "accepted=200 recorded=200 lost=0");
	assert_string_equal(metadata_of(FILE_1, "simd", "time_source"), "simulation");
	r = stack_ctl("bag", "info", FILE_1, NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "302"));
	r = stack_ctl("bag", "cat", FILE_1, "--include", "/simd/*", NULL);
	assert_non_null(strstr(r->out, "\"service\":\"/record/resume\""));
	assert_non_null(strstr(r->out, "\"source\":\"simulation\""));
	assert_int_equal(stack_ctl("bag", "doctor", FILE_1, NULL)->code, 0);
	end();
}

TEST_WITH(patterns_and_types_choose, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/car/a", "/car/b", "/bus/a");
	RECORD(&rec, "car/*", "/bus/*", "--exclude", "*b", "--types", "sim/Imu", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 3; i++)
		publish_many(i, 0, 10);
	assert_int_equal(end_record(&rec, SIGTERM), 0);
	assert_int_equal(messages_of(FILE_1, NULL), 20);
	assert_int_equal(messages_of(FILE_1, "/car/b"), 0);
	end();
}

TEST_WITH(channels_that_appear_later_are_taken_up, NULL, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL };
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "-o", FILE_1);
	AWAIT(is_ready());
	assert_int_equal(sim_advertise(voice.c, "/late", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	AWAIT(is_subscribed("/late"));
	caught_up();
	publish_many(1, 0, 30);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	check_numbers(FILE_1, "/late", 0, 30);
	end();
}

static unsigned files_of(const char *prefix)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;
	unsigned n = 0;

	while ((e = readdir(d)))
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	closedir(d);
	return n;
}

TEST_WITH(files_are_split_and_none_is_overwritten, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n = 0, files;
	char path[64];
	int fd;

	BEGIN("/a");
	fd = open(FILE_1, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "precious", 8), 8);
	close(fd);
	RECORD(&rec, "/a", "--compression", "none", "--split-size", "64KiB", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 20; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	files = files_of("a.");
	assert_true(files > 3);
	for (unsigned i = 2; i <= files; i++) {
		snprintf(path, sizeof(path), "/tmp/a.%u.mcap", i);
		n += messages_of(path, "/a");
	}
	assert_int_equal(n, 2000);
	fd = open(FILE_1, O_RDONLY);
	assert_int_equal(read(fd, path, sizeof(path)), 8);
	close(fd);
	end();
}

/* Each order of a batch takes simctl a start of its own: the log goes on by more than a microsecond. */
TEST_WITH(files_are_split_by_time, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n = 0, files;
	char path[64];

	BEGIN("/a");
	RECORD(&rec, "/a", "--split-duration", "1us", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 5; i++) {
		publish(0, i);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	files = files_of("a.");
	assert_int_equal(files, 5);
	for (unsigned i = 1; i <= files; i++) {
		snprintf(path, sizeof(path), i == 1 ? FILE_1 : "/tmp/a.%u.mcap", i);
		n += messages_of(path, "/a");
	}
	assert_int_equal(n, 5);
	end();
}

/* A latched publisher's last message is at the begin of each file, as it was published. */
TEST_WITH(each_file_of_a_split_begins_with_what_is_latched, NULL, stack_sweep)
{
	struct sim_publisher_options po = { .size = sizeof(po), .flags = SIM_PUB_LOCAL | SIM_PUB_LATCH };
	struct recording rec;
	unsigned files;

	BEGIN("/a");
	assert_int_equal(sim_advertise(voice.c, "/map", &sim_Imu_type, &po, &voice.pub[voice.n++]), 0);
	publish(1, 76);
	publish(1, 77);
	RECORD(&rec, "/a", "/map", "--split-duration", "1us", "-o", FILE_1);
	AWAIT(is_ready());
	caught_up();
	for (unsigned i = 0; i < 3; i++) {
		publish(0, i);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_non_null(strstr(rec.text, "4 messages, 0 lost"));
	files = files_of("a.");
	assert_int_equal(files, 4);
	for (unsigned i = 1; i <= files; i++) {
		char path[64];

		snprintf(path, sizeof(path), i == 1 ? FILE_1 : "/tmp/a.%u.mcap", i);
		check_numbers(path, "/map", 77, 1);
		assert_int_equal(messages_of(path, "/a"), i > 1);
	}
	end();
}

TEST_WITH(logs_of_ros_1_and_apollo_are_recorded, NULL, stack_sweep)
{
	static const char *const files[] = { "/tmp/a.bag", "/tmp/a.record" };
	struct recording rec;

	BEGIN("/a");
	for (unsigned i = 0; i < 2; i++) {
		RECORD(&rec, "/a", "-o", files[i]);
		AWAIT(is_ready());
		publish_many(0, 0, 50);
		assert_int_equal(end_record(&rec, SIGINT), 0);
		assert_non_null(strstr(rec.text, "50 messages, 0 lost"));
		assert_int_equal(messages_of(files[i], i ? "/apollo/sensor/gnss/imu" : "/a"), 50);
		assert_int_equal(stack_ctl("bag", "doctor", files[i], NULL)->code, 0);
	}
	end();
}

TEST_WITH(a_directory_of_rosbag2_has_its_metadata, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "/a", "--compression", "none", "--split-size", "64KiB", "-o", "/tmp/bag/");
	AWAIT(is_ready());
	for (unsigned i = 0; i < 20; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(access("/tmp/bag/bag.3.mcap", F_OK), 0);
	assert_int_equal(messages_of("/tmp/bag", "/a"), 2000);
	RECORD(&rec, "/b", "-o", "/tmp/none/");
	AWAIT(is_ready());
	assert_int_equal(end_record(&rec, SIGINT), 1); /* nothing of what was asked for */
	assert_int_equal(access("/tmp/none", F_OK), -1);
	end();
}

/* ---- triggers ---- */

TEST_WITH(a_trigger_writes_what_was_kept, NULL, stack_sweep)
{
	struct recording rec;
	const struct ctl_result *r;

	BEGIN("/a");
	RECORD(&rec, "/a", "--pre-buffer", "1h", "--trigger", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 40);
	r = stack_ctl("record", "--dump", NULL);
	assert_int_equal(r->code, 0);
	assert_string_equal(r->out, "40 messages into " FILE_1 "\n");
	assert_int_equal(messages_of(FILE_1, NULL), 40);
	publish_many(0, 40, 10);
	kill(rec.pid, SIGUSR1);
	AWAIT(printed(&rec, FILE_2));
	check_numbers(FILE_2, "/a", 40, 10);
	publish_many(0, 50, 5); /* that nobody asks for */
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(files_of("a."), 2);
	r = stack_ctl("record", "--dump", NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "nobody offers service /record/dump"));
	end();
}

TEST_WITH(what_is_kept_for_a_trigger_has_a_bound, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n;

	BEGIN("/a");
	RECORD(&rec, "/a", "--pre-buffer", "1h", "--max-memory", "64KiB", "--trigger", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned i = 0; i < 10; i++) {
		publish_many(0, i * 100, 100);
		caught_up();
	}
	assert_int_equal(stack_ctl("record", "--dump", NULL)->code, 0);
	n = messages_of(FILE_1, "/a");
	assert_in_range(n, 10, 999);
	check_numbers(FILE_1, "/a", 1000 - n, n);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	end();
}

TEST_WITH(keys_trigger_and_pause, NULL, stack_sweep)
{
	const char *const args[] = { "/a", "--pre-buffer", "1h", "-o", FILE_1, NULL };
	struct recording rec = { 0 };
	int fd, slave;

	TERMINAL_OR_SKIP();
	BEGIN("/a");
	assert_int_equal(openpty(&fd, &slave, NULL, NULL, NULL), 0);
	rec.pid = fork();
	assert_true(rec.pid >= 0);
	if (rec.pid == 0) {
		close(fd);
		login_tty(slave);
		exec_record(args);
	}
	rec.out = fd;
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	AWAIT(is_ready());
	publish_many(0, 0, 40);
	AWAIT(printed(&rec, " 40 messages,"));
	assert_int_equal(write(fd, "t", 1), 1);
	AWAIT(printed(&rec, "40 messages into " FILE_1));
	publish_many(0, 40, 20);
	AWAIT(printed(&rec, "  60 messages"));
	assert_int_equal(write(fd, " ", 1), 1);
	AWAIT(printed(&rec, "PAUSED"));
	publish_many(0, 1000, 20);
	rec.n = 0;
	assert_int_equal(write(fd, " ", 1), 1);
	AWAIT(printed(&rec, "RECORDING"));
	publish_many(0, 60, 10);
	AWAIT(printed(&rec, "  70 messages"));
	assert_int_equal(write(fd, "q", 1), 1);
	assert_int_equal(WEXITSTATUS(stack_wait(rec.pid)), 0);
	check_numbers(FILE_1, "/a", 0, 70);
	close(fd);
	close(slave);
	end();
}

/* ---- pauses and losses ---- */

TEST_WITH(a_pause_records_nothing, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/a", "/b");
	RECORD(&rec, "/a", "--start-paused", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 1000, 20);
	assert_non_null(strstr(stack_ctl("service", "call", "/record/toggle_paused", NULL)->out, "recording"));
	publish_many(0, 0, 30);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	check_numbers(FILE_1, "/a", 0, 30);
	end();
}

TEST_WITH(losses_are_counted_and_in_the_file, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n, accepted, recorded, lost;

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	kill(rec.pid, SIGSTOP);
	AWAIT(test_stands(rec.pid));
	for (n = 10; n < 1000; n++)
		publish(0, n);
	kill(rec.pid, SIGCONT);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	assert_int_equal(sscanf(metadata_of(FILE_1, "simd_losses", "/a"), "accepted=%u recorded=%u lost=%u", &accepted,
				&recorded, &lost),
			 3);
	assert_int_equal(accepted, 1000);
	assert_int_equal(recorded, messages_of(FILE_1, "/a"));
	assert_int_equal(recorded + lost, 1000);
	assert_true(lost > 100);
	assert_non_null(strstr(rec.text, " lost\n"));
	assert_non_null(strstr(rec.text, "/a: "));
	end();
}

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

/* What waits is bounded by --backlog, and of small messages none is lost while there are large ones to lose. */
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
#define FEW CONF ",\"limits\":{\"subscribers\":3}"

static bool is_left_out(const char *path, const char *channel, const char *why)
{
	return strstr(metadata_of(path, "simd_left_out", channel), why);
}

TEST_WITH(channels_that_simd_refuses_are_named_and_the_exit_code_says_so, NULL, stack_sweep)
{
	static const char *const channels[] = { "/a", "/b", "/c" };
	const struct ctl_result *r;
	struct recording rec;

	begin_with(FEW, SIM_PUB_LOCAL, channels, 3);
	r = stack_ctl("record", "--strict", "-o", FILE_1, NULL);
	assert_int_equal(r->code, 1);
	assert_non_null(strstr(r->err, "not all of what was asked for can be recorded (--strict)"));
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

TEST_WITH(two_recorders_of_one_file_name_have_a_file_each, NULL, stack_sweep)
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

TEST_WITH(a_file_that_is_deleted_is_said_and_the_rest_is_recorded, NULL, stack_sweep)
{
	struct recording rec;

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	AWAIT(access(FILE_1, F_OK) == 0);
	assert_int_equal(unlink(FILE_1), 0);
	AWAIT(printed(&rec, FILE_1 ": it is not there any more"));
	publish_many(0, 10, 20);
	assert_int_equal(end_record(&rec, SIGINT), 1);
	assert_non_null(strstr(rec.text, "20 messages, 10 lost"));
	check_numbers(FILE_1, "/a", 10, 20);
	end();
}

/* ---- log times ---- */

#define BRIDGED \
	CONF ",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"rec\",\"plugin\":\"mcap\",\"connection\":\"/tmp/bridge\"}]}]"
#define EACH  50
#define STOPS 6

/* Of each channel's messages, by number; 0: not there. */
struct times {
	int64_t ns[2][STOPS * EACH + 1];
};

static void add_times(const char *path, struct times *t)
{
	struct log_reader *r;
	struct log_message m;
	char why[300];

	if (log_reader_open(path, NULL, &r, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	while (log_reader_next(r, &m) == 1) {
		const char *topic = log_reader_info(r)->channels[m.channel].topic;

		if (strcmp(topic, "/a") != 0 && strcmp(topic, "/b") != 0)
			continue;
		assert_in_range(m.sequence, 1, STOPS * EACH);
		t->ns[topic[1] == 'b'][m.sequence] = m.log_time_ns;
	}
	log_reader_close(r);
}

static void read_times(const char *stem, struct times *t)
{
	char path[64];

	memset(t, 0, sizeof(*t));
	for (unsigned i = 1;; i++) {
		snprintf(path, sizeof(path), i > 1 ? "/tmp/%s.%u.mcap" : "/tmp/%s.mcap", stem, i);
		if (access(path, F_OK) < 0)
			return;
		add_times(path, t);
	}
}

/* For simd's bridges and everybody else. */
static void queue_both(unsigned number)
{
	struct sim_Imu m = { .position = { .x = number } };

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(sim_try_queue_copy(voice.pub[i], &m, sizeof(m), 0, NULL, NULL, NULL), 0);
}

/* Another clock, in the middle of what the stopped recorder has not seen yet. */
static void disturb(unsigned n)
{
	static const char *const orders[][2] = { { "scale", "3" }, { "source", "system" }, { "source", "simulation" } };
	const char *const *o = orders[n % 3];

	assert_int_equal(stack_ctl("clock", "pause", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", "resume", NULL)->code, 0);
	assert_int_equal(stack_ctl("clock", o[0], o[1], NULL)->code, 0);
}

/* A recorder that is stopped again and again while clocks change, beside a bridge that is not: not a nanosecond lies between them. */
TEST_WITH(a_stopped_recorder_writes_the_times_of_the_bridge, NULL, stack_sweep)
{
	static const char *const channels[] = { "/a", "/b" };
	static struct times bridge, recorder;
	struct recording rec;

	begin_with(BRIDGED, 0, channels, 2);
	AWAIT(!strcmp(stack_bridge_text("rec", "status"), "connected"));
	RECORD(&rec, "/a", "/b", "-o", FILE_1);
	AWAIT(is_ready());
	for (unsigned round = 0; round < STOPS; round++) {
		kill(rec.pid, SIGSTOP);
		AWAIT(test_stands(rec.pid));
		for (unsigned i = 0; i < EACH; i++) {
			queue_both(i);
			pace_us(1000);
			if (i == EACH / 2)
				disturb(round);
		}
		kill(rec.pid, SIGCONT);
		caught_up();
	}
	assert_int_equal(sim_flush(voice.c, -1), 0);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	end_voice();
	stack_stop(simd); /* in order: the bridge has written all */
	read_times("bridge", &bridge);
	read_times("a", &recorder);
	for (unsigned k = 1; k <= STOPS * EACH; k++)
		for (unsigned i = 0; i < 2; i++) {
			assert_true(bridge.ns[i][k] > 0);
			assert_int_equal(recorder.ns[i][k], bridge.ns[i][k]);
		}
}

/* ---- simd ---- */

TEST_WITH(recording_goes_on_after_a_restart_of_simd, NULL, stack_sweep)
{
	struct recording rec;
	unsigned n;

	BEGIN("/a");
	RECORD(&rec, "/a", "-o", FILE_1);
	AWAIT(is_ready());
	publish_many(0, 0, 10);
	caught_up();
	stack_kill(simd);
	AWAIT(printed(&rec, "disconnected from simd"));
	simd = stack_start(CONF);
	AWAIT(printed(&rec, "simd is back, recording goes on"));
	AWAIT(sim_client_state(voice.c) == SIM_CLIENT_CONNECTED && is_subscribed("/a") && is_ready());
	publish_many(0, 10, 10);
	assert_int_equal(end_record(&rec, SIGINT), 0);
	n = messages_of(FILE_1, "/a");
	if (access(FILE_2, F_OK) == 0)
		n += messages_of(FILE_2, "/a");
	assert_int_equal(n, 20);
	end();
}

TEST_WITH(what_cannot_be_is_said, NULL, stack_sweep)
{
	static const struct {
		const char *arg, *value, *sentence;
	} bad[] = {
		{ "--encoding", "morse", "--encoding is native, packed, ros2, ros1 or apollo" },
		{ "--compression", "much", "--compression is none, lz4, zstd or bz2" },
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

/* Before it says that it records. What is kept for a trigger is not kept for nothing either. */
TEST_WITH(no_file_can_be_made_is_an_error_at_start, NULL, stack_sweep)
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
