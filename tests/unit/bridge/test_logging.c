/* SPDX-License-Identifier: Apache-2.0 */
/* The log where writing fails: what was written stays, and it goes on in another file. */
#include "support/test.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <sim/bridge.h>
#include <sim/msg/Ultrasonic.h>

#define ROOM 4096 /* of a file */
#define MOST 5000 /* messages that it surely does not take */

static enum sim_bridge_status status;
static char dir[] = "/tmp/test-logging-XXXXXX", stem[64];

static void on_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

static const char *on_option(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return "1";
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
	int r = ops->publish(b, t, &m.slot, NULL);

	return r ? r : ops->flush(b);
}

/* The sequence number of the first message in a file of the stem; -1: there is none. */
static int first_of(const char *suffix)
{
	char path[128], line[256], type[64], channel[64];
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
	char path[128];

	snprintf(path, sizeof(path), "%s%s", stem, suffix);
	assert_int_equal(unlink(path), 0);
}

static void what_was_written_stays(void **state)
{
	const struct sim_bridge_channel ch = { .name = "/t", .type = &sim_Ultrasonic_type };
	const struct sim_bridge_ops *ops = load();
	struct sim_bridge_topic *t;
	struct sim_bridge *b;
	uint64_t seq = 1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(stem, sizeof(stem), "%s/log", dir);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(ops->create(&host, &b), 0);
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(ops->open(b, &ch, &t), 0);
	room(ROOM);
	while (status == SIM_BRIDGE_CONNECTED && seq < MOST)
		publish(ops, b, t, seq++);
	assert_int_equal(status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	room(0);
	for (int i = 0; i < 3; i++) { /* nothing fits into the next one: it is tried again, not one more each time */
		assert_int_equal(ops->connect(b, stem), 0);
		assert_int_equal(status, SIM_BRIDGE_CONNECTED);
		while (status == SIM_BRIDGE_CONNECTED && seq < 2 * MOST)
			publish(ops, b, t, seq++);
		assert_int_equal(status, SIM_BRIDGE_UNEXPECTEDLY_DISCONNECTED);
	}
	room(RLIM_INFINITY);
	assert_int_equal(ops->connect(b, stem), 0);
	assert_int_equal(publish(ops, b, t, 1000000), 0);
	ops->close(b, t);
	ops->disconnect(b);
	ops->destroy(b);
	assert_int_equal(first_of(".txt.gz"), 1);
	assert_int_equal(first_of(".2.txt.gz"), 1000000);
	remove_file(".txt.gz");
	remove_file(".2.txt.gz");
	assert_int_equal(rmdir(dir), 0); /* and no third one */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_stays),
	};

	return cmocka_run_group_tests_name("logging", tests, NULL, NULL);
}
