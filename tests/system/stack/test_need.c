/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory by need: the data plane allocates of /dev/shm what was admitted; no process writes to a whole pool; and when
 * other programs fill /dev/shm to the last page no process is killed by that, before, while or after RouDi dies.
 */
#include "peer.h"
#include "stack.h"

#include "fd.h"
#include "mem.h"
#include "patient.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CONF_ROUDI(more) \
	"\"TimeSource\":\"system\",\"roudi\":{\"retry_ms\":600000" more "},\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b1\",\"plugin\":\"null\",\"channels\":[\"/**\"]}]}]"
#define CONF      CONF_ROUDI("")
#define MIB       (1 << 20)
#define FULL_HD   (1920 * 1080 * 3 + 64)
#define RECORDING "/tmp/need.mcap"

/* ---- /dev/shm ---- */

/* The private one of this test. */
static void shm_of(const char *size)
{
	char option[32];

	if (getpid() != 1)
		skip();
	snprintf(option, sizeof(option), "size=%s", size);
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, option), 0);
}

static int again(void **state)
{
	stack_shm_clear();
	(void)unlink(RECORDING);
	(void)mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=2g");
	return stack_sweep(state);
}

static int64_t shm_used(void)
{
	struct statvfs v;

	assert_int_equal(statvfs("/dev/shm", &v), 0);
	return (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
}

/* The memory reported by simd is what is allocated; while a client is attaching, the report is read first. */
static bool agrees(void)
{
	int64_t used = shm_used(), need = stack_int("GetInfo", "shm_need");

	return need >= used - MIB && need <= used + 2 * MIB;
}

/* The client that has most of the largest slots. */
static void held_by(const char *channel)
{
	json_t *info = stack_call("GetInfo", NULL), *pools = json_object_get(info, "pools");
	const json_t *p = json_array_get(pools, json_array_size(pools) - 1);
	const json_t *first = json_array_get(json_object_get(p, "holders"), 0);
	double size = json_number_value(json_object_get(p, "size")),
	       count = json_number_value(json_object_get(p, "count"));
	char text[200];

	assert_string_equal(json_string_value(json_object_get(first, "channel")), channel);
	/* doctor reports it, too; the memory in use changes meanwhile */
	snprintf(text, sizeof(text), "slots of %.1f MiB: %.0f have memory (%.1f MiB), ", size / MIB, count,
		 count * size / MIB);
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, text));
	snprintf(text, sizeof(text), "; %lld are for %s", json_integer_value(json_object_get(first, "slots")), channel);
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, text));
	assert_true(json_integer_value(json_object_get(p, "peak")) >= json_integer_value(json_object_get(p, "used")));
	json_decref(info);
}

static pid_t start(void)
{
	pid_t simd = stack_start(CONF);

	AWAIT(!strcmp(stack_bridge_text("b1", "status"), "connected"));
	return simd;
}

/* ---- publishers ---- */

/* One message of full size, every byte of it written. */
static void send_full(struct peer *p, struct sim_publisher *pub, size_t body)
{
	struct sim_slot *slot;

	while (sim_loan(pub, body, &slot) < 0) /* a new generation is on its way */
		pace_us(1000);
	memset(sim_slot_body_mut(slot), 0x5a, body);
	sim_unloan(pub, slot);
	while (peer_queue(p, pub, body, NULL) < 0)
		pace_us(1000);
}

/* `number` small channels, and cameras if their size is not 0; sends whenever it is told a further number. */
static size_t camera_body;
static int cameras = 1, pictures = 20; /* in a round, of each */

#define CAMERAS_MAX 4

static int publisher(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "engine");
	struct sim_publisher *pub[200], *camera[CAMERAS_MAX];
	int told = 0, n_cameras = camera_body ? cameras : 0;

	for (uint64_t i = 0; i < p->number; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/t/%d", (int)i);
		pub[i] = peer_advertise(p, c, name, 64, 0);
	}
	for (int i = 0; i < n_cameras; i++) {
		char name[32];

		snprintf(name, sizeof(name), i ? "/camera/%d" : "/camera", i);
		camera[i] = peer_advertise(p, c, name, camera_body, 0);
	}
	atomic_store(&p->ready, 1);
	while (!atomic_load(&p->stop)) {
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) > told);
		if (atomic_load(&p->stop))
			break;
		for (uint64_t i = 0; i < p->number; i++)
			send_full(p, pub[i], 64);
		for (int i = 0; i < pictures * n_cameras; i++)
			send_full(p, camera[i % n_cameras], camera_body);
		peer_settle(p);
		atomic_store(&p->result, ++told);
	}
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

static struct peer *begin(uint64_t channels, size_t body, pid_t *ret_pid)
{
	struct peer *p = peer_new();

	p->number = channels;
	camera_body = body;
	*ret_pid = peer_fork(p, publisher);
	AWAIT(p->ready);
	return p;
}

static void round_of(struct peer *p, int n)
{
	peer_tell(p, n);
	AWAIT(p->result == n);
}

/* One that is refused; why is in its words. */
static int refused(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "one-more");
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = FULL_HD };
	struct sim_publisher *pub;
	int r = sim_advertise(c, "/more", &sim_Ultrasonic_type, &o, &pub);

	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	sim_disconnect(c);
	return r == -ENOSPC ? 0 : 1;
}

static void refuses_one_more(const char *text)
{
	struct peer *p = peer_new();

	assert_int_equal(stack_wait(peer_fork(p, refused)), 0);
	if (!strstr(p->why, text))
		fail_msg("it says: %s", p->why);
	peer_free(p);
}

/* ---- simctl record ---- */

/* Channels of the publisher, not simd's own, which a recorder takes as well. */
static unsigned listened_to(void)
{
	json_t *reply = stack_call("ListChannels", NULL);
	unsigned n = 0;
	json_t *ch;
	size_t i;

	json_array_foreach(json_object_get(reply, "channels"), i, ch) {
		const char *name = json_string_value(json_object_get(ch, "name"));
		bool own = strcmp(name, "/clock") == 0 || strncmp(name, "/simd/", 6) == 0;

		n += !own && json_array_size(json_object_get(ch, "subscribers")) > 0;
	}
	json_decref(reply);
	return n;
}

static pid_t record(unsigned channels)
{
	pid_t pid = fork();
	char path[4200];
	ssize_t n;

	assert_true(pid >= 0);
	if (pid > 0) {
		AWAIT(listened_to() >= channels);
		return pid;
	}
	n = readlink("/proc/self/exe", path, 4000);
	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../bin/simctl");
	execl(path, "simctl", "--socket", STACK_SOCKET, "record", "-o", RECORDING, NULL);
	_exit(127);
}

static void recorded(int i)
{
	const struct ctl_result *info = stack_ctl("bag", "info", RECORDING, NULL);
	char name[32];

	snprintf(name, sizeof(name), "/t/%d ", i);
	if (!strstr(info->out, name) || !strstr(info->out, "/camera"))
		fail_msg("it has no %s: %s", name, info->out);
}

/* ---- the tests ---- */

TEST_WITH(simd_alone_needs_little_memory, NULL, again)
{
	pid_t simd;

	shm_of("2g");
	simd = stack_start(CONF);
	assert_true(shm_used() <= 40 * MIB);
	AWAIT(agrees());
	stack_stop(simd);
}

/* The members of simd.json; static. */
static const char *fixed_pools(void)
{
	static char conf[8192];
	const struct ctl_result *r = stack_ctl("config", "--pools", NULL);

	assert_int_equal(r->code, 0);
	snprintf(conf, sizeof(conf), CONF ",%s", r->out);
	return conf;
}

TEST_WITH(a_rig_of_small_channels_runs_in_dockers_default_memory, NULL, again)
{
	const char *fixed;
	struct peer *p;
	pid_t simd, pid;

	shm_of("64m");
	simd = start();
	p = begin(60, 0, &pid);
	round_of(p, 1);
	AWAIT(agrees());
	fixed = fixed_pools();
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
	/* a fixed ladder of the same sizes gives the same */
	simd = stack_start(fixed);
	p = begin(60, 0, &pid);
	round_of(p, 1);
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

TEST_WITH(a_camera_and_sixty_channels_and_a_recorder_run_in_300_mb, NULL, again)
{
	struct peer *p;
	pid_t simd, pid, recorder;

	shm_of("300m");
	simd = start();
	p = begin(60, FULL_HD, &pid);
	recorder = record(61);
	for (int i = 1; i <= 3; i++)
		round_of(p, i);
	AWAIT(agrees());
	held_by("/camera");
	assert_int_equal(stack_bridge("b1", "dropped"), 0);
	kill(recorder, SIGINT);
	assert_int_equal(stack_wait(recorder), 0);
	for (int i = 0; i < 60; i++)
		recorded(i);
	peer_join(p, pid);
	assert_int_equal(unlink(RECORDING), 0);
	peer_check(p, false);
	peer_free(p);
	stack_stop(simd);
}

#define LARGE_RIG \
	"\"TimeSource\":\"system\",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b1\",\"plugin\":\"null\",\"channels\":[\"/**\"]}," \
	"{\"name\":\"b2\",\"plugin\":\"null\",\"channels\":[\"/camera/**\"]}," \
	"{\"name\":\"b3\",\"plugin\":\"null\",\"channels\":[\"/t/**\"]}," \
	"{\"name\":\"b4\",\"plugin\":\"mcap\",\"channels\":[\"/t/**\"],\"connection\":\"/tmp/large\"}]}]"
#define SMALL 200

/*
 * Three full-HD cameras and a lidar of their size, 200 small channels, four bridges and a recorder; in any order of
 * connecting.
 */
static void large_rig(bool recorder_first)
{
	static const char *const bridges[] = { "b1", "b2", "b3", "b4" };
	pid_t simd = stack_start(LARGE_RIG), pid, recorder = -1;
	struct peer *p;

	if (recorder_first)
		recorder = record(0);
	p = begin(SMALL, FULL_HD, &pid);
	if (!recorder_first)
		recorder = record(SMALL + 4);
	AWAIT(listened_to() >= SMALL + 4);
	for (int i = 1; i <= 3; i++)
		round_of(p, i);
	AWAIT(agrees());
	assert_true(shm_used() < 2048LL * MIB);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(stack_bridge(bridges[i], "dropped"), 0);
	kill(recorder, SIGINT);
	assert_int_equal(stack_wait(recorder), 0);
	for (int i = 0; i < SMALL; i++)
		recorded(i);
	peer_join(p, pid);
	peer_check(p, false);
	peer_free(p);
	assert_int_equal(unlink(RECORDING), 0);
	assert_int_equal(kill(simd, SIGTERM), 0);
	assert_int_equal(stack_wait(simd), 0);
	assert_int_equal(unlink("/tmp/large.mcap"), 0);
}

TEST_FULL_WITH(a_large_rig_runs_in_8_gb, NULL, again)
{
	shm_of("4g"); /* what docker gives such a machine's container by half of its memory */
	cameras = CAMERAS_MAX;
	pictures = 4;
	large_rig(true);
	large_rig(false);
	cameras = 1;
	pictures = 20;
}

#define HALF_GIB (512 * (size_t)MIB)

/* Its memory is made while it advertises, which takes seconds on some machines. */
static int half_a_gib(struct peer *p)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "huge", .timeout_ms = PATIENT_MS };
	struct sim_slot *slot, *second;
	struct sim_publisher *pub;
	struct sim_client *c;

	PEER(p, sim_connect(&o, &c) == 0);
	pub = peer_advertise(p, c, "/huge", HALF_GIB, 0);
	for (int i = 0; i < 2; i++) {
		PEER(p, sim_loan(pub, HALF_GIB, &slot) == 0);
		PEER(p, sim_loan(pub, HALF_GIB, &second) == -ENOBUFS);
		((uint8_t *)sim_slot_body_mut(slot))[HALF_GIB - 1] = 1;
		PEER(p, sim_unloan(pub, slot) == 0);
		PEER(p, peer_queue(p, pub, HALF_GIB, NULL) == 0);
	}
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

/* The largest that a bridge takes: iceoryx has seven such slots, and four of them do. */
TEST_FULL_WITH(a_message_of_half_a_gib_is_carried, NULL, again)
{
	struct peer *p = peer_new();
	pid_t simd;

	shm_of("3g");
	simd = start();
	peer_join(p, peer_fork(p, half_a_gib));
	assert_int_equal(p->ok, 2);
	assert_int_equal(stack_bridge("b1", "dropped"), 0);
	peer_free(p);
	stack_stop(simd);
}

TEST_WITH(a_full_dev_shm_kills_no_process, NULL, again)
{
	uint32_t life;
	struct peer *p;
	pid_t simd, pid;

	shm_of("300m");
	simd = start();
	p = begin(30, FULL_HD, &pid);
	round_of(p, 1);
	stack_shm_fill(0);
	/* admitted channels continue, in all their slots */
	for (int i = 2; i <= 6; i++)
		round_of(p, i);
	refuses_one_more("/dev/shm has ");
	/* a new generation waits for the room that there is when the old one's memory has gone back */
	life = stack_life();
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_life() != life && stack_life() != 0);
	for (int i = 7; i <= 9; i++)
		round_of(p, i);
	stack_shm_clear();
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

static int admitted(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "next");

	send_full(p, peer_advertise(p, c, "/next", FULL_HD, 0), FULL_HD);
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

/* An unused channel frees its memory for the next one, when no other memory is left. */
TEST_WITH(an_idle_channel_gives_way_in_a_full_dev_shm, NULL, again)
{
	struct peer *p;
	pid_t simd, pid;

	shm_of("300m");
	simd = start();
	p = begin(0, FULL_HD, &pid);
	round_of(p, 1);
	peer_join(p, pid);
	peer_free(p);
	stack_shm_fill(0);
	p = peer_new();
	assert_int_equal(stack_wait(peer_fork(p, admitted)), 0);
	peer_free(p);
	stack_shm_clear();
	stack_stop(simd);
}

/* Memory that it has allocated is found again, with no page to spare. */
/* Of the file that names the simd whose data plane it is: made again it would take a page that others may have by then. */
static ino_t owner_file(void)
{
	glob_t found;
	struct stat st;

	assert_int_equal(glob("/dev/shm/simd-*/simd", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	assert_int_equal(stat(found.gl_pathv[0], &st), 0);
	globfree(&found);
	return st.st_ino;
}

TEST_WITH(a_killed_simd_restarts_in_a_full_dev_shm, NULL, again)
{
	struct peer *p;
	pid_t simd, pid;
	ino_t owner;

	shm_of("300m");
	simd = start();
	p = begin(10, FULL_HD, &pid);
	round_of(p, 1);
	stack_shm_fill(0);
	owner = owner_file();
	stack_kill(simd);
	simd = start();
	assert_int_equal(owner_file(), owner);
	for (int i = 2; i <= 4; i++)
		round_of(p, i);
	refuses_one_more("/dev/shm has ");
	stack_shm_clear();
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* The clients hold the memory of the two, and give it back. */
TEST_WITH(a_simd_killed_with_its_roudi_restarts_in_a_full_dev_shm, NULL, again)
{
	unsigned waited;
	struct peer *p;
	pid_t simd, pid;
	int fd;

	shm_of("300m");
	simd = start();
	p = begin(10, FULL_HD, &pid);
	round_of(p, 1);
	stack_shm_fill(0);
	for (int i = 2; i <= 4; i++) {
		stack_kill_both(simd, stack_roudi());
		simd = start();
		round_of(p, i);
	}
	/* also one that waits for room itself */
	stack_shm_fill(0);
	waited = stack_count("no new generation", "MiB are free");
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_count("no new generation", "MiB are free") > waited);
	stack_kill(simd);
	simd = start();
	round_of(p, 5);
	/* and with nothing to spare it waits until there is */
	waited = stack_count("no new generation", "MiB are free");
	stack_kill_both(simd, stack_roudi());
	stack_shm_fill(0);
	simd = stack_spawn(CONF, &fd);
	AWAIT(stack_count("no new generation", "MiB are free") > waited);
	stack_shm_fill(0); /* memory that was freed meanwhile */
	stack_shm_clear();
	stack_await_ready(fd);
	round_of(p, 6);
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* Writes a whole slot and releases it as often as requested, as soon as it gets one. */
static int painter(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "painter");
	struct sim_publisher *pub = peer_advertise(p, c, "/painted", FULL_HD, 0);
	struct sim_slot *slot;

	for (;;) {
		PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->command) > atomic_load(&p->result));
		if (atomic_load(&p->stop))
			break;
		while (sim_loan(pub, FULL_HD, &slot) < 0) {
			atomic_fetch_add(&p->refused, 1);
			pace_us(1000);
		}
		memset(sim_slot_body_mut(slot), 0x5a, FULL_HD);
		PEER(p, sim_unloan(pub, slot) == 0);
		atomic_fetch_add(&p->result, 1);
	}
	sim_disconnect(c);
	return 0;
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid == pid;
}

static int64_t taken_by_others(void)
{
	struct stat st;

	stack_shm_fill(0);
	assert_int_equal(stat("/dev/shm/of-others", &st), 0);
	return st.st_size;
}

/*
 * For the next RouDi: it begins when GATE is opened for writing, so that it cannot take memory that other programs are
 * to have.
 */
#define GATE       "/tmp/out-gate"
#define GATED      "/tmp/out-gated-roudi"
#define CONF_GATED CONF_ROUDI(",\"path\":\"" GATED "\"")

static void gate_begin(void)
{
	static const char program[] = "#!/bin/sh\nread go <" GATE "\nexec iox-roudi \"$@\"\n";

	assert_int_equal(mkfifo(GATE, 0600), 0);
	assert_int_equal(fd_write_file(GATED, program, strlen(program), 0755), 0);
}

static void gate_end(void)
{
	int fd = open(GATE, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	unlink(GATE);
	unlink(GATED);
}

/* Free slots of the dead RouDi go back, and others take that memory, while its client has no simd that tells it. */
TEST_WITH(a_client_without_simd_does_not_write_to_freed_memory, NULL, again)
{
	struct peer *p = peer_new();
	pid_t simd, pid;
	int64_t taken;
	int fd;

	shm_of("200m");
	simd = start();
	pid = peer_fork(p, painter);
	peer_tell(p, 1);
	AWAIT(p->result == 1);
	stack_kill_both(simd, stack_roudi());
	taken = taken_by_others();
	gate_begin();
	simd = stack_spawn(CONF_GATED, &fd);
	AWAIT(taken_by_others() > taken + 20 * MIB);
	peer_tell(p, 2);
	AWAIT(p->refused > 20 || has_ended(pid));
	stack_shm_clear();
	gate_end();
	stack_await_ready(fd);
	AWAIT(p->result == 2 || has_ended(pid));
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

TEST_WITH(simd_does_not_wait_for_ever_for_memory_of_a_killed_one, NULL, again)
{
	pid_t simd;
	int fd;

	shm_of("100m");
	simd = start();
	stack_kill_both(simd, stack_roudi());
	stack_shm_fill(0);
	simd = stack_spawn("\"TimeSource\":\"system\",\"roudi\":{\"retry_ms\":1000}", &fd);
	assert_int_equal(WEXITSTATUS(stack_wait(simd)), 1);
	close(fd);
	assert_true(stack_said("/dev/shm has had no room for "));
	stack_shm_clear();
	simd = start();
	stack_stop(simd);
}

#define PORTS 100 /* publishers of a process; and twice as many subscribers */

/* All its ports are made when no page is free. */
static int ports(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "ports");
	struct sim_subscriber_options o = { .size = sizeof(o), .depth = 1 };

	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command) == 1);
	for (int i = 0; i < PORTS; i++) {
		struct sim_subscriber *sub;
		struct sim_slot *slot;
		struct sim_publisher *pub;
		char name[32];

		snprintf(name, sizeof(name), "/p/%llu/%d", (unsigned long long)p->number, i);
		for (int k = 0; k < 2; k++)
			PEER(p, sim_subscribe(c, name, &sim_Ultrasonic_type, &o, &sub) == 0);
		pub = peer_advertise(p, c, name, 64, SIM_PUB_LOCAL);
		PEER(p, sim_loan(pub, 64, &slot) == 0);
		PEER(p, sim_publish_local(pub, slot) == 0);
	}
	sim_disconnect(c);
	return 0;
}

TEST_WITH(ports_find_pages_in_a_full_dev_shm, NULL, again)
{
	struct peer *p[4];
	pid_t simd, pid[4];

	shm_of("100m");
	simd = stack_start("\"TimeSource\":\"system\","
			   "\"pools\":[{\"size\":\"1KiB\",\"count\":8000}]");
	for (int i = 0; i < 4; i++) {
		p[i] = peer_new();
		p[i]->number = (uint64_t)i;
		pid[i] = peer_fork(p[i], ports);
		AWAIT(p[i]->ready);
	}
	stack_shm_fill(0);
	for (int i = 0; i < 4; i++)
		peer_tell(p[i], 1);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(stack_wait(pid[i]), 0);
		peer_free(p[i]);
	}
	stack_shm_clear();
	stack_stop(simd);
}

#define GROWERS 100 /* channels, each announced for 64 bytes; then 5000, then 100000 are sent */

static int grower(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "grower");
	struct sim_publisher *pub[GROWERS];

	for (int i = 0; i < GROWERS; i++) {
		char name[32];

		snprintf(name, sizeof(name), "/g/%d", i);
		pub[i] = peer_advertise(p, c, name, 64, 0);
	}
	for (size_t body = 5000; body <= 100000; body *= 20)
		for (int i = 0; i < GROWERS; i++)
			send_full(p, pub[i], body);
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

/* Memory is allocated 200 times for messages longer than announced: none needs a new generation, none is lost. */
TEST_WITH(channels_grow_within_the_running_generation, NULL, again)
{
	struct peer *p = peer_new();
	uint32_t life;
	pid_t simd;

	shm_of("2g");
	simd = start();
	life = stack_life();
	assert_int_equal(stack_wait(peer_fork(p, grower)), 0);
	assert_int_equal(p->ok, 2 * GROWERS);
	assert_int_equal(stack_life(), life);
	AWAIT(agrees());
	peer_free(p);
	stack_stop(simd);
}

/* Stopped with a slot in its hand, for longer than simd waits for it; then it writes on. */
static int late_writer(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "late");
	struct sim_publisher *pub = peer_advertise(p, c, "/late", FULL_HD, 0);
	struct sim_slot *slot;

	PEER(p, sim_loan(pub, FULL_HD, &slot) == 0);
	atomic_store(&p->ready, 1);
	raise(SIGSTOP);
	memset(sim_slot_body_mut(slot), 0x5a, FULL_HD);
	atomic_store(&p->result, 1);
	(void)sim_unloan(pub, slot);
	send_full(p, pub, FULL_HD);
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

TEST_FULL_WITH(a_held_slot_outlasts_its_generation, NULL, again)
{
	struct peer *p = peer_new();
	uint32_t life;
	pid_t simd, pid;

	shm_of("300m");
	simd = start();
	pid = peer_fork(p, late_writer);
	AWAIT(p->ready);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid); /* before that a SIGCONT would be lost */
	stack_shm_fill(16 * MIB);                             /* held slots do not prevent the next generation */
	life = stack_life();
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_life() != life && stack_life() != 0);
	stack_shm_fill(0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	AWAIT(p->result == 1);
	stack_shm_clear();
	assert_int_equal(stack_wait(pid), 0);
	peer_free(p);
	stack_stop(simd);
}

static bool is_written_down(const char *app)
{
	char *text;
	bool yes;

	if (fd_read_file(STACK_DIR "/state.json", 1 << 20, &text, NULL) < 0)
		return false;
	yes = strstr(text, app) != NULL;
	mem_free(text);
	return yes;
}

/* Others have moved to the next simd's generation: the memory of the last one goes back when it has moved, too. */
TEST_WITH(a_held_slot_outlasts_simd_and_its_roudi, NULL, again)
{
	struct peer *p = peer_new();
	pid_t simd, pid;

	shm_of("300m");
	simd = start();
	pid = peer_fork(p, late_writer);
	AWAIT(p->ready && is_written_down("late-"));
	stack_kill_both(simd, stack_roudi());
	simd = start();
	stack_shm_fill(0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	AWAIT(p->result == 1 || has_ended(pid));
	stack_shm_clear();
	assert_int_equal(stack_wait(pid), 0);
	peer_free(p);
	stack_stop(simd);
}

/* /dev/shm shrinks to the size in use: connected clients continue, new ones are refused; then there is room again. */
TEST_WITH(dev_shm_may_shrink_and_grow, NULL, again)
{
	struct peer *p;
	pid_t simd, pid;
	char option[64];

	shm_of("300m");
	simd = start();
	p = begin(10, FULL_HD, &pid);
	round_of(p, 1);
	snprintf(option, sizeof(option), "size=%lldk", (long long)(shm_used() / 1024));
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, option), 0);
	round_of(p, 2);
	refuses_one_more("/dev/shm has ");
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=2g"), 0);
	peer_join(p, pid);
	peer_free(p);
	p = peer_new();
	assert_int_equal(stack_wait(peer_fork(p, admitted)), 0);
	peer_free(p);
	stack_stop(simd);
}

/* No file can be made in /dev/shm: the next generation waits for that as it does for memory. */
TEST_WITH(without_inodes_a_generation_waits, NULL, again)
{
	struct statvfs v;
	uint32_t life;
	struct peer *p;
	pid_t simd, pid;
	char option[64];

	shm_of("300m");
	simd = start();
	p = begin(10, 0, &pid);
	round_of(p, 1);
	life = stack_life();
	assert_int_equal(statvfs("/dev/shm", &v), 0);
	snprintf(option, sizeof(option), "nr_inodes=%lld", (long long)(v.f_files - v.f_ffree) + 1);
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, option), 0);
	assert_int_equal(kill(stack_roudi(), SIGKILL), 0);
	AWAIT(stack_count("no new generation", "its inodes are used up") == 1);
	assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "nr_inodes=100000"), 0);
	AWAIT(stack_life() != life && stack_life() != 0);
	round_of(p, 2);
	peer_join(p, pid);
	peer_free(p);
	stack_stop(simd);
}

/* As programs with hard deadlines do: no page of theirs is ever to be fetched. */
static int locked(struct peer *p)
{
	PEER(p, mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
	return admitted(p);
}

TEST_WITH(a_client_that_locks_all_memory_takes_no_more, NULL, again)
{
	struct peer *p = peer_new();
	pid_t simd;

	shm_of("300m");
	simd = start();
	assert_int_equal(stack_wait(peer_fork(p, locked)), 0);
	AWAIT(agrees());
	peer_free(p);
	stack_stop(simd);
}

/* ---- deaths in the middle ---- */

#define STEPS_MAX 40

static int one_grows(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "one");
	struct sim_publisher *pub = peer_advertise(p, c, "/one", 64, 0);

	send_full(p, pub, 64);
	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command) == 1);
	send_full(p, pub, MIB); /* asked again and again, of whatever simd there is */
	atomic_store(&p->result, 1);
	peer_settle(p);
	sim_disconnect(c);
	return 0;
}

/* Whether the thread that has stopped is before or behind a call of fallocate(). */
static bool at_commit(pid_t simd, int status)
{
	static uint64_t call;
	struct __ptrace_syscall_info info;

	if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80) ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, simd, sizeof(info), &info) <= 0)
		return false;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
		call = info.entry.nr;
	return call == SYS_fallocate;
}

static long signal_for(int status)
{
	int s = WSTOPSIG(status);

	return status >> 16 || s == (SIGTRAP | 0x80) ? 0 : s;
}

/* Kills simd where its main thread begins or ends its step number n of giving memory; false: it has done so in fewer. */
static bool killed_at_step(pid_t simd, unsigned n, struct peer *p)
{
	long signal = 0;
	int status;

	assert_int_equal(ptrace(PTRACE_SEIZE, simd, NULL, PTRACE_O_TRACESYSGOOD), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, simd, NULL, NULL), 0);
	assert_int_equal(waitpid(simd, &status, __WALL), simd);
	peer_tell(p, 1);
	for (unsigned i = 0; i < n;) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, simd, NULL, signal), 0);
		assert_int_equal(waitpid(simd, &status, __WALL), simd); /* its timers wake it at least once a second */
		if (atomic_load(&p->result)) {
			assert_int_equal(ptrace(PTRACE_DETACH, simd, NULL, signal_for(status)), 0);
			return false;
		}
		i += at_commit(simd, status);
		signal = signal_for(status);
	}
	stack_kill(simd);
	return true;
}

/*
 * The next simd finds all or half of the memory that a killed one had allocated for its segments: there is no room for
 * it twice.
 */
TEST_FULL_WITH(simd_may_die_at_each_step_of_a_growth, NULL, again)
{
	bool killed = true;
	unsigned n = 1;

	shm_of("200m");
	for (; killed; n++) {
		struct peer *p = peer_new();
		pid_t simd = start(), pid;

		assert_true(n < STEPS_MAX);
		pid = peer_fork(p, one_grows);
		AWAIT(p->ready);
		stack_shm_fill(36 * MIB);
		killed = killed_at_step(simd, n, p);
		if (killed)
			simd = start();
		assert_int_equal(stack_wait(pid), 0);
		stack_shm_clear();
		peer_free(p);
		stack_stop(simd);
	}
	assert_true(n > 4); /* it was killed now and then */
}
