/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo with every bridge at once: null, logging, ros2 without peers in its domain, ros2 with a reader, mcap,
 * foxglove with a client that watches; a world that SUMO is a host of, with its input log; and `simctl record`. The
 * scene repeats. Nothing grows with time: neither descriptors nor threads of any process, nor, in a run of some
 * minutes, its own memory after the first quarter. A leak grows all along; a buffer that is used to its end for the
 * first time, late in the hour, is one step and flat afterwards. So both the line of least squares and the usual growth
 * from one lap to the next have to rise. Of a recorder, whose memory comes and goes with what waits for the disk, the
 * least of the later half is no more than the most of the earlier one. Lines that begin with "soak: " are the table.
 * SOAK_SECONDS=n (20).
 */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#include <dds/dds.h>
#include <sys/socket.h>

#include "../../system/foxglove/raw.h"
#include "../../system/ros2/typed.h"

#define DOMAIN    7
#define PROCESSES 24
/* samples: a quarter is more than a lap, after which each process has allocated all that it needs */
#define MEMORY_MIN              600
#define LAP                     100 /* samples */
#define GROWTH_KIB              64 /* of the line, from its begin to its end: a buffer of Cyclone's is used once to its end */
#define CAMERA_KIB              256 /* four blocks of Mesa's, which has 12 to 34 of 64 KiB at once where the CPU draws */
#define FRAGMENT                "/tmp/soak.json"
#define SEEN_BYTES              (4 << 20) /* more than is advertised: clouds and images */
#define PONG_DUR_NS             (5 * NS_PER_S)
#define BRIDGE(n, plugin, more) "{\"name\":\"" n "\",\"plugin\":\"" plugin "\"" more "}"

/* The logs lie in memory: of each stem the newest files alone stay, of which one is written. */
#define SPLIT     "16MiB"
#define FILES     2
#define WORLD_LOG "/tmp/out-soak.world"
#define TOWN      "/tmp/out-soak-town"
#define CARS      12
#define WORLD \
	"{\"name\":\"world\",\"command\":[\"sim-world\",\"--listen\",\"127.0.0.1:8082\",\"--control\",\"/tmp/out-soak-world\"," \
	"\"--input-log\",\"" WORLD_LOG "\"]}"
#define SUMO \
	"{\"name\":\"sumo\",\"command\":[\"sim-sumo\",\"--config\",\"" TOWN ".sumocfg\",\"--seed\",\"1\"," \
	"\"--world\",\"127.0.0.1:8082\"]}"

struct process {
	pid_t pid;
	char name[48];
	bool foreign;    /* it may grow */
	double most_kib; /* of the line, from its begin to its end */
	bool keeps;      /* copies of messages, until they are written: its memory comes and goes */
	struct usage *seen;
};

static struct process processes[PROCESSES];
static unsigned n_processes;

/* ---- the processes ---- */

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "simbridge ros2", "sim-lidar lidar-top": the program, and its first argument that is no option, where that is no file. */
static bool name_of(pid_t pid, char *ret, size_t size)
{
	char path[64], text[4096] = "";
	const char *second;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	n = fread(text, 1, sizeof(text) - 2, f);
	fclose(f);
	second = text + strlen(text) + 1;
	while (second < text + n && *second == '-')
		second += strlen(second) + 1;
	snprintf(ret, size, "%.20s", base(text));
	if (second < text + n && !strpbrk(second, "./"))
		snprintf(ret + strlen(ret), size - strlen(ret), " %.20s", second);
	return n > 0;
}

/* All but ourselves and those that we have forked, which have our name. */
static void find_processes(unsigned samples)
{
	DIR *dir = opendir("/proc");
	char ours[48];

	assert_non_null(dir);
	assert_true(name_of(getpid(), ours, sizeof(ours)));
	for (const struct dirent *e; (e = readdir(dir));) {
		struct process *p = &processes[n_processes];
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid <= 1 || !name_of(pid, p->name, sizeof(p->name)) || !strcmp(p->name, ours))
			continue;
		p->pid = pid;
		p->foreign = !strncmp(p->name, "sumo", 4);
		p->most_kib = !strcmp(p->name, "sim-camera") ? CAMERA_KIB : GROWTH_KIB;
		p->keeps = !strcmp(p->name, "simctl") || !strcmp(p->name, "simbridge mcap");
		p->seen = calloc(samples, sizeof(*p->seen));
		assert_non_null(p->seen);
		assert_true(++n_processes < PROCESSES);
	}
	closedir(dir);
}

/* ---- the demo ---- */

/*
 * The demo's streets, in which twelve cars go round one block, in step with the traffic lights: each lap, of 100 s, is as the one before. 200 laps
 * are longer than any run; with a route of many more SUMO is slow. In the demo's own scenario cars and people come and go, and memory follows
 * them: the world has more objects, and what is kept for the largest message or picture so far (buffers of encoders, the heap, the scenes of Mesa's
 * renderer) grows with each record of traffic, ever more rarely.
 */
static void write_town(void)
{
	static const char *const block[] = { "j01_j11", "j11_j12", "j12_j02", "j02_j01" };
	FILE *f = fopen(TOWN ".rou.xml", "w");
	char *net = realpath("config/rigs/demo/town.net.xml", NULL);

	assert_non_null(f);
	assert_non_null(net);
	fprintf(f, "<routes><vType id=\"car\" vClass=\"passenger\" timeToTeleport=\"-1\" sigma=\"0\"/>\n");
	for (unsigned i = 0; i < CARS; i++)
		fprintf(f,
			"<vehicle id=\"%s%.0u\" type=\"car\" depart=\"%u\" departPos=\"%u\">"
			"<route repeat=\"200\" edges=\"%s %s %s %s\"/></vehicle>\n",
			i ? "car" : "ego", i, i / 4, 20 + 25 * (i / 4), block[i % 4], block[(i + 1) % 4],
			block[(i + 2) % 4], block[(i + 3) % 4]);
	fprintf(f, "</routes>\n");
	fclose(f);
	f = fopen(TOWN ".sumocfg", "w");
	assert_non_null(f);
	fprintf(f,
		"<configuration><input><net-file value=\"%s\"/><route-files value=\"" TOWN
		".rou.xml\"/></input></configuration>\n",
		net);
	fclose(f);
	free(net);
}

static void run_demo(const char *ready_fd)
{
	char path[512];
	const char *b = getenv("B");

	snprintf(path, sizeof(path), "%s/bin/simd", b ? b : "build");
	execl(path, "simd", "--runtime-dir", STACK_DIR, "--ready-fd", ready_fd, "--rig", "config/rigs/demo.json",
	      "--rig", "config/rigs/demo/bridge-ros2.json", "--rig", FRAGMENT, "--set", "roudi.probe_timeout_ms=20000",
	      (char *)NULL); /* the machine may be busy: that RouDi is slow is not looked for */
	_exit(127);
}

static bool connected(const char *bridge)
{
	return !strcmp(stack_bridge_text(bridge, "status"), "connected");
}

static pid_t start_demo(void)
{
	FILE *f = fopen(FRAGMENT, "w");
	pid_t simd;
	int fd;

	write_town();
	assert_non_null(f);
	fprintf(f, "{\"rigs\":[{\"name\":\"demo\",\"processes\":[%s,%s],\"bridges\":[%s,%s,%s,%s,%s]}]}", WORLD, SUMO,
		BRIDGE("null", "null", ""), BRIDGE("logging", "logging", ",\"connection\":\"/tmp/out-soak\""),
		BRIDGE("heard", "ros2", ",\"options\":{\"domain\":\"7\"}"),
		BRIDGE("mcap", "mcap",
		       ",\"connection\":\"/tmp/out-bridge\",\"channels\":[\"imu\",\"tf\",\"objects\",\"lidar/front\"],"
		       "\"options\":{\"split_size\":\"" SPLIT "\"}"),
		BRIDGE("foxglove", "foxglove", ",\"connection\":\"127.0.0.1:0\""));
	fclose(f);
	simd = stack_fork(run_demo, &fd);
	stack_await_ready(fd);
	AWAIT(connected("null") && connected("logging") && connected("ros2") && connected("heard") &&
	      connected("mcap") && connected("foxglove"));
	AWAIT(stack_channel("/lidar/top", "messages") > 0);
	return simd;
}

/* ---- the readers ---- */

static dds_entity_t reader_of(dds_entity_t participant, const char *topic, const char *type, dds_entity_t set)
{
	struct typed *t = typed_new(ros_type_find(ros2_types, type));
	dds_entity_t e = dds_create_topic(participant, typed_descriptor(t), topic, NULL, NULL), r, cond;
	dds_qos_t *qos = dds_create_qos();

	dds_qset_reliability(qos, DDS_RELIABILITY_BEST_EFFORT, 0);
	r = dds_create_reader(participant, e, qos, NULL);
	dds_delete_qos(qos);
	cond = dds_create_readcondition(r, DDS_ANY_STATE);
	return dds_waitset_attach(set, cond, 0) < 0 ? -1 : r;
}

/* As `ros2 topic hz` does, of three topics. Says how many messages came. */
static int listen_to_it(struct peer *p)
{
	dds_entity_t participant, set, r[3];

	setenv("CYCLONEDDS_URI",
	       "<CycloneDDS><Domain Id=\"any\"><General><Interfaces><NetworkInterface address=\"127.0.0.1\"/></Interfaces>"
	       "<MaxMessageSize>65500B</MaxMessageSize></General><Discovery><ParticipantIndex>auto</ParticipantIndex>"
	       "<Peers><Peer address=\"127.0.0.1\"/></Peers></Discovery></Domain></CycloneDDS>",
	       1);
	participant = dds_create_participant(DOMAIN, NULL, NULL);
	set = dds_create_waitset(participant);
	r[0] = reader_of(participant, "rt/lidar/top", "sensor_msgs/PointCloud2", set);
	r[1] = reader_of(participant, "rt/imu", "sensor_msgs/Imu", set);
	r[2] = reader_of(participant, "rt/tf", "tf2_msgs/TFMessage", set);
	PEER(p, participant > 0 && set > 0 && r[0] > 0 && r[1] > 0 && r[2] > 0);
	while (!atomic_load(&p->stop)) {
		dds_waitset_wait(set, NULL, 0, DDS_MSECS(500));
		for (int i = 0; i < 3; i++) {
			void *sample[1] = { NULL };
			dds_sample_info_t info;

			while (dds_take(r[i], sample, &info, 1, 1) > 0) {
				atomic_fetch_add(&p->received, i == 0);
				dds_return_loan(r[i], sample, 1);
			}
		}
	}
	dds_delete(participant);
	return 0;
}

/* Subscribes to the channels advertised in a piece of received data, {"id":7,"topic":..., except where it is cut. */
static void watch_all(int fd, const char *data, size_t n)
{
	static const char id[] = "{\"id\":";
	const char *end = data + n;
	char say[128], *rest;

	for (const char *at = data; (at = memmem(at, (size_t)(end - at), id, strlen(id))); at++) {
		unsigned long k = strtoul(at + strlen(id), &rest, 10);

		if (end - rest < 8 || strncmp(rest, ",\"topic\"", 8) != 0)
			continue;
		snprintf(say, sizeof(say), "{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":%lu,\"channelId\":%lu}]}",
			 k, k);
		raw_text(fd, say);
	}
}

/* As a page does that shows all there is. Says how many bytes came. */
static int watch_it(struct peer *p)
{
	static char data[(1 << 20) + 1];
	int fd = raw_open((unsigned)p->result, "/", "Host: 127.0.0.1\r\nSec-WebSocket-Protocol: foxglove.sdk.v1\r\n");
	int64_t said_mono_ns = 0;
	ssize_t n = 1;

	PEER(p, fd >= 0);
	while (!atomic_load(&p->stop) && (n = recv(fd, data, sizeof(data) - 1, 0)) > 0) {
		data[n] = '\0';
		watch_all(fd, data, (size_t)n);
		atomic_fetch_add(&p->received, (uint64_t)n);
		if (mono_now_ns() - said_mono_ns < PONG_DUR_NS)
			continue;
		said_mono_ns = mono_now_ns();
		raw_frame(fd, 0x8a, NULL, 0); /* a pong: a client silent for a minute is disconnected */
	}
	PEER(p, n > 0);
	close(fd);
	return 0;
}

static pid_t start_watcher(struct peer *p)
{
	unsigned port;

	assert_int_equal(sscanf(stack_bridge_text("foxglove", "detail"), "http://127.0.0.1:%u/", &port), 1);
	p->result = (int)port;
	return peer_fork(p, watch_it);
}

static pid_t start_recorder(void)
{
	static const char *const args[] = { "imu",          "tf",  "objects",
					    "/lidar/front", "-o",  "/tmp/out-record.mcap",
					    "--split-size", SPLIT, NULL };
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stdout);
		stack_exec_ctl("record", args);
	}
	setenv("SIMD_SOCKET", STACK_SOCKET, 1);
	AWAIT(strstr(stack_ctl("service", "list", "--names", NULL)->out, "/record/split"));
	return pid;
}

/* ---- logs ---- */

static const char *log_path(const char *stem, unsigned number)
{
	static char path[64];

	if (number > 1)
		snprintf(path, sizeof(path), "/tmp/%s.%u.mcap", stem, number);
	else
		snprintf(path, sizeof(path), "/tmp/%s.mcap", stem);
	return path;
}

/* Number of the newest file of a stem; those before the last ones are removed. */
static unsigned keep_newest(const char *stem, unsigned newest)
{
	for (; access(log_path(stem, newest + 1), F_OK) == 0; newest++)
		if (newest >= FILES)
			(void)unlink(log_path(stem, newest + 1 - FILES));
	return newest;
}

static void remove_logs(void)
{
	(void)!system("rm -f /tmp/out-*");
}

static long most(const struct process *p, unsigned from, unsigned to, size_t member, bool least)
{
	long r = *(const long *)((const char *)&p->seen[from] + member);

	for (unsigned i = from; i < to; i++) {
		long v = *(const long *)((const char *)&p->seen[i] + member);

		r = least ? (v < r ? v : r) : (v > r ? v : r);
	}
	return r;
}

/*
 * A process that only fluctuates, as with lanes, returns to its earlier size at some time; one that leaks never does.
 */
static bool leaks(const struct process *p, unsigned from, unsigned to, size_t member)
{
	unsigned middle = (from + to) / 2;

	return most(p, middle, to, member, true) > most(p, from, middle, member, false);
}

/* Of the line of least squares, over all of it. */
static double growth_kib(const struct process *p, unsigned from, unsigned to)
{
	double n = to - from, mean = 0, above = 0, below = 0;

	for (unsigned i = from; i < to; i++)
		mean += (double)p->seen[i].anon_kib / n;
	for (unsigned i = from; i < to; i++) {
		double t = i - (from + to - 1) / 2.0;

		above += t * ((double)p->seen[i].anon_kib - mean);
		below += t * t;
	}
	return above / below * n;
}

static double mean_kib(const struct process *p, unsigned from, unsigned to)
{
	double sum = 0;

	for (unsigned i = from; i < to; i++)
		sum += (double)p->seen[i].anon_kib;
	return sum / (to - from);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of the growth from one lap to the next, as if each lap added that: a step is in one or two of them. */
static double usual_growth_kib(const struct process *p, unsigned from, unsigned to)
{
	unsigned n = (to - from) / LAP;
	double *added = calloc(n, sizeof(*added)), r;

	assert_true(added && n > 1);
	for (unsigned k = 0; k + 1 < n; k++)
		added[k] = mean_kib(p, from + (k + 1) * LAP, from + (k + 2) * LAP) -
			   mean_kib(p, from + k * LAP, from + (k + 1) * LAP);
	qsort(added, n - 1, sizeof(*added), by_size);
	r = added[(n - 1) / 2] * n;
	free(added);
	return r;
}

static bool memory_grows(const struct process *p, unsigned from, unsigned to)
{
	if (p->keeps)
		return leaks(p, from, to, offsetof(struct usage, anon_kib));
	return growth_kib(p, from, to) > p->most_kib && usual_growth_kib(p, from, to) > p->most_kib / 2;
}

/* Whether it grew in steps, as with what there is to do, or with time. */
static void print_moments(const struct process *p, unsigned samples)
{
	printf("soak: %s, KiB at 16 moments:", p->name);
	for (unsigned i = 1; i <= 16; i++)
		printf(" %ld", p->seen[samples * i / 16 - 1].anon_kib);
	printf("\n");
}

static unsigned judge(unsigned samples)
{
	unsigned from = samples / 4, bad = 0;

	assert_true(samples >= 4);
	printf("soak: %-24s %8s %8s %8s %12s %8s\n", "process", "KiB", "then", "bytes/s", "descriptors", "threads");
	for (unsigned i = 0; i < n_processes; i++) {
		const struct process *p = &processes[i];
		const struct usage *a = &p->seen[from], *z = &p->seen[samples - 1];
		double grown = growth_kib(p, from, samples);
		bool memory = samples >= MEMORY_MIN && memory_grows(p, from, samples),
		     fds = leaks(p, from, samples, offsetof(struct usage, descriptors)),
		     threads = leaks(p, from, samples, offsetof(struct usage, threads));

		printf("soak: %-24s %8ld %8ld %8.1f %4ld -> %3ld %3ld -> %2ld%s%s%s%s\n", p->name, a->anon_kib,
		       z->anon_kib, grown * 1024 / (samples - from), a->descriptors, z->descriptors, a->threads,
		       z->threads, memory ? " MEMORY GROWS" : "", fds ? " DESCRIPTORS GROW" : "",
		       threads ? " THREADS GROW" : "", p->foreign ? " (not ours)" : "");
		if (samples >= MEMORY_MIN && (memory || grown > p->most_kib))
			print_moments(p, samples);
		bad += !p->foreign && (memory || fds || threads);
	}
	printf("soak: after %u of %u s; %s\n", from, samples,
	       samples < MEMORY_MIN ? "too short to say anything about memory"
				    : "a leak adds more than 64 KiB all along, of sim-camera 256");
	return bad;
}

/* ---- the judge ---- */

#define SAMPLES 3600

static bool grows(long (*kib_at)(unsigned second))
{
	struct process p = { .most_kib = GROWTH_KIB, .seen = calloc(SAMPLES, sizeof(*p.seen)) };
	bool r;

	assert_non_null(p.seen);
	for (unsigned i = 0; i < SAMPLES; i++)
		p.seen[i].anon_kib = kib_at(i);
	r = memory_grows(&p, SAMPLES / 4, SAMPLES);
	free(p.seen);
	return r;
}

static long laps_at(unsigned second)
{
	return 10000 + (second % LAP < LAP / 2 ? 0 : 60);
}

/* 40 bytes a second, in pages, beside the fluctuation of each lap */
static long leak_at(unsigned second)
{
	return laps_at(second) + second * 40L / 4096 * 4;
}

static long steps_at(unsigned second)
{
	return 10000 + 400 * (second > 1300) + 2400 * (second > 1900) + 100 * (second > 3000);
}

TEST(a_leak_is_distinguished_from_a_step)
{
	assert_true(grows(leak_at));
	assert_false(grows(laps_at));
	assert_false(grows(steps_at));
}

TEST_WITH(memory_and_descriptors_do_not_grow, NULL, stack_sweep)
{
	const char *n = getenv("SOAK_SECONDS");
	unsigned samples = n && atoi(n) >= 8 ? (unsigned)atoi(n) : 20, n_seen = 0;
	const char *ended = NULL;
	struct peer *p = peer_new(), *watcher = peer_new();
	pid_t simd = start_demo(), pid = peer_fork(p, listen_to_it), watching = start_watcher(watcher),
	      recorder = start_recorder();
	unsigned newest[2] = { 1, 1 };

	AWAIT(p->received > 0 && watcher->received > SEEN_BYTES);
	find_processes(samples);
	while (n_seen < samples && !ended) {
		pace_us(1000000);
		for (unsigned k = 0; k < n_processes; k++)
			if (usage_of(processes[k].pid, &processes[k].seen[n_seen]) < 0)
				ended = processes[k].name;
		n_seen += !ended;
		newest[0] = keep_newest("out-bridge", newest[0]);
		newest[1] = keep_newest("out-record", newest[1]);
		(void)!truncate(WORLD_LOG, 0); /* it goes on behind a hole, which takes no memory */
	}
	print_message("%llu clouds were heard, %llu MiB seen, files %u and %u written\n",
		      (unsigned long long)p->received, (unsigned long long)watcher->received >> 20, newest[0],
		      newest[1]);
	assert_int_equal(judge(n_seen), 0);
	if (ended)
		fail_msg("%s has ended", ended);
	assert_true(p->received > samples);
	peer_join(p, pid);
	peer_join(watcher, watching);
	peer_check(watcher, false);
	kill(recorder, SIGINT);
	assert_true(WIFEXITED(stack_wait(recorder))); /* 1 where the machine was too busy for a channel for a while */
	unlink(FRAGMENT);
	stack_stop(simd);
	remove_logs();
	peer_free(watcher);
	peer_free(p);
	for (unsigned i = 0; i < n_processes; i++)
		free(processes[i].seen);
}
