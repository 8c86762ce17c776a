/* SPDX-License-Identifier: Apache-2.0 */
/* Starting and stopping: one simd a machine, suitable and unsuitable RouDis, and signals at any moment. */
#include "peer.h"
#include "stack.h"

#include "fd.h"
#include "mem.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define CONF \
	"\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":[" \
	"{\"name\":\"b\",\"plugin\":\"null\"},{\"name\":\"log\",\"plugin\":\"logging\",\"connection\":\"/tmp/out\"}]," \
	"\"processes\":[{\"name\":\"sleeper\",\"command\":[\"sleep\",\"86397\"]}]}]"

/* simd ends by itself, with exit code 1 and those words. */
static void refuses_with(int code, const char *conf, const char *words, const char *more)
{
	int fd, status;
	pid_t pid;

	unlink(STACK_LOG);
	pid = stack_spawn(conf, &fd);
	status = stack_wait(pid);
	close(fd);
	assert_int_equal(WEXITSTATUS(status), code);
	if (!stack_count(words, more))
		fail_msg("simd did not say \"%s\" and \"%s\"", words, more);
}

static void refuses(const char *conf, const char *words, const char *more)
{
	refuses_with(1, conf, words, more);
}

TEST_WITH(a_second_simd_is_refused, NULL, stack_sweep)
{
	pid_t simd = stack_start(CONF), second;
	char pid[32];

	snprintf(pid, sizeof(pid), "pid %d", (int)simd);
	refuses(CONF, pid, STACK_DIR);
	/* the first has not noticed */
	assert_int_equal(stack_int("GetInfo", "pid"), simd);
	stack_kill(simd);
	second = stack_start(CONF); /* a dead one's lock is no lock */
	stack_stop(second);
}

/* A failed write is an error; none of our programs is ended by the signal that goes with it. */
TEST(a_limit_of_file_size_ends_no_program)
{
	static const char *const programs[] = { "simd",        "simbridge",   "simctl",    "simhost",
						"sim-world",   "sim-sumo",    "sim-lidar", "sim-camera",
						"sim-sensors", "sim-vehicle", "sim-ss2",   "sim-join" };
	char path[4200];
	ssize_t n = readlink("/proc/self/exe", path, 4000);

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		pid_t pid;
		int status;

		path[n > 0 ? n : 0] = '\0';
		sprintf(strrchr(path, '/'), "/../bin/%s", programs[i]);
		if (access(path, X_OK) < 0)
			continue; /* not built: this machine lacks a library that it needs */
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			int fd = open("/tmp/help", O_CREAT | O_TRUNC | O_WRONLY, 0600);

			setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 10, 10 });
			dup2(fd, STDOUT_FILENO);
			execl(path, programs[i], "--help", NULL);
			_exit(127);
		}
		status = stack_wait(pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_FAILURE)
			fail_msg("%s: status %#x", programs[i], status);
	}
	assert_int_equal(unlink("/tmp/help"), 0);
}

/* ---- what a killed simd has started ---- */

static void script(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fchmod(fileno(f), 0755), 0);
	assert_int_equal(fclose(f), 0);
}

static unsigned lines(const char *path)
{
	char *text = NULL;
	unsigned n = 0;

	if (fd_read_file(path, 4096, &text, NULL) == 0)
		for (const char *p = text; *p; p++)
			n += *p == '\n';
	mem_free(text);
	return n;
}

static pid_t nth_pid(const char *path, unsigned n)
{
	char *text = NULL, *p;
	pid_t pid;

	assert_int_equal(fd_read_file(path, 4096, &text, NULL), 0);
	p = text;
	while (n--)
		p = strchr(p, '\n') + 1;
	pid = (pid_t)atoi(p);
	mem_free(text);
	return pid;
}

static bool runs(pid_t pid)
{
	char path[64], state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return fd_stat_field(path, 4, &state) >= 0 && state != 'Z';
}

#define HELD \
	"\"TimeSource\":\"system\"," STACK_POOLS \
	",\"bridge\":{\"program\":\"/tmp/out-held\"},\"process\":{\"stop_ms\":100}," \
	"\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"null\"}]}]"

/*
 * A bridge that ignores SIGTERM, as one that is just starting does: when the next simd is ready, and has started its
 * own bridge, the old one has ended, and so have the processes that it started itself.
 */
TEST_WITH(bridges_of_a_killed_simd_end_before_the_next_is_ready, NULL, stack_sweep)
{
	pid_t simd, bridge, below;
	int fd;

	script("/tmp/out-held",
	       "#!/bin/sh\ntrap '' TERM\nsleep 86396 &\necho $! >>/tmp/out-below\necho $$ >>/tmp/out-pids\n"
	       "wait\n");
	simd = stack_start(HELD);
	AWAIT(lines("/tmp/out-pids") == 1);
	bridge = nth_pid("/tmp/out-pids", 0);
	below = nth_pid("/tmp/out-below", 0);
	stack_kill(simd);
	assert_true(runs(bridge) && runs(below));
	simd = stack_start(HELD);
	assert_false(runs(bridge));
	AWAIT(!runs(below));
	AWAIT(lines("/tmp/out-pids") == 2);
	assert_true(stack_said("started by the earlier simd, has not exited 100 ms after SIGTERM"));
	/* one that is stopped while it waits leaves nothing either */
	stack_kill(simd);
	stack_kill(stack_spawn(HELD, &fd));
	close(fd);
	simd = stack_start(HELD);
	stack_stop(simd);
	assert_false(runs(nth_pid("/tmp/out-pids", 1)));
}

/*
 * Without a next simd, simd --clean-up ends all these processes, but no running simd, and no RouDi of other programs.
 */
TEST_WITH(clean_up_ends_everything_left_by_a_killed_simd, NULL, stack_sweep)
{
	static const char *const clean_up[] = { "simd",  "--runtime-dir",       STACK_DIR,
						"--set", "process.stop_ms=100", "--clean-up",
						NULL };
	pid_t simd, bridge, below;

	unlink("/tmp/out-pids");
	unlink("/tmp/out-below");
	script("/tmp/out-held",
	       "#!/bin/sh\ntrap '' TERM\nsleep 86396 &\necho $! >>/tmp/out-below\necho $$ >>/tmp/out-pids\n"
	       "wait\n");
	assert_int_equal(stack_run(clean_up)->code, 0); /* nothing was left */
	simd = stack_start(HELD);
	AWAIT(lines("/tmp/out-pids") == 1);
	bridge = nth_pid("/tmp/out-pids", 0);
	below = nth_pid("/tmp/out-below", 0);
	assert_int_equal(stack_run(clean_up)->code, 1);
	assert_true(runs(simd) && runs(bridge));
	assert_int_equal(stack_int("GetInfo", "pid"), simd);
	stack_kill(simd);
	assert_true(*stack_leftovers());
	assert_int_equal(stack_run(clean_up)->code, 0);
	assert_false(runs(bridge));
	AWAIT(!runs(below));
	assert_string_equal(stack_leftovers(), "");
}

static void run_bridge(const char *socket)
{
	const char *b = getenv("B");
	char path[512];

	snprintf(path, sizeof(path), "%s/bin/simbridge", b ? b : "build");
	execl(path, "simbridge", "--socket", socket, "log", (char *)NULL);
	_exit(127);
}

/* A bridge that gets SIGTERM while it starts, as its simd has died, does not wait for another simd. */
TEST_WITH(a_bridge_told_to_end_while_starting_ends, NULL, stack_sweep)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) { /* both the mask and pending signals are inherited by the program */
		sigset_t term;

		sigemptyset(&term);
		sigaddset(&term, SIGTERM);
		sigprocmask(SIG_BLOCK, &term, NULL);
		raise(SIGTERM);
		run_bridge("/tmp/out-no-simd");
	}
	assert_int_equal(stack_wait(pid), 0);
}

/* The bridge asks again, and its end does not count as its own failure. */
TEST_WITH(a_bridge_asks_again_when_simd_does_not_answer_for_a_while, NULL, stack_sweep)
{
	int fd = fd_unix_listen("/tmp/out-slow-simd", SOCK_STREAM, 0600), came[2];
	pid_t pid;

	assert_true(fd >= 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_bridge("/tmp/out-slow-simd");
	for (int i = 0; i < 2; i++) {
		AWAIT(fd_wait(fd, POLLIN, 0) > 0 || !runs(pid));
		assert_true(runs(pid));
		came[i] = fd_unix_accept(fd);
		assert_true(came[i] >= 0);
	}
	kill(pid, SIGTERM);
	for (int i = 0; i < 2; i++)
		close(came[i]);
	(void)stack_wait(pid);
	close(fd);
	unlink("/tmp/out-slow-simd");
}

/* ---- a RouDi that was there ---- */

static pid_t roudi(const char *toml, const char *monitoring)
{
	FILE *f = fopen("/tmp/out.toml", "w");
	pid_t pid;

	assert_non_null(f);
	fputs(toml, f);
	fclose(f);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		dup2(null, 1);
		dup2(null, 2);
		execlp("iox-roudi", "iox-roudi", "-c", "/tmp/out.toml", "-m", monitoring, (char *)NULL);
		_exit(127);
	}
	AWAIT(access("/tmp/roudi", F_OK) == 0);
	return pid;
}

#define EXTERNAL             ",\"roudi\":{\"start\":\"external\"}"
#define TOML(segments)       "[general]\nversion = 1\n" segments
#define SEGMENT(size, count) "[[segment]]\n[[segment.mempool]]\nsize = " size "\ncount = " count "\n"

static void end_roudi(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(stack_wait(pid), SIGKILL);
	unlink("/tmp/roudi");
	unlink("/tmp/roudi.lock");
	unlink("/tmp/iox-unique-roudi.lock");
	assert_int_equal(system("rm -f /dev/shm/iceoryx_mgmt \"/dev/shm/$(id -gn)\""), 0);
}

TEST_WITH(an_external_roudi_with_monitoring_is_refused, NULL, stack_sweep)
{
	pid_t pid = roudi(TOML(SEGMENT("1024", "2000")), "on");

	refuses(CONF EXTERNAL, "monitoring on", "-m off");
	assert_int_equal(kill(pid, 0), 0);
	end_roudi(pid);
}

TEST_WITH(an_external_roudi_with_small_pools_is_refused, NULL, stack_sweep)
{
	pid_t pid = roudi(TOML(SEGMENT("1024", "100")), "off");

	refuses(CONF EXTERNAL, "100 slots", "1500");
	assert_int_equal(kill(pid, 0), 0);
	end_roudi(pid);
}

/* A simd that has its own RouDi neither disturbs it nor sends requests to it. */
TEST_WITH(a_roudi_of_other_programs_is_left_alone, NULL, stack_sweep)
{
	pid_t pid = roudi(TOML(SEGMENT("1024", "100")), "on"), simd = stack_start(CONF);

	assert_int_not_equal(stack_roudi(), pid);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	assert_int_equal(kill(pid, 0), 0);
	end_roudi(pid);
	assert_string_equal(stack_leftovers(), "");
	refuses(CONF EXTERNAL, "no iox-roudi runs", "external");
}

/* A /dev without it, which only root can make here. */
TEST_WITH(a_missing_dev_shm_is_reported_in_one_sentence, NULL, stack_sweep)
{
	static const char *const options[] = { "", " --check-config" };
	const char *b = getenv("B");
	char command[700], text[2000];
	size_t n;
	FILE *f;

	if (geteuid() != 0)
		skip();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(command, sizeof(command),
			 "unshare -m sh -c 'mount -t tmpfs tmpfs /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9 && "
			 "exec %s/bin/simd --runtime-dir " STACK_DIR "%s' 2>&1",
			 b ? b : "build", options[i]);
		f = popen(command, "r");
		assert_non_null(f);
		n = fread(text, 1, sizeof(text) - 1, f);
		text[n] = '\0';
		assert_int_equal(WEXITSTATUS(pclose(f)), 1);
		if (!strstr(text, "there is no /dev/shm, where the data plane lies: mount") ||
		    strchr(text, '\n') != text + n - 1)
			fail_msg("%s", text);
	}
	assert_string_equal(stack_leftovers(), "");
}

/* simd reads its configuration at the start alone, so a mistake in it may show only after a kill. --clean-up works without it. */
TEST_WITH(clean_up_works_with_an_invalid_configuration, NULL, stack_sweep)
{
	static const char *const argv[] = { "simd", "--config", "/tmp/out-broken.json", "--runtime-dir", STACK_DIR,
					    NULL,   NULL };
	const char *clean_up[sizeof(argv) / sizeof(*argv)];
	const struct ctl_result *r;

	memcpy(clean_up, argv, sizeof(argv));
	clean_up[5] = "--clean-up";
	stack_kill(stack_start(CONF));
	assert_string_not_equal(stack_leftovers(), "");
	script("/tmp/out-broken.json", "{\"clocks\": 1}");
	r = stack_run(argv);
	assert_int_equal(r->code, 78);
	assert_non_null(strstr(r->err, "clocks: unknown key"));
	r = stack_run(clean_up);
	assert_int_equal(r->code, 0);
	assert_non_null(strstr(r->err, "clocks: unknown key"));
	assert_string_equal(stack_leftovers(), "");
}

TEST_WITH(a_suitable_external_roudi_is_used, NULL, stack_sweep)
{
	static const char *const clean_up[] = { "simd", "--runtime-dir", STACK_DIR, "--clean-up", NULL };
	pid_t pid = roudi(TOML(SEGMENT("1024", "2000")), "off"), simd;
	struct peer *p = peer_new();
	pid_t child;
	int status;

	simd = stack_start(CONF EXTERNAL);
	assert_int_equal(stack_roudi(), pid);
	assert_int_equal(stack_int("GetInfo", "roudi_owned"), 0);
	assert_int_equal(stack_int("GetInfo", "roudi_robust"), 0);
	assert_true(stack_said("are not robust"));
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, "are not robust"));
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	peer_tell(p, 1000);
	child = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 10);
	peer_join(p, child);
	peer_check(p, false);
	peer_free(p);
	kill(simd, SIGTERM);
	status = stack_wait(simd);
	assert_int_equal(status, 0);
	assert_int_equal(kill(pid, 0), 0); /* never stopped */
	simd = stack_start(CONF EXTERNAL);
	assert_int_equal(stack_roudi(), pid);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	simd = stack_start(CONF EXTERNAL);
	stack_kill(simd);
	assert_int_equal(stack_run(clean_up)->code, 0);
	assert_int_equal(kill(pid, 0), 0);
	end_roudi(pid);
	assert_string_equal(stack_leftovers(), "");
}

TEST_WITH(a_missing_roudi_is_reported, NULL, stack_sweep)
{
	refuses_with(78, CONF ",\"roudi\":{\"path\":\"/no/such/roudi\"}", "/no/such/roudi", "iceoryx");
	assert_string_equal(stack_leftovers(), "");
	refuses(CONF ",\"roudi\":{\"path\":\"true\"}", "iox-roudi exits right after its start", "");
	assert_string_equal(stack_leftovers(), "");
}

TEST_WITH(a_lack_of_memory_is_reported, NULL, stack_sweep)
{
	struct statvfs v;
	char text[128];

	assert_int_equal(statvfs("/dev/shm", &v), 0);
	if ((uint64_t)v.f_blocks * v.f_frsize > UINT64_C(4) << 30)
		skip(); /* no one pool fills it */
	snprintf(text, sizeof(text), "\"pools\":[{\"size\":\"1MiB\",\"count\":%llu}]",
		 (unsigned long long)v.f_blocks * v.f_frsize / (1u << 20));
	refuses(text, "/dev/shm", "");
	assert_string_equal(stack_leftovers(), "");
}

/* The memory that start, --check-config and doctor announce is what simd takes. */
TEST_WITH(the_announced_memory_is_what_a_start_takes, NULL, stack_sweep)
{
	static const char *const check[] = { "simd", "--config", STACK_CONF, "--check-config", NULL };
	static const char *const here[] = { "simd",          "--config", STACK_CONF, "--check-config",
					    "--runtime-dir", STACK_DIR,  NULL };
	char need[64];
	int64_t bytes = 0, said;
	struct statvfs v;
	pid_t simd, roudi;

	simd = stack_start(CONF);
	said = stack_int("GetInfo", "shm_need");
	assert_int_equal(statvfs("/dev/shm", &v), 0);
	bytes = (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
	assert_in_range(said, bytes, bytes + (3 << 20));
	snprintf(need, sizeof(need), "takes %lld MiB of /dev/shm", (long long)said >> 20);
	assert_non_null(strstr(stack_ctl("doctor", NULL)->out, need));
	snprintf(need, sizeof(need), "starts with %lld MiB of /dev/shm", (long long)said >> 20);
	assert_non_null(strstr(stack_run(check)->out, need));
	/* just enough for one: simd is killed and comes back, to the same iox-roudi */
	roudi = stack_roudi();
	stack_kill(simd);
	snprintf(need, sizeof(need), "size=%lldm", (long long)said >> 20);
	if (getpid() == 1 && mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, need) == 0) {
		assert_int_equal(stack_run(here)->code, 0);
		simd = stack_start(CONF);
		assert_int_equal(stack_roudi(), roudi);
		stack_stop(simd);
		snprintf(need, sizeof(need), "size=%lldm", (long long)(said >> 20) - 1);
		assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, need), 0);
		assert_int_equal(stack_run(check)->code, 1);
		assert_non_null(strstr(stack_run(check)->out, "simd would not start"));
		snprintf(need, sizeof(need), "starts with %lld MiB of /dev/shm", (long long)said >> 20);
		refuses(CONF, need, "");
		assert_int_equal(mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=2g"), 0);
	}
}

/* Files of a simd and a RouDi that were killed, with others in their places: they are replaced, and gone in the end. */
TEST_WITH(stale_files_are_removed, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t pid, simd = stack_start(CONF), roudi = stack_roudi();
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && rm -f roudi && mkdir other && touch roudi simd-0123abcd.1 simd-0123abcd.1.lock cam-0123abcd-7.2 "
		 "cam-0123abcd-7.2.lock && echo '{' >" STACK_DIR "/state.json",
		 stack_plane());
	stack_kill(simd);
	assert_int_equal(kill(roudi, SIGKILL), 0);
	AWAIT(!strstr(stack_leftovers(), "process")); /* of the bridges that it had, the next one does not know */
	assert_int_equal(system(command), 0);
	simd = stack_start(CONF);
	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	peer_tell(p, 1000);
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 5);
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

/* ---- signals ---- */

/* At any moment, twice when impatient: nothing is left, no process, socket, lock or shared memory. */
TEST_FULL_WITH(simd_stopped_at_any_moment_leaves_nothing, NULL, stack_sweep)
{
	uint64_t seed = test_seed(7);
	unsigned rounds = getenv("ROUNDS") ? (unsigned)atoi(getenv("ROUNDS")) : 25;

	print_message("SEED=%llu\n", (unsigned long long)seed);
	srand((unsigned)seed);
	for (unsigned i = 0; i < rounds; i++) {
		int sig = rand() % 2 ? SIGINT : SIGTERM, fd, status;
		unsigned delay_us = (unsigned)rand() % 250000;
		/* a RouDi that is told to end before it listens to that has to be killed */
		pid_t pid = stack_spawn(CONF ",\"process\":{\"stop_ms\":3000}", &fd);

		moment_us(delay_us);
		kill(pid, sig);
		if (rand() % 4 == 0) {
			moment_us((unsigned)rand() % 20000);
			kill(pid, sig);
		}
		status = stack_wait(pid);
		close(fd);
		/* before simd has taken hold of its signals the signal simply ends it */
		if (status != 0 && status != sig)
			fail_msg("signal %d after %u us: status %#x", sig, delay_us, (unsigned)status);
		if (*stack_leftovers())
			fail_msg("signal %d after %u us left behind: %s", sig, delay_us, stack_leftovers());
		assert_int_equal(system("pgrep -fx 'sleep 86397' >/dev/null"), 256);
		unlink(STACK_LOG);
		unlink("/tmp/out.txt.gz");
	}
}

/* With clients that hold and publish; they survive it, and their callbacks come. */
TEST_FULL_WITH(clients_survive_a_simd_stopped_under_load, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *ex = peer_new();
	pid_t pid, ex_pid, simd = stack_start(CONF);
	uint64_t received;

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	peer_tell(p, 2000);
	pid = peer_fork(p, peer_publisher);
	ex_pid = peer_fork(ex, peer_exchange);
	AWAIT(p->ok > 50 && ex->ready);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	AWAIT(peer_settled(p));
	simd = stack_start(CONF);
	received = ex->received;
	AWAIT(ex->received > received + 5);
	received = p->ok;
	AWAIT(p->ok > received + 5);
	peer_tell(p, -1);
	peer_join(p, pid);
	peer_join(ex, ex_pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
	peer_free(ex);
}
