/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo with every bridge at once: null, logging, ros2 with nobody in its domain, ros2 with a reader. Nothing grows: neither
 * descriptors nor threads of any process, nor, in a run of some minutes, its own memory, by a straight line through what was
 * seen after the first quarter. Lines that begin with "soak: " are the table.
 * SOAK_SECONDS=n (20).
 */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#include <dds/dds.h>

#include "../../system/ros2/typed.h"

#define DOMAIN                  7
#define PROCESSES               24
#define MEMORY_MIN              300 /* samples; before that what each process needs once is most of it */
#define GROWTH_KIB              64 /* of the line, from its begin to its end: a buffer of Cyclone's is used once to its end */
#define FRAGMENT                "/tmp/soak.json"
#define BRIDGE(n, plugin, more) "{\"name\":\"" n "\",\"plugin\":\"" plugin "\"" more "}"

struct process {
	pid_t pid;
	char name[48];
	bool foreign; /* it may grow */
	struct usage *seen;
};

static struct process processes[PROCESSES];
static unsigned n_processes;

/* ---- who is there ---- */

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
		p->seen = calloc(samples, sizeof(*p->seen));
		assert_non_null(p->seen);
		assert_true(++n_processes < PROCESSES);
	}
	closedir(dir);
}

/* ---- the demo ---- */

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

	assert_non_null(f);
	fprintf(f, "{\"rigs\":[{\"name\":\"demo\",\"bridges\":[%s,%s,%s]}]}", BRIDGE("null", "null", ""),
		BRIDGE("logging", "logging", ",\"connection\":\"/tmp/soak\""),
		BRIDGE("heard", "ros2", ",\"options\":{\"domain\":\"7\"}"));
	fclose(f);
	simd = stack_fork(run_demo, &fd);
	stack_await_ready(fd);
	AWAIT(connected("null") && connected("logging") && connected("ros2") && connected("heard"));
	AWAIT(stack_channel("/lidar/top", "messages") > 0);
	return simd;
}

/* ---- who listens ---- */

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

/* ---- what was seen ---- */

static long most(const struct process *p, unsigned from, unsigned to, size_t member, bool least)
{
	long r = *(const long *)((const char *)&p->seen[from] + member);

	for (unsigned i = from; i < to; i++) {
		long v = *(const long *)((const char *)&p->seen[i] + member);

		r = least ? (v < r ? v : r) : (v > r ? v : r);
	}
	return r;
}

/* What comes and goes, as a lane does, is back at some time; what leaks never is. */
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

static unsigned judge(unsigned samples)
{
	unsigned from = samples / 4, bad = 0;

	assert_true(samples >= 4);
	printf("soak: %-24s %8s %8s %8s %12s %8s\n", "process", "KiB", "then", "bytes/s", "descriptors", "threads");
	for (unsigned i = 0; i < n_processes; i++) {
		const struct process *p = &processes[i];
		const struct usage *a = &p->seen[from], *z = &p->seen[samples - 1];
		double grown = growth_kib(p, from, samples);
		bool memory = samples >= MEMORY_MIN && grown > GROWTH_KIB,
		     fds = leaks(p, from, samples, offsetof(struct usage, descriptors)),
		     threads = leaks(p, from, samples, offsetof(struct usage, threads));

		printf("soak: %-24s %8ld %8ld %8.1f %4ld -> %3ld %3ld -> %2ld%s%s%s%s\n", p->name, a->anon_kib,
		       z->anon_kib, grown * 1024 / (samples - from), a->descriptors, z->descriptors, a->threads,
		       z->threads, memory ? " MEMORY GROWS" : "", fds ? " DESCRIPTORS GROW" : "",
		       threads ? " THREADS GROW" : "", p->foreign ? " (not ours)" : "");
		bad += !p->foreign && (memory || fds || threads);
	}
	printf("soak: after %u of %u s; %s\n", from, samples,
	       samples < MEMORY_MIN ? "too short to say anything about memory" : "the line grows by at most 64 KiB");
	return bad;
}

TEST_WITH(nothing_grows, NULL, stack_sweep)
{
	const char *n = getenv("SOAK_SECONDS");
	unsigned samples = n && atoi(n) >= 8 ? (unsigned)atoi(n) : 20, n_seen = 0;
	const char *ended = NULL;
	struct peer *p = peer_new();
	pid_t simd = start_demo(), pid = peer_fork(p, listen_to_it);

	AWAIT(p->received > 0);
	find_processes(samples);
	while (n_seen < samples && !ended) {
		pace_us(1000000);
		for (unsigned k = 0; k < n_processes; k++)
			if (usage_of(processes[k].pid, &processes[k].seen[n_seen]) < 0)
				ended = processes[k].name;
		n_seen += !ended;
	}
	print_message("%llu clouds were heard\n", (unsigned long long)p->received);
	assert_int_equal(judge(n_seen), 0);
	if (ended)
		fail_msg("%s has ended", ended);
	assert_true(p->received > samples);
	peer_join(p, pid);
	unlink(FRAGMENT);
	unlink("/tmp/soak.txt.gz");
	stack_stop(simd);
	peer_free(p);
	for (unsigned i = 0; i < n_processes; i++)
		free(processes[i].seen);
}
