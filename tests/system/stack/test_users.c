/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd as a user of its own, as simd.service runs it, and the users that may use it: members of its group, whatever
 * their primary group is. The users are in a user database that only this test's namespace sees. Needs real root.
 */
#include "peer.h"
#include "stack.h"

#include "fd.h"
#include "mem.h"
#include "patient.h"
#include "plane.h"
#include "rnd.h"

#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define TREE      "/tmp/out-tree"
#define SIMD_UID  64001
#define ALICE_UID 64002
#define BOB_UID   64003
#define ANON_UID  64004 /* of no name */
#define HERS      "/dev/shm/simd-*/publisher-*"

struct user {
	uid_t uid;
	gid_t gid, other; /* other: a supplementary group, 0 none */
};

static const struct user simd_user = { SIMD_UID, SIMD_UID, 0 };

static void become(const struct user *u)
{
	PEER(NULL, setgroups(u->other ? 1 : 0, &u->other) == 0);
	PEER(NULL, setgid(u->gid) == 0 && setuid(u->uid) == 0);
	prctl(PR_SET_DUMPABLE, 1);
	unsetenv("SIMD_SOCKET");
	unsetenv("XDG_RUNTIME_DIR");
	setenv("SIM_IPC_MODULE", TREE "/lib/simd/ipc_iox.so", 1);
}

/* ---- the machine ---- */

static bool has_users;

static void add_line(const char *file, const char *copy, const char *lines)
{
	char *text = NULL;
	FILE *f = fopen(copy, "w");

	assert_non_null(f);
	assert_int_equal(fd_read_file(file, 1 << 20, &text, NULL), 0);
	fprintf(f, "%s%s", text, lines);
	mem_free(text);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(copy, 0644), 0);
	assert_int_equal(mount(copy, file, NULL, MS_BIND, NULL), 0);
}

/* The checkout may be where other users cannot look. */
static void copy_programs(void)
{
	const char *b = getenv("B");
	char command[1024];

	snprintf(command, sizeof(command),
		 "mkdir -p " TREE "/bin " TREE "/lib/simd && cd '%s' && cp bin/simd bin/simbridge bin/simctl " TREE
		 "/bin && cp lib/*.so* " TREE "/lib && cp lib/simd/*.so " TREE "/lib/simd && chmod -R a+rX " TREE,
		 b ? b : "build");
	assert_int_equal(system(command), 0);
}

static int machine(void **state)
{
	(void)state;
	if (getpid() != 1 || geteuid() != 0 || setgroups(0, NULL) < 0)
		return 0; /* the tests skip themselves */
	add_line("/etc/passwd", "/tmp/out-passwd",
		 "simt:x:64001:64001::/:/bin/sh\nalice:x:64002:64002::/:/bin/sh\nbob:x:64003:64003::/:/bin/sh\n");
	add_line("/etc/group", "/tmp/out-group", "simt:x:64001:alice\nalice:x:64002:\nbob:x:64003:\n");
	assert_int_equal(mount("tmpfs", "/run", "tmpfs", 0, "mode=755"), 0);
	has_users = true;
	return 0;
}

/* As simd derives it. */
static const char *plane_of(const char *runtime)
{
	static char plane[PLANE_MAX];

	snprintf(plane, sizeof(plane), PLANE_BASE "/simd-%08x",
		 (unsigned)hash64(HASH64_INIT, runtime, strlen(runtime)));
	return plane;
}

/* ---- simd ---- */

static void run_simd(const char *ready_fd)
{
	become(&simd_user);
	umask(0007);
	execl(TREE "/bin/simd", "simd", "--config", "/tmp/out.json", "--ready-fd", ready_fd, (char *)NULL);
}

static pid_t start_with(const char *more)
{
	char *own = NULL, *text;
	pid_t pid;
	int fd;

	if (access(TREE, F_OK) < 0) /* each test's end clears /tmp; but no program that runs may be written to */
		copy_programs();
	mkdir("/run/simd", 0750);
	assert_int_equal(chown("/run/simd", SIMD_UID, SIMD_UID), 0);
	assert_true(asprintf(&own,
			     "{\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\",\"bridges\":["
			     "{\"name\":\"b\",\"plugin\":\"null\",\"channels\":[\"**\"]}]}]%s}\n",
			     more) > 0);
	text = patient_conf(own);
	assert_int_equal(fd_write_file("/tmp/out.json", text, strlen(text), 0644), 0);
	free(text);
	free(own);
	pid = stack_fork(run_simd, &fd);
	stack_await_ready(fd);
	return pid;
}

static pid_t start(void)
{
	return start_with("");
}

/* ---- its users ---- */

/* The error of sim_connect() for that user; "" when it succeeds. */
static int connect_as_user(struct peer *p)
{
	struct sim_client_options o = {
		.size = sizeof(o), .name = "someone", .flags = (unsigned)p->command, .timeout_ms = PATIENT_MS
	};
	struct sim_client *c = NULL;

	become(&(struct user){ (uid_t)p->message[0].state + 64000, (gid_t)p->message[1].state + 64000,
			       p->message[2].state ? (gid_t)p->message[2].state + 64000 : 0 });
	p->result = sim_connect(&o, &c);
	snprintf(p->why, sizeof(p->why), "%s", p->result < 0 ? sim_why() : "");
	sim_disconnect(c);
	return 0;
}

static void connects(const struct user *u, unsigned flags, int result, const char *words, const char *more)
{
	struct peer *p = peer_new();

	peer_tell(p, (int)flags);
	p->message[0].state = (uint8_t)(u->uid - 64000);
	p->message[1].state = (uint8_t)(u->gid - 64000);
	p->message[2].state = (uint8_t)(u->other ? u->other - 64000 : 0);
	peer_join(p, peer_fork(p, connect_as_user));
	if (p->result != result || !strstr(p->why, words) || !strstr(p->why, more))
		fail_msg("user %u: %d, \"%s\", not %d and \"%s\", \"%s\"", u->uid, p->result, p->why, result, words,
			 more);
	peer_free(p);
}

static int alice_publishes(struct peer *p)
{
	become(&(struct user){ ALICE_UID, ALICE_UID, SIMD_UID });
	return peer_publisher(p);
}

static int alice_exchanges(struct peer *p)
{
	become(&(struct user){ ALICE_UID, ALICE_UID, SIMD_UID });
	return peer_exchange(p);
}

TEST_WITH(a_member_of_the_group_may_publish_and_receive, NULL, stack_sweep)
{
	struct peer *p = peer_new(), *ex = peer_new();
	pid_t simd, pid, ex_pid;
	uint64_t received;

	if (!has_users)
		skip();
	simd = start();
	peer_tell(p, 1000);
	pid = peer_fork(p, alice_publishes);
	ex_pid = peer_fork(ex, alice_exchanges);
	AWAIT(p->ok > 20 && ex->received > 20);
	/* a simd that is killed and one that takes over change nothing about it */
	kill(simd, SIGKILL);
	assert_int_equal(stack_wait(simd), SIGKILL);
	simd = start();
	received = ex->received;
	AWAIT(ex->received > received + 20);
	peer_join(p, pid);
	peer_join(ex, ex_pid);
	peer_check(p, false);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	assert_string_equal(stack_leftovers(), "");
	peer_free(p);
	peer_free(ex);
}

/* Killed in the middle of it: simd sees that, and takes away what she has left in its directory. */
TEST_WITH(files_of_a_killed_group_member_are_removed, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	struct stat st;
	pid_t simd, pid;
	glob_t g;

	if (!has_users)
		skip();
	simd = start();
	peer_tell(p, 1000);
	pid = peer_fork(p, alice_publishes);
	AWAIT(p->ok > 20);
	assert_int_equal(glob(HERS, 0, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, 2); /* socket and lock */
	for (size_t i = 0; i < g.gl_pathc; i++) {
		assert_int_equal(stat(g.gl_pathv[i], &st), 0);
		assert_int_equal(st.st_gid, SIMD_UID);
		assert_int_equal(st.st_mode & 0777, 0660);
	}
	kill(pid, SIGKILL);
	assert_int_equal(stack_wait(pid), SIGKILL);
	AWAIT(glob(HERS, 0, NULL, &g) == GLOB_NOMATCH);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	assert_string_equal(stack_leftovers(), "");
	peer_free(p);
}

TEST_WITH(users_outside_the_group_are_refused_with_the_reason, NULL, stack_sweep)
{
	static const struct user bob = { BOB_UID, BOB_UID, 0 }, early_alice = { ALICE_UID, ALICE_UID, 0 },
				 anon = { ANON_UID, ANON_UID, 0 };
	pid_t simd;

	if (!has_users)
		skip();
	simd = start();
	connects(&bob, 0, -EACCES, "/run/simd", "user bob is not in group simt: adduser bob simt");
	connects(&bob, SIM_CLIENT_NO_DATA, -EACCES, "/run/simd", "adduser bob simt");
	connects(&early_alice, 0, -EACCES, "/run/simd", "log in again");
	connects(&anon, 0, -EACCES, "64004", "--group-add");
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
}

static int root_exchanges(struct peer *p)
{
	unsetenv("SIMD_SOCKET");
	return peer_exchange(p);
}

static int somebody_exchanges(struct peer *p)
{
	struct user u = { (uid_t)p->command, (gid_t)p->message[0].state + 64000, 0 };

	u.other = p->message[1].state ? (gid_t)p->message[1].state + 64000 : 0;
	become(&u);
	return peer_exchange(p);
}

/*
 * Only the kernel's credentials decide: root, a user with the group added (sudo -g, setpriv), and a user without a name
 * (docker run --user).
 */
TEST_WITH(access_follows_the_groups_known_to_the_kernel, NULL, stack_sweep)
{
	static const struct user may[] = { { 0, 0, 0 },
					   { BOB_UID, BOB_UID, SIMD_UID },
					   { BOB_UID, SIMD_UID, 0 },
					   { ANON_UID, SIMD_UID, 0 },
					   { ANON_UID, ANON_UID, SIMD_UID } };
	pid_t simd;

	if (!has_users)
		skip();
	simd = start();
	for (unsigned i = 0; i < sizeof(may) / sizeof(*may); i++) {
		struct peer *p = peer_new();
		pid_t pid;

		peer_tell(p, (int)may[i].uid);
		p->message[0].state = (uint8_t)(may[i].gid - 64000);
		p->message[1].state = (uint8_t)(may[i].other ? may[i].other - 64000 : 0);
		pid = peer_fork(p, may[i].uid ? somebody_exchanges : root_exchanges);
		AWAIT(p->received > 5 || p->failed);
		peer_join(p, pid);
		if (p->failed)
			fail_msg("user %u, groups %u, %u: %s", may[i].uid, may[i].gid, may[i].other, p->why);
		peer_free(p);
	}
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	assert_string_equal(stack_leftovers(), "");
}

/* A program of the tree, with at most three arguments. */
static const struct ctl_result *run_as(const struct user *u, const char *program, const char *a, const char *b,
				       const char *c)
{
	static struct ctl_result r;
	char path[64], *text = NULL;
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), TREE "/bin/%s", program);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int out = open("/tmp/out-ctl", O_WRONLY | O_CREAT | O_TRUNC, 0644);

		dup2(out, 1);
		dup2(out, 2);
		become(u);
		execl(path, program, a, b, c, (char *)NULL);
		_exit(127);
	}
	status = stack_wait(pid);
	assert_int_equal(fd_read_file("/tmp/out-ctl", sizeof(r.out) - 1, &text, NULL), 0);
	r.code = WEXITSTATUS(status);
	snprintf(r.out, sizeof(r.out), "%s", text);
	mem_free(text);
	return &r;
}

static const struct ctl_result *ctl_as(const struct user *u, const char *command, const char *more)
{
	return run_as(u, "simctl", command, more, NULL);
}

static const struct ctl_result *ctl_as_bob(const char *command)
{
	return ctl_as(&(struct user){ BOB_UID, BOB_UID, 0 }, command, NULL);
}

static const struct ctl_result *simd_as_bob(const char *a, const char *b, const char *c)
{
	return run_as(&(struct user){ BOB_UID, BOB_UID, 0 }, "simd", a, b, c);
}

static void says(const struct ctl_result *r, int code, const char *words, bool yes)
{
	if (r->code != code || !strstr(r->out, words) == yes)
		fail_msg("%d, \"%s\": %s \"%s\"", r->code, r->out, yes ? "no" : "with", words);
}

/* Another user's simd is not reported as missing, and its memory is not taken for leftovers. */
TEST_WITH(a_user_outside_the_group_gets_the_reason, NULL, stack_sweep)
{
	pid_t simd;

	if (!has_users)
		skip();
	simd = start();
	says(ctl_as_bob("list"), 1, "adduser bob simt", true);
	says(ctl_as_bob("version"), 0, "adduser bob simt", true);
	says(ctl_as_bob("version"), 0, "not running", false);
	says(ctl_as_bob("doctor"), 1, "adduser bob simt", true);
	says(ctl_as_bob("doctor"), 1, "was left by", false);
	says(ctl_as_bob("ps"), 0, "/run/simd", false); /* not his */
	says(ctl_as(&(struct user){ BOB_UID, BOB_UID, SIMD_UID }, "ps", NULL), 0, "/run/simd", true);
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	/* without one: "start it" */
	rmdir("/run/simd");
	says(ctl_as_bob("list"), 1, "start it", true);
	says(ctl_as_bob("doctor"), 0, "the data plane starts with", true); /* simd, started for that, says so */
}

static int alice_may_not_publish(struct peer *p)
{
	struct sim_client_options o = { .size = sizeof(o), .name = "alice", .timeout_ms = PATIENT_MS };
	struct sim_publisher *pub;
	struct sim_client *c;

	become(&(struct user){ ALICE_UID, ALICE_UID, SIMD_UID });
	PEER(p, sim_connect(&o, &c) == 0);
	PEER(p, sim_advertise(c, "/x", &sim_Ultrasonic_type, NULL, &pub) == -EACCES);
	snprintf(p->why, sizeof(p->why), "%s", sim_why());
	sim_disconnect(c);
	return 0;
}

/*
 * By the credentials that the kernel reports of the peer, supplementary groups included; the refusal says which users
 * may.
 */
TEST_WITH(rights_go_by_user_and_group, NULL, stack_sweep)
{
	static const struct user alice = { ALICE_UID, ALICE_UID, SIMD_UID }, bob = { BOB_UID, BOB_UID, SIMD_UID };
	struct peer *p = peer_new();
	pid_t simd;

	if (!has_users)
		skip();
	simd = start_with(",\"access\":{\"pause\":[\"@simt\"],\"publish\":[\"@bob\"],\"shutdown\":[\"alice\"]}");
	says(ctl_as(&bob, "clock", "pause"), 0, "", true);
	says(ctl_as(&bob, "shutdown", NULL), 1,
	     "Shutdown: user 64003 is not allowed to do that: access.shutdown allows alice, root and simd's own "
	     "user",
	     true);
	peer_join(p, peer_fork(p, alice_may_not_publish));
	assert_string_equal(p->why, "Advertise: user 64002 is not allowed to do that: access.publish allows @bob, root "
				    "and simd's own user");
	says(ctl_as(&alice, "shutdown", NULL), 0, "", true);
	assert_int_equal(stack_wait(simd), 0);
	peer_free(p);
}

/* ---- what others have made in simd's places ---- */

#define BOBS "/tmp/simd-64003" /* where bob's simd is, without a directory of the system's or of a login */

static void make_bobs(uid_t owner, mode_t mode)
{
	(void)rmdir(BOBS);
	assert_int_equal(mkdir(BOBS, 0700), 0);
	assert_int_equal(chmod(BOBS, mode), 0);
	assert_int_equal(chown(BOBS, owner, owner), 0);
}

TEST_WITH(a_directory_of_another_user_is_not_used, NULL, stack_sweep)
{
	struct stat st;
	FILE *f;

	if (!has_users)
		skip();
	if (access(TREE, F_OK) < 0)
		copy_programs();
	(void)rmdir("/run/simd"); /* of the test before */
	make_bobs(ALICE_UID, 0777);
	says(simd_as_bob("--clean-up", NULL, NULL), 1, BOBS " belongs to user alice", true);
	says(ctl_as_bob("list"), 1, BOBS " belongs to user 64002", true);
	make_bobs(BOB_UID, 0777);
	says(ctl_as_bob("list"), 1, "others may write to it (mode 777)", true);
	says(simd_as_bob("--clean-up", "--runtime-dir", BOBS), 1, "chmod go-w " BOBS, true);
	/* at the place that is simd's own choice it takes what others may do away; and heeds nothing that others have left there */
	f = fopen(BOBS "/state.json", "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chown(BOBS "/state.json", ALICE_UID, ALICE_UID), 0);
	says(simd_as_bob("--clean-up", NULL, NULL), 0, "state.json belongs to user 64002", true);
	assert_true(stat(BOBS, &st) < 0 || (st.st_mode & 0777) == 0700);
}

/* Where simd's directory is to be, by its runtime directory; of alice, and she is in it. */
static void squat(const char *plane)
{
	assert_int_equal(mkdir(plane, 0755), 0);
	assert_int_equal(chown(plane, ALICE_UID, ALICE_UID), 0);
}

static void run_bobs(const char *ready_fd)
{
	become(&(struct user){ BOB_UID, BOB_UID, 0 });
	execl(TREE "/bin/simd", "simd", "--config", "/tmp/out.json", "--runtime-dir", BOBS, "--ready-fd", ready_fd,
	      (char *)NULL);
}

static pid_t bobs_simd(void)
{
	pid_t pid;
	int fd;

	pid = stack_fork(run_bobs, &fd);
	stack_await_ready(fd);
	return pid;
}

TEST_WITH(files_placed_by_another_user_do_not_block_a_start, NULL, stack_sweep)
{
	char plane[64], command[128];
	pid_t simd;
	FILE *f;

	if (!has_users)
		skip();
	if (access(TREE, F_OK) < 0)
		copy_programs();
	simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS);
	snprintf(plane, sizeof(plane), "%s", stack_plane());
	stack_stop(simd);
	squat(plane);
	simd = stack_start("\"TimeSource\":\"system\"," STACK_POOLS);
	assert_true(stack_said("made by user alice"));
	snprintf(command, sizeof(command), "rm -r %s.??????", plane);
	assert_int_equal(system(command), 0);
	stack_stop(simd);
	/* bob takes the next name, and his next simd finds it again, whichever name is taken then */
	make_bobs(BOB_UID, 0700);
	f = fopen("/tmp/out.json", "w");
	assert_non_null(f);
	fputs("{\"TimeSource\":\"system\"," STACK_POOLS "}\n", f);
	assert_int_equal(fclose(f), 0);
	snprintf(plane, sizeof(plane), "%s", plane_of(BOBS));
	squat(plane);
	simd = bobs_simd();
	says(ctl_as_bob("list"), 0, "/clock", true);
	says(ctl_as_bob("ps"), 0, BOBS, true);
	says(simd_as_bob("--config", "/tmp/out.json", NULL), 1, "another simd runs in " BOBS, true);
	stack_kill(simd);
	assert_int_equal(rmdir(plane), 0);
	simd = bobs_simd();
	assert_true(stack_said("left by an earlier simd"));
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
	assert_string_equal(stack_leftovers(), "");
	/* and --clean-up finds what one has left there */
	squat(plane);
	stack_kill(bobs_simd());
	says(simd_as_bob("--clean-up", "--runtime-dir", BOBS), 0, "", true);
	assert_int_equal(rmdir(plane), 0);
	assert_string_equal(stack_leftovers(), "");
}

#define ALICES "/tmp/simd-64002"

static void run_alices(const char *ready_fd)
{
	become(&(struct user){ ALICE_UID, ALICE_UID, 0 });
	execl(TREE "/bin/simd", "simd", "--config", "/tmp/out.json", "--runtime-dir", ALICES, "--ready-fd", ready_fd,
	      (char *)NULL);
}

/* Two users, each with a simd and a program of its own: they publish side by side, and the death of one is not noticed. */
TEST_WITH(each_user_may_run_a_simd, NULL, stack_sweep)
{
	static const char *const sockets[] = { ALICES "/control", BOBS "/control" };
	static const uid_t uids[] = { ALICE_UID, BOB_UID };
	pid_t simd[2], pid[2];
	struct peer *p[2];
	uint32_t life;
	uint64_t had;
	FILE *f;
	int fd;

	if (!has_users)
		skip();
	if (access(TREE, F_OK) < 0)
		copy_programs();
	f = fopen("/tmp/out.json", "w");
	assert_non_null(f);
	fputs("{\"TimeSource\":\"system\"," STACK_POOLS "}\n", f);
	assert_int_equal(fclose(f), 0);
	simd[0] = stack_fork(run_alices, &fd);
	stack_await_ready(fd);
	simd[1] = bobs_simd();
	for (int i = 0; i < 2; i++) {
		p[i] = peer_new();
		peer_tell(p[i], (int)uids[i]);
		p[i]->message[0].state = (uint8_t)(uids[i] - 64000);
		setenv("SIMD_SOCKET", sockets[i], 1);
		pid[i] = peer_fork(p[i], somebody_exchanges);
		AWAIT(p[i]->received > 5 || p[i]->failed);
		assert_int_equal(p[i]->failed, 0);
	}
	life = p[1]->generation;
	says(ctl_as_bob("ps"), 0, ALICES, false); /* not his */
	kill(pid[0], SIGKILL);
	assert_int_equal(stack_wait(pid[0]), SIGKILL);
	peer_free(p[0]);
	stack_kill(simd[0]);
	says(run_as(&(struct user){ ALICE_UID, ALICE_UID, 0 }, "simd", "--clean-up", "--runtime-dir", ALICES), 0, "",
	     true);
	had = p[1]->received;
	AWAIT(p[1]->received > had + 5 || p[1]->failed);
	assert_int_equal(p[1]->generation, life);
	peer_join(p[1], pid[1]);
	peer_free(p[1]);
	kill(simd[1], SIGTERM);
	assert_int_equal(stack_wait(simd[1]), 0);
	assert_string_equal(stack_leftovers(), "");
}

static int run_roudi(struct peer *p)
{
	become(&(struct user){ ALICE_UID, ALICE_UID, 0 });
	execlp("iox-roudi", "iox-roudi", "-m", "off", "-c", "/tmp/out-roudi.toml", (char *)NULL);
	PEER(p, false);
	return 0;
}

TEST_WITH(root_does_not_use_a_roudi_of_another_user, NULL, stack_sweep)
{
	static const char *const argv[] = { "simd", "--config", "/tmp/out.json", "--runtime-dir", STACK_DIR, NULL };
	struct peer *p = peer_new();
	const struct ctl_result *r;
	pid_t pid;
	FILE *f = fopen("/tmp/out-roudi.toml", "w");

	if (!has_users)
		skip();
	assert_non_null(f);
	fputs("[general]\nversion = 1\n[[segment]]\n[[segment.mempool]]\nsize = 1024\ncount = 100\n", f);
	assert_int_equal(fclose(f), 0);
	f = fopen("/tmp/out.json", "w");
	assert_non_null(f);
	fputs("{\"TimeSource\":\"system\"," STACK_POOLS ",\"roudi\":{\"start\":\"external\"}}\n", f);
	assert_int_equal(fclose(f), 0);
	pid = peer_fork(p, run_roudi);
	AWAIT(access("/tmp/roudi", F_OK) == 0 && access("/dev/shm/alice", F_OK) == 0);
	r = stack_run(argv);
	says(r, 1, "", true);
	if (!strstr(r->err, "is run by user alice (64002)"))
		fail_msg("%s", r->err);
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	peer_free(p);
}

/* ---- daemon/README.md, Trust: rights that iceoryx leaves to every member, and those that it does not ---- */

/* Bit i: the i-th can be had. */
static int tries(struct peer *p)
{
	static const char *const files[] = { "iceoryx_mgmt", "payload", "/run/simd/state.json", "/run/simd/mine",
					     "/run/simd/roudi.toml" };
	const char *plane = plane_of("/run/simd");
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char path[PLANE_PATH_MAX];
	int fd, got = 0;

	become(p->command ? &(struct user){ ALICE_UID, ALICE_UID, SIMD_UID } : &(struct user){ BOB_UID, BOB_UID, 0 });
	for (int i = 0; i < 5; i++) {
		if (i > 1 || !plane_file(plane, files[i], path, sizeof(path)))
			snprintf(path, sizeof(path), "%s", files[i]);
		fd = open(path, O_RDWR | (i == 3 ? O_CREAT : 0), 0600);
		got |= (fd >= 0 && mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED) << i;
	}
	(void)plane_file(plane, PLANE_ROUDI, a.sun_path, sizeof(a.sun_path));
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	got |= (connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0) << 5;
	got |= (kill((pid_t)atomic_load(&p->sim_ns), SIGTERM) == 0) << 6;
	got |= (unlink(a.sun_path) == 0) << 7;
	got |= (unlink("/run/simd/control") == 0) << 8;
	atomic_store(&p->result, got);
	return 0;
}

static int what_is_had(pid_t simd, bool member)
{
	struct peer *p = peer_new();
	int got;

	atomic_store(&p->sim_ns, simd);
	peer_tell(p, member);
	peer_join(p, peer_fork(p, tries));
	got = p->result;
	peer_free(p);
	return got;
}

TEST_WITH(a_group_member_reaches_only_the_segments_and_roudis_socket, NULL, stack_sweep)
{
	pid_t simd;

	if (!has_users)
		skip();
	simd = start();
	assert_int_equal(what_is_had(simd, false), 0);
	assert_int_equal(what_is_had(simd, true), 1 << 0 | 1 << 1 | 1 << 5); /* both segments, and RouDi's ear */
	kill(simd, SIGTERM);
	assert_int_equal(stack_wait(simd), 0);
}

TEST_GROUP(machine, NULL)
