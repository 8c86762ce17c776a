/* SPDX-License-Identifier: Apache-2.0 */
/* The thin line: a client publishes, the logging bridge writes it, and simctl tells about it in stable words. */
#include "peer.h"
#include "stack.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <sim/srv/Empty.h>
#include <zlib.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\"}]}]"
#define FULL /* its bridge exits: messages in it then wait that long */ \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"dispatch\":{\"deadline_ms\":1000},\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"log\",\"plugin\":\"logging\"," \
	"\"connection\":\"/tmp/out-disk/log\"}]}]"
#define MESSAGES 200

static pid_t simd;

static int setup(void **state)
{
	(void)state;
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	return 0;
}

/* ---- the line ---- */

static int messages(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "sensor");
	struct sim_publisher *pub = peer_advertise(p, c, "/t/line", 64, 0);

	for (int i = 0; i < MESSAGES; i++)
		PEER(p, peer_queue(p, pub, sizeof(struct sim_Ultrasonic), NULL) == 0);
	return peer_leave(p, c, pub);
}

static void check_log(void)
{
	char head[512], body[512], want[64];
	gzFile f = gzopen("/tmp/out.txt.gz", "rb");
	bool seen[MESSAGES + 1] = { false };

	assert_non_null(f);
	for (int i = 0; i < MESSAGES; i++) {
		char type[64], channel[64];
		double stamp;
		int seq;

		assert_non_null(gzgets(f, head, sizeof(head)));
		assert_non_null(gzgets(f, body, sizeof(body)));
		assert_int_equal(sscanf(head, "%63s %63s %lf %d", type, channel, &stamp, &seq), 4);
		assert_string_equal(type, "sim/Ultrasonic");
		assert_string_equal(channel, "/t/line");
		assert_true(stamp > 1e9 && seq >= 1 && seq <= MESSAGES && !seen[seq]);
		seen[seq] = true;
		snprintf(want, sizeof(want), "{\"minimum_distance\":%d.0}\n", seq - 1);
		assert_string_equal(body, want);
	}
	assert_null(gzgets(f, head, sizeof(head)));
	gzclose(f);
}

TEST_WITH(messages_are_published_and_logged, setup, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, messages);

	peer_join(p, pid);
	assert_int_equal(p->accepted, MESSAGES);
	assert_int_equal(p->ok, MESSAGES);
	peer_check(p, false);
	peer_free(p);
	AWAIT(stack_bridge("log", "sent") == MESSAGES);
	assert_int_equal(stack_bridge("log", "failed"), 0);
	stack_stop(simd); /* the bridge closes its file */
	check_log();
}

/* Messages sent before stay in the old place; later ones go to the new place. */
TEST_WITH(a_bridge_is_connected_to_another_place, setup, stack_sweep)
{
	struct peer *p = peer_new();
	int64_t before = stack_bridge("log", "pid");
	const struct ctl_result *r;
	pid_t pid = peer_fork(p, messages);

	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	peer_join(p, pid);
	AWAIT(stack_bridge("log", "sent") == MESSAGES);
	assert_int_equal(stack_ctl("bridge", "connect", "log", "/tmp/out-there", NULL)->code, 0);
	AWAIT(stack_bridge("log", "pid") > 0 && stack_bridge("log", "pid") != before &&
	      !strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_string_equal(stack_bridge_text("log", "connection"), "/tmp/out-there");
	peer_free(p);
	p = peer_new();
	pid = peer_fork(p, messages);
	peer_join(p, pid);
	peer_free(p);
	r = stack_ctl("bridge", "connect", "nobody", "x", NULL);
	assert_true(r->code == 1 && strstr(r->err, "no rig has a bridge \"nobody\""));
	stack_stop(simd);
	check_log();
	assert_int_equal(rename("/tmp/out-there.txt.gz", "/tmp/out.txt.gz"), 0);
	check_log();
}

/* ---- the log outlives its bridge ---- */

static unsigned messages_in(const char *path)
{
	char line[512];
	unsigned n = 0;
	gzFile f = gzopen(path, "rb");

	while (f && gzgets(f, line, sizeof(line)))
		n += !strncmp(line, "sim/Ultrasonic /t/line ", 23);
	if (f)
		gzclose(f);
	return n;
}

/* MESSAGES more; how many were answered with true. */
static unsigned some_more(void)
{
	struct peer *p = peer_new();
	pid_t pid = peer_fork(p, messages);
	unsigned ok;

	peer_join(p, pid);
	ok = (unsigned)p->ok;
	peer_free(p);
	return ok;
}

static void connected_after(int64_t pid)
{
	AWAIT(stack_bridge("log", "pid") > 0 && stack_bridge("log", "pid") != pid &&
	      !strcmp(stack_bridge_text("log", "status"), "connected"));
}

/* Messages answered with true are in the file, although the disk was full for a while. */
TEST_WITH(a_log_on_a_full_disk_fails_and_recovers, NULL, stack_sweep)
{
	unsigned ok = 0;

	assert_int_equal(mkdir("/tmp/out-disk", 0755), 0);
	if (mount("tmpfs", "/tmp/out-disk", "tmpfs", 0, "size=1m") < 0)
		skip();
	simd = stack_start(FULL);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(some_more(), MESSAGES);
	AWAIT(messages_in("/tmp/out-disk/log.txt.gz") == MESSAGES);
	assert_int_equal(system("head -c 1048576 /dev/zero >/tmp/out-disk/filler 2>/dev/null"), 256);
	while (!strcmp(stack_bridge_text("log", "status"), "connected")) /* its last page has room yet */
		ok += some_more();
	assert_int_equal(unlink("/tmp/out-disk/filler"), 0);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(some_more(), MESSAGES);
	stack_stop(simd);
	assert_int_equal(messages_in("/tmp/out-disk/log.txt.gz"), MESSAGES);
	assert_int_equal(messages_in("/tmp/out-disk/log.2.txt.gz"), ok + MESSAGES);
	assert_int_equal(access("/tmp/out-disk/log.3.txt.gz", F_OK), -1);
	assert_int_equal(umount("/tmp/out-disk"), 0);
}

/*
 * A bridge that is restarted, one that is killed, and one of the next simd: each has a file of its own, and all
 * messages are there.
 */
TEST_WITH(existing_log_files_are_kept, setup, stack_sweep)
{
	static const char *const files[] = { "/tmp/out.txt.gz", "/tmp/out.2.txt.gz", "/tmp/out.3.txt.gz",
					     "/tmp/out.4.txt.gz" };
	int64_t pid = stack_bridge("log", "pid");

	assert_int_equal(some_more(), MESSAGES);
	assert_int_equal(stack_ctl("bridge", "restart", "log", NULL)->code, 0);
	connected_after(pid);
	assert_int_equal(messages_in(files[0]), MESSAGES);
	assert_int_equal(some_more(), MESSAGES);
	AWAIT(messages_in(files[1]) == MESSAGES); /* it flushes once a second */
	pid = stack_bridge("log", "pid");
	kill((pid_t)pid, SIGKILL);
	connected_after(pid);
	assert_int_equal(some_more(), MESSAGES);
	stack_stop(simd);
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(some_more(), MESSAGES);
	stack_stop(simd);
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++)
		assert_int_equal(messages_in(files[i]), MESSAGES);
}

/* ---- simctl ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of an object, sorted; static. */
static const char *keys(const json_t *o)
{
	static char text[2048];
	const char *list[64], *key;
	json_t *v;
	size_t n = 0, at = 0;

	json_object_foreach((json_t *)(uintptr_t)o, key, v)
		list[n++] = key;
	qsort(list, n, sizeof(*list), by_text);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "", list[i]);
	return text;
}

static json_t *parsed(const struct ctl_result *r)
{
	json_t *j;

	if (r->code)
		fail_msg("exit code %d: %s", r->code, r->err);
	assert_string_equal(r->err, "");
	j = json_loads(r->out, 0, NULL);
	if (!j)
		fail_msg("not JSON: %s", r->out);
	return j;
}

static void has_keys(const struct ctl_result *r, const char *path, const char *want)
{
	json_t *j = parsed(r);
	const json_t *at = j;

	for (; at && *path; path += strcspn(path, "/"), path += *path == '/') {
		char part[64];

		snprintf(part, sizeof(part), "%.*s", (int)strcspn(path, "/"), path);
		at = json_is_array(at) ? json_array_get(at, strtoul(part, NULL, 10)) : json_object_get(at, part);
	}
	assert_string_equal(keys(at), want);
	json_decref(j);
}

#define CHANNEL_KEYS \
	"age_ms bridges bytes bytes_per_s delivered drops failed hash hosts hz id in_flight local max_body messages name no_bridge " \
	"publishers rig slot_size subscribers topics type window"
#define CLOCK_KEYS \
	"clock_generation driven driver driver_lost driver_stopped driver_waits_for error_ns freewheel lateness_ns missed mono_ns other_clocks participants paused pausing priority published " \
	"rate_hz real_time_factor run scale sim_ns source started stepping steps waits_for"
#define SERVICE_KEYS \
	"answered calls deadline_ms failed ignored late name provider queue refused request_hash response_hash rig running " \
	"timed_out type waiting"
#define BRIDGE_KEYS \
	"attempted bytes channels connection converters detail dropped failed held lanes late lossless name pid plugin queued restarts rig " \
	"sent slow stalled start status topics type"

static void json_of_channels(const char *channel)
{
	has_keys(stack_ctl("list", "--json", NULL), "", "channels mono_ns");
	has_keys(stack_ctl("list", "--json", channel, NULL), "channels/0", CHANNEL_KEYS);
	has_keys(stack_ctl("list", "--json", channel, NULL), "channels/0/publishers/0", "client client_id pid uid");
	has_keys(stack_ctl("info", "--json", channel, NULL), "", "channel type");
	has_keys(stack_ctl("info", "--json", channel, NULL), "channel", CHANNEL_KEYS);
	has_keys(stack_ctl("echo", "--json", "--once", channel, NULL), "",
		 "channel channel_id frame_id message sequence stamp_sim_ns");
	has_keys(stack_ctl("echo", "--json", "--once", channel, NULL), "message", "minimum_distance");
	has_keys(stack_ctl("hz", "--json", "-n", "1", "-w", "100ms", channel, NULL), "",
		 "bytes_per_s channel hz interval_ms messages source window_s");
	has_keys(stack_ctl("bw", "--json", "-n", "1", "-w", "100ms", channel, NULL), "",
		 "bytes_per_s channel hz messages source window_s");
	has_keys(stack_ctl("delay", "--json", "-n", "1", "-w", "100ms", channel, NULL), "",
		 "channel messages sim_ms transport_ms");
	has_keys(stack_ctl("delay", "--json", "-n", "1", "-w", "100ms", channel, NULL), "sim_ms", "max mean min");
}

static void json_of_the_rest(void)
{
	has_keys(stack_ctl("clock", "status", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("clock", "status", "--json", NULL), "lateness_ns", "max p50 p99");
	has_keys(stack_ctl("clock", "pause", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("clock", "step", "10ms", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("clock", "resume", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("clock", "scale", "1", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("clock", "source", "system", "--json", NULL), "", CLOCK_KEYS);
	has_keys(stack_ctl("bridge", "list", "--json", NULL), "bridges/0", BRIDGE_KEYS);
	has_keys(stack_ctl("bridge", "info", "log", "--json", NULL), "", BRIDGE_KEYS);
	has_keys(stack_ctl("clients", "--json", NULL), "clients/0",
		 "app exe id iox_generation name pid publishers role subscribers uid");
	has_keys(
		stack_ctl("dispatch", "--json", NULL), "dispatch",
		"channels invalid lanes lanes_max packets_in packets_out publish_ns queue_ns queued reclaimed shards strange_claims threads wakeups");
	has_keys(stack_ctl("dispatch", "--json", NULL), "dispatch/shards/0", "bridges channels rigs shard turns");
	has_keys(stack_ctl("dispatch", "--json", NULL), "dispatch/channels/0",
		 "accepted completed failed in_flight local name refused wait_ns");
	has_keys(stack_ctl("summary", "--json", NULL), "",
		 "bridges channels real_time_factor run_s sim_s start_s wall_s");
	has_keys(stack_ctl("summary", "--json", NULL), "channels/0",
		 "bytes delivered drops failed in_flight local messages name no_bridge type");
	has_keys(stack_ctl("summary", "--json", NULL), "bridges/0", "dropped failed name sent");
	has_keys(stack_ctl("config", "--json", NULL), "", "changed config origins");
	has_keys(stack_ctl("ps", "--json", NULL), "simds/0", "memory pid plane rigs runtime status uptime_ms user");
	has_keys(stack_ctl("doctor", "--json", NULL), "findings/0", "check result text");
	has_keys(stack_ctl("version", "--json", NULL), "", "library simctl simd");
}

static int on_empty(void *user, struct sim_request *req)
{
	(void)user;
	(void)req;
	return 0;
}

static void json_of_services(void)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "test", .socket = STACK_SOCKET, .timeout_ms = PATIENT_MS
	};
	struct sim_service *sv;
	struct sim_client *c;

	assert_int_equal(sim_connect(&o, &c), 0);
	assert_int_equal(sim_service_offer(c, "/t/service", &sim_Empty_service, NULL, on_empty, NULL, &sv), 0);
	has_keys(stack_ctl("service", "list", "--json", NULL), "services/0", SERVICE_KEYS);
	has_keys(stack_ctl("service", "list", "--json", NULL), "services/0/provider", "client client_id pid uid");
	has_keys(stack_ctl("service", "info", "--json", "/t/service", NULL), "", "request response service");
	has_keys(stack_ctl("service", "call", "--json", "/t/service", NULL), "", "");
	sim_service_destroy(sv);
	sim_disconnect(c);
}

TEST_WITH(json_keys_are_stable, setup, stack_sweep)
{
	struct peer *p = peer_new();
	char channel[32];
	pid_t pid;

	peer_tell(p, 200);
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 3);
	snprintf(channel, sizeof(channel), "/t/%llu", (unsigned long long)p->number);
	json_of_channels(channel);
	json_of_the_rest();
	json_of_services();
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

/* Every command takes a channel without its first slash as the library does. */
TEST_WITH(channels_may_be_given_without_the_first_slash, setup, stack_sweep)
{
	static const char *const lines[][6] = {
		{ "list", "--names", "t/*" },
		{ "info", "t/line" },
		{ "type", "show", "t/line" },
		{ "hz", "t/line", "-n", "1", "-w", "1ms" },
		{ "bw", "t/line", "-n", "1", "-w", "1ms" },
	};
	struct peer *p = peer_new();

	peer_join(p, peer_fork(p, messages));
	peer_check(p, false);
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		const char *const *a = lines[i];
		const struct ctl_result *r = stack_ctl(a[0], a[1], a[2], a[3], a[4], a[5], NULL);

		if (r->code || !*r->out)
			fail_msg("%s %s: exit code %d, \"%s\", \"%s\"", a[0], a[1], r->code, r->out, r->err);
	}
	stack_stop(simd);
	peer_free(p);
}

/* One sentence on stderr, nothing else, and that exit code. */
static void refused(const struct ctl_result *r, int code, const char *words)
{
	const char *nl = strchr(r->err, '\n');

	if (r->code != code || *r->out || !strstr(r->err, words) || (code == 1 && (!nl || nl[1])))
		fail_msg("exit code %d, not %d; said \"%s\" and \"%s\", wanted \"%s\"", r->code, code, r->out, r->err,
			 words);
}

TEST_WITH(usage_errors_are_named, setup, stack_sweep)
{
	refused(stack_ctl("lsit", NULL), 2, "lsit");
	refused(stack_ctl("info", NULL), 2, "CHANNEL");
	refused(stack_ctl("list", "--jsno", NULL), 2, "jsno");
	refused(stack_ctl("clock", "scale", "fast", NULL), 2, "fast");
	refused(stack_ctl("clock", "scale", "101", NULL), 2, "101");
	refused(stack_ctl("clock", "step", "5 parsecs", NULL), 2, "parsecs");
	refused(stack_ctl("echo", "-n", "0", "/x", NULL), 2, "0");
	refused(stack_ctl("info", "/nobody/has/it", NULL), 1, "/nobody/has/it");
	refused(stack_ctl("echo", "/nobody/has/it", NULL), 1,
		"simctl: /nobody/has/it: no client has published a channel of that name");
	refused(stack_ctl("hz", "/nobody/has/it", NULL), 1, "/nobody/has/it");
	refused(stack_ctl("clock", "scale", "0.001", NULL), 1, "0.01");
	refused(stack_ctl("clock", "source", "sundial", NULL), 1, "sundial");
	refused(stack_ctl("bridge", "info", "drawbridge", NULL), 1, "drawbridge");
	refused(stack_ctl("bridge", "restart", "drawbridge", NULL), 1, "drawbridge");
}

/* Tables for people: the figures of a known number of messages stand in them. */
TEST_WITH(output_for_people_is_in_tables, setup, stack_sweep)
{
	struct peer *p = peer_new();
	const struct ctl_result *r;
	char row[64];

	peer_join(p, peer_fork(p, messages));
	peer_check(p, false);
	AWAIT(stack_bridge("log", "sent") == MESSAGES);
	AWAIT(stack_in_flight("/t/line") == 0);
	r = stack_ctl("dispatch", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "threads: 1"));
	assert_non_null(strstr(r->out, "p99"));
	snprintf(row, sizeof(row), "/t/line          0       %d        0        %d", MESSAGES, MESSAGES);
	if (!strstr(r->out, row))
		fail_msg("no row \"%s\" in\n%s", row, r->out);
	r = stack_ctl("info", "/t/line", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "fields:\n  "));
	assert_null(strstr(r->out, "fields:\n  ("));
	r = stack_ctl("bridge", "info", "log", NULL);
	assert_int_equal(r->code, 0);
	snprintf(row, sizeof(row), "messages: %d attempted, %d sent", MESSAGES, MESSAGES);
	assert_non_null(strstr(r->out, "status: connected"));
	assert_non_null(strstr(r->out, row));
	assert_non_null(strstr(r->out, "  /t/line -> /t/line, "));
	r = stack_ctl("config", NULL);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->out, "\n  clock.rate_hz = 100  (default)\n"));
	assert_non_null(strstr(r->out, "\n* rigs[0].bridges[0].plugin = \"logging\"  (/"));
	assert_non_null(strstr(r->out, "* TimeSource = \"system\"  (/"));
	assert_non_null(strstr(r->out, "; default \"unity\")\n"));
	stack_stop(simd);
	peer_free(p);
}

/* --watch tells again each second; the second time more has passed. */
static void watched(const char *command, const char *list, const char *key)
{
	const char *b = getenv("B");
	char line[256];
	double n[2];
	FILE *f;

	snprintf(line, sizeof(line), "exec %s/bin/simctl %s --json --watch", b ? b : "build", command);
	f = popen(line, "r");
	assert_non_null(f);
	for (int i = 0; i < 2; i++) {
		json_t *j = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL), *all = j;

		assert_non_null(j);
		all = json_object_get(j, "dispatch") ? json_object_get(j, "dispatch") : j;
		n[i] = json_number_value(json_object_get(json_array_get(json_object_get(all, list), 0), key));
		json_decref(j);
	}
	assert_true(n[1] > n[0]);
	pclose(f); /* its next line has no reader */
}

TEST_WITH(watch_updates_its_table, setup, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid;

	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	peer_tell(p, 200);
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 3);
	watched("dispatch", "channels", "accepted");
	watched("bridge list", "bridges", "sent");
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

TEST_WITH(bridges_are_restarted_and_simd_shut_down_by_command, setup, stack_sweep)
{
	int64_t pid;

	pid = stack_bridge("log", "pid");
	assert_int_equal(stack_ctl("bridge", "restart", "log", NULL)->code, 0);
	AWAIT(stack_bridge("log", "pid") > 0 && stack_bridge("log", "pid") != pid &&
	      !strcmp(stack_bridge_text("log", "status"), "connected"));
	assert_int_equal(stack_ctl("shutdown", NULL)->code, 0);
	assert_int_equal(stack_wait(simd), 0);
	assert_string_equal(stack_leftovers(), "");
}

TEST(without_simd_commands_name_the_socket)
{
	static const char *const commands[] = { "list", "clients", "dispatch", "config", "summary", "shutdown" };

	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	for (unsigned i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		refused(stack_ctl(commands[i], NULL), 1, STACK_SOCKET);
	refused(stack_ctl("clock", "status", NULL), 1, STACK_SOCKET);
	refused(stack_ctl("echo", "/x", NULL), 1, STACK_SOCKET);
	assert_int_equal(stack_ctl("version", NULL)->code, 0);
}

static const char *finding(const struct ctl_result *r, const char *check)
{
	static char result[32];
	json_t *j = json_loads(r->out, 0, NULL);
	const json_t *f;
	size_t i;

	result[0] = '\0';
	json_array_foreach(json_object_get(j, "findings"), i, f) {
		if (!strcmp(json_string_value(json_object_get(f, "check")), check))
			snprintf(result, sizeof(result), "%s", json_string_value(json_object_get(f, "result")));
	}
	json_decref(j);
	return result;
}

TEST_WITH(doctor_finds_faults, setup, stack_sweep)
{
	const char *path = strdup(getenv("PATH"));

	assert_int_equal(stack_ctl("doctor", NULL)->code, 0);
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "simd"), "ok");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "roudi"), "ok");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "group"), "ok");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "locks"), "ok");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "stale"), "ok");
	stack_kill(simd); /* its RouDi runs on */
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "simd"), "warning");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "stale"), "warning");
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "simd --clean-up --runtime-dir " STACK_DIR));
	stack_sweep(NULL);
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "stale"), "ok");
	assert_string_equal(finding(stack_ctl("doctor", "--json", NULL), "roudi"), "ok");
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(stack_ctl("doctor", NULL)->code, 1);
	setenv("PATH", path, 1);
}
