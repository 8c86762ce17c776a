/* SPDX-License-Identifier: Apache-2.0 */
/* The log times of bridge_mcap: those of publishing, however late and in which order a message comes; in lock-step the newest stamp. */
#include "sample.h"
#include "pb_type.h"
#include "tests/support/message.h"

#include <dlfcn.h>
#include <stdarg.h>

#include <sim/bridge.h>
#include <sim/msg/Ultrasonic.h>

#define MS       INT64_C(1000000)
#define MESSAGES 100
#define BEGIN    (500 * MS) /* of the clock, by CLOCK_MONOTONIC */

/* ---- a host with a clock ---- */

static struct sim_clock_history history;
static int64_t now_sim_ns;
static char said[1000];

static void piece(int64_t mono_ns, int64_t sim_ns, int64_t rate_e6, uint32_t generation, uint32_t flags)
{
	history.piece[history.written++] = (struct sim_clock_piece){ mono_ns, sim_ns, rate_e6, generation, flags };
}

__attribute__((format(printf, 3, 4))) static void on_log(void *ctx, int level, const char *fmt, ...)
{
	size_t n = strlen(said);
	va_list ap;

	(void)ctx;
	if (level > 1)
		return;
	va_start(ap, fmt);
	vsnprintf(said + n, sizeof(said) - n, fmt, ap);
	va_end(ap);
}

static const char *encoding = "native", *definitions = "";

static const char *on_option(void *ctx, const char *name)
{
	(void)ctx;
	return !strcmp(name, "encoding")      ? encoding
	       : !strcmp(name, "compression") ? "zstd"
	       : !strcmp(name, "apollo")      ? "5.0"
	       : !strcmp(name, "definitions") ? definitions
					      : "0";
}

static void on_status(void *ctx, enum sim_bridge_status s, const char *detail)
{
	(void)ctx;
	(void)detail;
	assert_true(s == SIM_BRIDGE_CONNECTED || s == SIM_BRIDGE_DISCONNECTED);
}

static int64_t on_now(void *ctx)
{
	(void)ctx;
	return now_sim_ns;
}

static int on_clock_at(void *ctx, int64_t mono_ns, struct sim_clock_sample *ret)
{
	(void)ctx;
	return sim_clock_read_at(&history, mono_ns, ret);
}

static const struct sim_bridge_host host = { .abi = SIM_BRIDGE_ABI,
					     .size = sizeof(host),
					     .log = on_log,
					     .option = on_option,
					     .status = on_status,
					     .now = on_now,
					     .clock_at = on_clock_at };

static const struct sim_bridge_ops *load(void)
{
	void *handle = dlopen(PLUGINS "/bridge_mcap.so", RTLD_NOW | RTLD_LOCAL), *sym;
	const struct sim_bridge_ops *(*entry)(void);

	if (!handle)
		fail_msg("%s", dlerror());
	sym = dlsym(handle, SIM_BRIDGE_SYMBOL);
	assert_non_null(sym);
	memcpy(&entry, &sym, sizeof(entry));
	return entry();
}

/* ---- a bridge ---- */

struct writing {
	const struct sim_bridge_ops *ops;
	struct sim_bridge *b;
	struct sim_bridge_topic *t;
	char stem[TEST_PATH_MAX];
};

static void begin(struct writing *w, const char *name)
{
	static const struct sim_bridge_channel ch = { .name = "/t", .type = &sim_Ultrasonic_type };

	w->ops = load();
	test_path(w->stem, name);
	assert_int_equal(w->ops->create(&host, &w->b), 0);
	assert_int_equal(w->ops->connect(w->b, w->stem), 0);
	assert_int_equal(w->ops->open(w->b, &ch, &w->t), 0);
}

static void publish(struct writing *w, uint64_t seq, int64_t mono_ns, int64_t stamp_sim_ns)
{
	struct {
		struct sim_slot slot;
		struct sim_Ultrasonic body;
	} m = { .slot = { .body_size = sizeof(m.body),
			  .sequence = seq,
			  .publish_mono_ns = mono_ns,
			  .stamp_sim_ns = stamp_sim_ns } };

	assert_int_equal(w->ops->publish(w->b, w->t, MESSAGE_OF(&m.slot), NULL), 0);
}

static void end(struct writing *w)
{
	w->ops->close(w->b, w->t);
	w->ops->disconnect(w->b);
	w->ops->destroy(w->b);
}

/* Log time of each message, by its number, in all files of the stem; how many there are. */
static unsigned times_of(const struct writing *w, int64_t *ret)
{
	unsigned n = 0;

	for (unsigned number = 1;; number++) {
		char path[TEST_PATH_MAX + 32];
		struct log_reader *r;
		struct log_message m;

		snprintf(path, sizeof(path), number > 1 ? "%s.%u.mcap" : "%s.mcap", w->stem, number);
		if (access(path, R_OK) < 0)
			return n;
		r = sample_open(path, NULL);
		for (; log_reader_next(r, &m) > 0; n++) {
			assert_in_range(m.sequence, 1, MESSAGES);
			ret[m.sequence] = m.log_time_ns;
		}
		log_reader_close(r);
	}
}

/* Running, paused, at another scale, behind a jump back, driven. */
static void make_clock(void)
{
	memset(&history, 0, sizeof(history));
	said[0] = '\0';
	piece(BEGIN, 7000 * MS, SIM_RATE_ONE, 1, SIM_CLOCK_STARTED);
	piece(BEGIN + 200 * MS, 7200 * MS, 0, 1, SIM_CLOCK_STARTED | SIM_CLOCK_PAUSED);
	piece(BEGIN + 400 * MS, 7200 * MS, 2500000, 1, SIM_CLOCK_STARTED);
	piece(BEGIN + 600 * MS, 3 * MS, SIM_RATE_ONE, 2, SIM_CLOCK_STARTED);
	piece(BEGIN + 800 * MS, 203 * MS, 0, 2, SIM_CLOCK_STARTED | SIM_CLOCK_DRIVEN);
	piece(BEGIN + 900 * MS, 400 * MS, 0, 2, SIM_CLOCK_STARTED | SIM_CLOCK_DRIVEN);
	now_sim_ns = 400 * MS;
}

/*
 * One bridge gets the messages as they are published, the other late and in any order: their log times are equal to the
 * nanosecond.
 */
TEST(two_logs_of_one_run_have_the_same_times)
{
	int64_t a[MESSAGES + 1] = { 0 }, b[MESSAGES + 1] = { 0 };
	struct writing prompt, starved;

	make_clock();
	begin(&prompt, "prompt");
	begin(&starved, "starved");
	for (unsigned i = 1; i <= MESSAGES; i++)
		publish(&prompt, i, BEGIN + i * 10 * MS - 1, 0);
	for (unsigned k = 1; k <= MESSAGES; k++) {
		unsigned i = k * 37 % (MESSAGES + 1); /* 101 is a prime: each once */

		publish(&starved, i, BEGIN + i * 10 * MS - 1, 0);
	}
	end(&prompt);
	end(&starved);
	assert_int_equal(times_of(&prompt, a), MESSAGES);
	assert_int_equal(times_of(&starved, b), MESSAGES);
	for (unsigned i = 1; i <= MESSAGES; i++) {
		struct sim_clock_sample then;

		assert_int_equal(sim_clock_read_at(&history, BEGIN + i * 10 * MS - 1, &then), 0);
		assert_int_equal(a[i], then.sim_ns);
		assert_int_equal(b[i], a[i]);
	}
	assert_int_equal(a[10], 7100 * MS - 1);
	assert_int_equal(a[30], 7200 * MS);
	assert_int_equal(a[100], 400 * MS);
	assert_string_equal(said, "");
}

/* One suffix, whether the name has it or not; another format's is an error. */
TEST(a_file_name_gets_one_suffix)
{
	char path[TEST_PATH_MAX + 16];
	struct writing w;

	make_clock();
	begin(&w, "ego.mcap");
	publish(&w, 1, BEGIN + MS, 0);
	assert_int_equal(w.ops->connect(w.b, w.stem), 0); /* the same one */
	end(&w);
	assert_int_equal(access(w.stem, F_OK), 0);
	snprintf(path, sizeof(path), "%s.mcap", w.stem);
	assert_int_equal(access(path, F_OK), -1);
	assert_string_equal(said, "");
	assert_int_equal(w.ops->check(&host, "out/ego.bag"), -EINVAL);
	assert_non_null(strstr(said, "connection: \"out/ego.bag\": the files are MCAP"));
	assert_int_equal(w.ops->check(&host, "out/"), -EINVAL);
	assert_int_equal(w.ops->check(&host, "out/.mcap"), 0);
	assert_int_equal(w.ops->check(&host, "out/ego.1"), 0);
}

static bool has_bytes(const char *path, const char *wanted)
{
	size_t n;
	uint8_t *bytes = sample_bytes(path, &n);
	bool has = memmem(bytes, n, wanted, strlen(wanted)) != NULL;

	mem_free(bytes);
	return has;
}

TEST(apollo_messages_follow_the_release_and_definitions_of_the_rig)
{
	static const char *const of[] = { "", "schemas/apollo/5" };
	char path[TEST_PATH_MAX + 8];
	struct writing w;

	make_clock();
	encoding = "apollo";
	for (unsigned i = 0; i < 2; i++) {
		definitions = of[i];
		begin(&w, i ? "own" : "release");
		publish(&w, 1, BEGIN + MS, 0);
		end(&w);
		snprintf(path, sizeof(path), "%s.mcap", w.stem);
		assert_true(has_bytes(path, "modules/drivers/proto/ultrasonic_radar.proto"));
	}
	assert_string_equal(said, "");
	definitions = "/nowhere/a";
	assert_int_equal(w.ops->check(&host, "out/run"), -ENOENT);
	assert_int_equal(w.ops->create(&host, &w.b), -ENOENT);
	assert_non_null(strstr(said, "definitions: /nowhere/a: it cannot be read: No such file or directory"));
	encoding = "native";
	assert_int_equal(w.ops->check(&host, "out/run"), -EINVAL);
	assert_non_null(strstr(said, "options.definitions: \"/nowhere/a\" is not for this encoding"));
	definitions = "";
}

/* A message of 0.5 in its field 7, as it came in. */
static void publish_defined(struct writing *w, struct sim_bridge_topic *t, const struct pb_type *type,
			    const void *bytes, size_t n)
{
	struct {
		struct sim_slot slot;
		_Alignas(64) uint8_t body[256];
	} m = { .slot = { .sequence = 1, .publish_mono_ns = BEGIN + MS } };
	struct message_in in = { .buf = sim_slot_body_mut(&m.slot), .room = sizeof(m.body) };
	struct dec_pb d;

	dec_pb_init(&d);
	assert_int_equal(pb_type_decode(type, &d, bytes, n, &in), 0);
	dec_pb_finish(&d);
	m.slot.body_size = (uint32_t)in.size;
	assert_int_equal(w->ops->publish(w->b, t, MESSAGE_OF(&m.slot), NULL), 0);
}

/* A type that a definition of protobuf came with is that message again, by that definition. */
TEST(a_protobuf_message_keeps_its_bytes)
{
	static const char set[] = "\x0a\x21\x0a\x07"
				  "a.proto"
				  "\x12\x01"
				  "a"
				  "\x22\x13\x0a\x01"
				  "B"
				  "\x12\x0e\x0a\x06"
				  "latDeg"
				  "\x18\x07\x20\x01\x28\x01";
	static const uint8_t bytes[] = { 0x39, 0, 0, 0, 0, 0, 0, 0xe0, 0x3f };
	char path[TEST_PATH_MAX + 8], sentence[300];
	const struct log_channel *ch;
	struct sim_bridge_topic *t;
	struct log_reader *r;
	struct log_message m;
	struct pb_type *type;
	struct writing w;

	assert_int_equal(pb_type_create(set, sizeof(set) - 1, "a.B", &type, sentence, sizeof(sentence)), 0);
	encoding = "apollo";
	make_clock();
	begin(&w, "defined");
	assert_int_equal(w.ops->open(w.b, &(struct sim_bridge_channel){ .name = "/b", .type = pb_type_sim(type) }, &t),
			 0);
	publish_defined(&w, t, type, bytes, sizeof(bytes));
	w.ops->close(w.b, t);
	end(&w);
	encoding = "native";
	snprintf(path, sizeof(path), "%s.mcap", w.stem);
	r = sample_open(path, NULL);
	assert_int_equal(log_reader_next(r, &m), 1);
	ch = &log_reader_info(r)->channels[m.channel];
	assert_string_equal(ch->topic, "/b");
	assert_string_equal(ch->message_encoding, "protobuf");
	assert_string_equal(ch->schema_name, "a.B");
	assert_int_equal(ch->schema.size, sizeof(set) - 1);
	assert_memory_equal(ch->schema.data, set, sizeof(set) - 1);
	assert_int_equal(m.size, sizeof(bytes));
	assert_memory_equal(m.data, bytes, sizeof(bytes));
	log_reader_close(r);
	pb_type_destroy(type);
}

/* A channel that the encoding cannot say is named in the file, too. */
TEST(a_channel_left_out_is_noted_in_the_metadata)
{
	struct sim_type other = sim_Ultrasonic_type;
	const struct sim_bridge_channel ch = { .name = "/other", .type = &other };
	struct sim_bridge_topic *t;
	const struct log_info *info;
	struct log_reader *r;
	struct writing w;
	char path[TEST_PATH_MAX + 8];
	bool is_named = false;

	other.hash ^= 1;
	encoding = "apollo";
	make_clock();
	begin(&w, "less");
	assert_int_equal(w.ops->open(w.b, &ch, &t), -ENOTSUP);
	publish(&w, 1, BEGIN + MS, 0);
	end(&w);
	encoding = "native";
	snprintf(path, sizeof(path), "%s.mcap", w.stem);
	r = sample_open(path, NULL);
	info = log_reader_info(r);
	for (size_t i = 0; i < info->n_metadata; i++)
		if (strcmp(info->metadata[i].name, "simd_left_out") == 0)
			is_named = info->metadata[i].n == 1 && !strcmp(info->metadata[i].pairs[0].key, "/other") &&
				   strstr(info->metadata[i].pairs[0].value, "another definition");
	log_reader_close(r);
	assert_true(is_named);
}

/* When it was published, in simulated time, its stamp, and the log time that it is to have, in ms. */
struct stepped {
	int64_t step_ms, stamp_ms, expected_ms;
};

static const struct stepped stepped[] = {
	{ 200, 100, 100 }, { 200, 120, 120 }, { 200, 140, 140 }, { 220, 110, 140 }, /* measured earlier */
	{ 220, 160, 160 }, { 220, 300, 220 },                                       /* ahead */
	{ 240, 150, 220 }, { 50, 40, 50 },                                          /* a jump back */
	{ 50, 45, 50 },    { 70, 60, 60 },
};
#define N_STEPPED (sizeof(stepped) / sizeof(stepped[0]))

/* A piece of the clock for each of them; the next message is published 1 ms behind its begin. */
static void make_steps(void)
{
	make_clock();
	for (unsigned i = 0; i < N_STEPPED; i++)
		piece(BEGIN + (1000 + 10 * i) * MS, stepped[i].step_ms * MS, 0, i < 7 ? 3 : 4,
		      SIM_CLOCK_STARTED | SIM_CLOCK_DRIVEN | SIM_CLOCK_LOCKSTEP);
	/* time has gone on meanwhile: that depends on when the bridge runs, and changes nothing */
	now_sim_ns = 240 * MS;
}

/*
 * The order within one step changes nothing: a bridge gets its messages by their stamps, a recorder as they were
 * published.
 */
TEST(in_lockstep_the_log_time_is_the_newest_stamp)
{
	static const unsigned orders[][N_STEPPED] = { { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
						      { 1, 2, 0, 5, 3, 4, 6, 8, 7, 9 },
						      { 2, 1, 0, 4, 5, 3, 6, 7, 8, 9 } };

	for (unsigned k = 0; k < 3; k++) {
		int64_t times[MESSAGES + 1] = { 0 };
		struct writing w;
		char name[] = { 's', (char)('0' + k), 0 };

		make_steps();
		begin(&w, name);
		for (unsigned i = 0; i < N_STEPPED; i++) {
			unsigned m = orders[k][i];

			publish(&w, m + 1, BEGIN + (1001 + 10 * m) * MS, stepped[m].stamp_ms * MS);
		}
		end(&w);
		assert_int_equal(times_of(&w, times), N_STEPPED);
		for (unsigned i = 0; i < N_STEPPED; i++)
			assert_int_equal(times[i + 1], stepped[i].expected_ms * MS);
	}
}

/*
 * Messages older than the history get the oldest time that is known; that is logged at once, and their number at the
 * end.
 */
TEST(messages_older_than_the_clock_history_are_counted)
{
	int64_t times[MESSAGES + 1] = { 0 };
	struct writing w;

	make_clock();
	begin(&w, "old");
	for (unsigned i = 1; i <= 3; i++)
		publish(&w, i, BEGIN - i * MS, 0);
	assert_non_null(strstr(said, "a message came so late"));
	end(&w);
	assert_non_null(strstr(said, "3 messages came too late"));
	assert_int_equal(times_of(&w, times), 3);
	for (unsigned i = 1; i <= 3; i++)
		assert_int_equal(times[i], 7000 * MS);
}
