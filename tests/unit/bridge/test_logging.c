/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log that loses nothing: however a bridge ends, written messages stay, and the next bridge has a file of its own.
 */
#include "support/test.h"
#include "support/message.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <sim/bridge.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Ultrasonic.h>

#define ROOM 4096 /* of a file */
#define MOST 5000 /* messages that it surely does not take */

static enum sim_bridge_status status;
static char dir[TEST_PATH_MAX], stem[TEST_PATH_MAX + 8];

static char said[512]; /* the last error */

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	va_list ap;

	(void)ctx;
	if (level > 0)
		return;
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static const char *max_array = "256", *full = "false";

static const char *on_option(void *ctx, const char *name)
{
	(void)ctx;
	return !strcmp(name, "level") ? "1" : !strcmp(name, "full") ? full : max_array;
}

static void on_status(void *ctx, enum sim_bridge_status s, const char *detail)
{
	(void)ctx;
	(void)detail;
	status = s;
}

static const struct sim_bridge_host host = {
	.abi = SIM_BRIDGE_ABI, .size = sizeof(host), .log = on_log, .option = on_option, .status = on_status
};

static const struct sim_bridge_ops *load(void)
{
	void *handle = dlopen(PLUGINS "/bridge_logging.so", RTLD_NOW | RTLD_LOCAL), *sym;
	sim_bridge_plugin_fn entry;

	if (!handle)
		fail_msg("%s", dlerror());
	sym = dlsym(handle, SIM_BRIDGE_SYMBOL);
	assert_non_null(sym);
	memcpy(&entry, &sym, sizeof(entry));
	return entry();
}

static int publish(const struct sim_bridge_ops *ops, struct sim_bridge *b, struct sim_bridge_topic *t, uint64_t seq)
{
	struct {
		struct sim_slot slot;
		struct sim_Ultrasonic body;
	} m = { .slot = { .body_size = sizeof(m.body), .sequence = seq }, .body = { .minimum_distance = (float)seq } };
	int r = ops->publish(b, t, MESSAGE_OF(&m.slot), NULL);

	return r ? r : ops->flush(b);
}

/* The sequence number of the first message in a file of the stem; -1: there is none. */
static int first_of(const char *suffix)
{
	char path[sizeof(stem) + 32], line[256], type[64], channel[64];
	double stamp;
	int seq = -1;
	gzFile f;

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	f = gzopen(path, "rb");
	if (f && gzgets(f, line, sizeof(line)))
		assert_int_equal(sscanf(line, "%63s %63s %lf %d", type, channel, &stamp, &seq), 4);
	if (f)
		gzclose(f);
	return seq;
}

static void room(rlim_t bytes)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
	l.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void remove_file(const char *suffix)
{
	char path[sizeof(stem) + 32];

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	assert_int_equal(unlink(path), 0);
}

static uint64_t next_seq, last_before; /* the message that follows; the one before the last gap */

/* Its messages follow one another without a gap, but for the last one of all, and the file ends as a gzip file does. */
static void count_on(const char *suffix)
{
	char path[sizeof(stem) + 32], line[256];
	gzFile f;
	int e;

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	f = gzopen(path, "rb");
	assert_non_null(f);
	while (gzgets(f, line, sizeof(line))) {
		const char *last = strrchr(line, ' ');
		uint64_t seq = *line != '{' && last ? strtoull(last + 1, NULL, 10) : 0;

		if (!seq)
			continue;
		if (seq != next_seq)
			last_before = next_seq - 1;
		assert_true(seq == next_seq || seq == 1000000);
		next_seq = seq + 1;
	}
	gzerror(f, &e);
	assert_int_equal(e, Z_OK);
	assert_int_equal(gzclose(f), Z_OK);
}

static void begin(void)
{
	assert_int_equal(mkdir(test_path(dir, "logs"), 0755), 0);
	snprintf(stem, sizeof(stem), "%s/log", dir);
}

TEST(written_messages_stay_on_a_full_disk)
{
	const struct sim_bridge_channel ch = { .name = "/t", .type = &sim_Ultrasonic_type };
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge_topic *t;
	struct sim_bridge *b;
	uint64_t seq = 1;

	begin();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(ops->open(b, &ch, &t), 0);
	room(ROOM);
	while (publish(ops, b, t, seq) == 0 && seq < MOST)
		seq++;
	assert_int_equal(status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	room(0);
	for (int i = 0; i < 3; i++) { /* nothing fits into the next one: it is tried again, not one more each time */
		assert_int_equal(ops->connect(b, stem), 0);
		assert_int_equal(status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	}
	room(RLIM_INFINITY);
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(publish(ops, b, t, 1000000), 0);
	ops->close(b, t);
	ops->disconnect(b);
	ops->destroy(b);
	/* every message that was taken, also the one that did not fit any more, and each file whole */
	next_seq = 1;
	count_on(".txt.gz");
	assert_true(next_seq > 1 && next_seq < seq + 1);
	count_on(".2.txt.gz");
	assert_int_equal(next_seq, 1000001);
	assert_int_equal(last_before, seq);
	remove_file(".txt.gz");
	remove_file(".2.txt.gz");
	assert_int_equal(rmdir(dir), 0); /* and no third one */
}

/* ---- one bridge after the other ---- */

static const struct sim_bridge_channel channel = { .name = "/t", .type = &sim_Ultrasonic_type };

/* A bridge that has written one message. */
static struct sim_bridge *writes(const struct sim_bridge_ops *ops, uint64_t seq)
{
	struct sim_bridge_topic *t;
	struct sim_bridge *b;

	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(status, SIM_BRIDGE_CONNECTED);
	assert_int_equal(ops->open(b, &channel, &t), 0);
	if (seq)
		assert_int_equal(publish(ops, b, t, seq), 0);
	ops->close(b, t);
	return b;
}

static void end(const struct sim_bridge_ops *ops, struct sim_bridge *b)
{
	ops->disconnect(b);
	ops->destroy(b);
}

static off_t size_of(const char *suffix)
{
	char path[sizeof(stem) + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	return lstat(path, &st) < 0 ? -1 : st.st_size;
}

TEST(a_restarted_bridge_writes_a_new_file)
{
	const struct sim_bridge_ops *ops = load();
	off_t size;

	begin();
	end(ops, writes(ops, 1));
	size = size_of(".txt.gz");
	end(ops, writes(ops, 2));
	end(ops, writes(ops, 3));
	assert_int_equal(size_of(".txt.gz"), size);
	assert_int_equal(first_of(".txt.gz"), 1);
	assert_int_equal(first_of(".2.txt.gz"), 2);
	assert_int_equal(first_of(".3.txt.gz"), 3);
	remove_file(".txt.gz");
	remove_file(".2.txt.gz"); /* taken away by its user: the order of numbers stays that of time */
	end(ops, writes(ops, 4));
	assert_int_equal(first_of(".4.txt.gz"), 4);
	remove_file(".3.txt.gz");
	remove_file(".4.txt.gz");
	assert_int_equal(rmdir(dir), 0);
}

/* More than one write takes, and not flushed at the end. */
static void goes_on(const struct sim_bridge_ops *ops, struct sim_bridge *b)
{
	off_t size = size_of(".txt.gz");
	struct sim_bridge_topic *t;
	uint64_t seed = 1;

	assert_int_equal(ops->open(b, &channel, &t), 0);
	for (int more = 100; more; more -= size_of(".txt.gz") > size) {
		struct {
			struct sim_slot slot;
			struct sim_Ultrasonic body;
		} m = { .slot = { .body_size = sizeof(m.body), .sequence = seed } };

		seed = seed * UINT64_C(6364136223846793005) + 1; /* hardly to be compressed */
		if (ops->publish(b, t, MESSAGE_OF(&m.slot), NULL) < 0)
			_exit(1);
	}
}

/* Flushed messages are there, and the file is complete, so that zcat continues with the next one. */
TEST(a_killed_bridge_leaves_a_complete_file)
{
	const struct sim_bridge_ops *ops = load();
	char command[4 * sizeof(stem)], line[256] = "";
	pid_t pid;
	FILE *f;
	int st;

	begin();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };
		struct sim_bridge *b = writes(ops, 7);

		setrlimit(RLIMIT_CORE, &none);
		goes_on(ops, b);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &st, 0), pid);
	assert_true(WIFSIGNALED(st));
	end(ops, writes(ops, 8));
	snprintf(
		command, sizeof(command),
		"gzip -t '%s.txt.gz' && zcat '%s.txt.gz' '%s.2.txt.gz' | grep -c '^sim/Ultrasonic /t 0.000000000 [78]$'",
		stem, stem, stem);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(pclose(f), 0);
	assert_string_equal(line, "2\n");
	remove_file(".txt.gz");
	remove_file(".2.txt.gz");
	assert_int_equal(rmdir(dir), 0);
}

TEST(two_bridges_at_once_write_two_files)
{
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge *a, *b;

	begin();
	a = writes(ops, 0); /* still empty: only its lock says that it is taken */
	b = writes(ops, 2);
	end(ops, a);
	end(ops, b);
	assert_int_equal(first_of(".txt.gz"), -1);
	assert_int_equal(first_of(".2.txt.gz"), 2);
	remove_file(".txt.gz");
	remove_file(".2.txt.gz");
	assert_int_equal(rmdir(dir), 0);
}

static void touch(const char *suffix, const char *text)
{
	char path[sizeof(stem) + 32];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* Files with other names do not count; a directory entry that is no regular file is left alone. */
TEST(existing_files_are_not_overwritten)
{
	static const char *const names[] = { ".02.txt.gz",
					     ".5x.txt.gz",
					     "5.txt.gz",
					     ".0.txt.gz",
					     ".1.txt.gz",
					     ".9.txt",
					     ".99999999999999999999.txt.gz" };
	const struct sim_bridge_ops *ops = load();
	char path[sizeof(stem) + 32];
	struct sim_bridge *b;

	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		touch(names[i], "mine");
	touch(".txt.gz", ""); /* empty: nothing to lose */
	snprintf(path, sizeof(path), "%s.3.txt.gz", stem);
	assert_int_equal(symlink("/no/where", path), 0);
	end(ops, writes(ops, 1));
	assert_int_equal(first_of(".4.txt.gz"), 1);
	assert_int_equal(size_of(".txt.gz"), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(size_of(names[i]), 4);
		remove_file(names[i]);
	}
	remove_file(".txt.gz");
	remove_file(".3.txt.gz");
	remove_file(".4.txt.gz");
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(ops->create(&host, &b), 0); /* it is retried, until the folder exists */
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	end(ops, b);
}

/* ---- long arrays ---- */

#define PIXELS 3000

/* The second line of a message that holds PIXELS bytes. */
static char *image_line(const struct sim_bridge_ops *ops, const char *max, const char *all)
{
	static const struct sim_bridge_channel ch = { .name = "/c", .type = &sim_CompressedImage_type };
	static char line[3 * PIXELS];
	static union {
		struct sim_slot slot;
		uint8_t bytes[sizeof(struct sim_slot) + 2 * PIXELS];
	} m;
	struct sim_bridge_topic *t;
	struct sim_builder b;
	struct sim_bridge *br;
	char path[sizeof(stem) + 32];
	uint8_t *data;
	gzFile f;

	max_array = max;
	full = all;
	sim_CompressedImage_init(m.bytes + sizeof(m.slot), 2 * PIXELS, &b);
	data = sim_CompressedImage_data_alloc(&b, PIXELS);
	for (int i = 0; i < PIXELS; i++)
		data[i] = (uint8_t)(i * 7);
	m.slot.body_size = (uint32_t)sim_builder_size(&b);
	assert_int_equal(ops->create(&host, &br), 0);
	assert_int_equal(ops->connect(br, stem), 0);
	assert_int_equal(ops->open(br, &ch, &t), 0);
	assert_int_equal(ops->publish(br, t, MESSAGE_OF(&m.slot), NULL), 0);
	ops->close(br, t);
	end(ops, br);
	snprintf(path, sizeof(path), "%s.txt.gz", stem);
	f = gzopen(path, "rb");
	assert_true(f && gzgets(f, line, sizeof(line)) && gzgets(f, line, sizeof(line)));
	gzclose(f);
	remove_file(".txt.gz");
	max_array = "256";
	full = "false";
	return line;
}

TEST(long_arrays_are_written_as_digests)
{
	const struct sim_bridge_ops *ops = load();
	static const char *const bad[][2] = {
		{ "-1", "false" }, { "", "false" }, { "4294967296", "false" }, { "1k", "false" }, { "256", "yes" }
	};
	struct sim_bridge *b;

	begin();
	assert_non_null(strstr(image_line(ops, "256", "false"), "\"<uint8[3000] xxh64:91ec2ae2c8fe6398>\""));
	assert_non_null(strstr(image_line(ops, "2999", "false"), "\"<uint8[3000] xxh64:91ec2ae2c8fe6398>\""));
	assert_non_null(strstr(image_line(ops, "3000", "false"), "\"AAcOFRwj"));
	assert_non_null(strstr(image_line(ops, "0", "false"), "\"AAcOFRwj"));
	assert_non_null(strstr(image_line(ops, "256", "true"), "\"AAcOFRwj"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		max_array = bad[i][0];
		full = bad[i][1];
		assert_int_equal(ops->create(&host, &b), -EINVAL);
		assert_non_null(strstr(said, *full == 'y' ? "options.full: \"yes\"" : "options.max_array: \""));
	}
	max_array = "256";
	full = "false";
	assert_int_equal(rmdir(dir), 0);
}
