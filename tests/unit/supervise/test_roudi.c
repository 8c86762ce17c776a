/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RouDi that fails for a while, or that simd lacks a resource for, in virtual time: when it is tried again, for how
 * long, and the log. Its process does not exist, and helper_post() below replaces the thread that attaches to it.
 */
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#include "config/config.h"
#include "err.h"
#include "exec.h"
#include "fd.h"
#include "list.h"
#include "log.h"
#include "mem.h"
#include "supervise/helper.h"
#include "supervise/roudi.h"
#include "supervise/roudi_files.h"
#include "supervise/roudi_job.h"

#define MS           INT64_C(1000000)
#define S            INT64_C(1000000000)
#define LONGEST      (5 * S) /* pause between two starts, as the documentation of roudi.retry_ms says */
#define FIRST_STARTS 6       /* before there was a generation */
#define ANSWER_DUR   (20 * MS)
#define LINES_MAX    400
#define CODE_3       (3 << 8)        /* a wait status */
#define SAYS         "no lock today" /* its output before it exits */

static struct {
	struct exec *x;
	struct conf *conf;
	struct roudi *roudi;
	struct mem_stats before;
	char dir[TEST_PATH_MAX];
	int64_t works_mono_ns; /* from then on it answers, and does not exit at once */
	int status;            /* of one that exits at once */
	int ended;             /* status of the last that did */
	int refused;           /* errno of each start until then; 0: it starts, and exits */
	bool mute;             /* it neither answers nor exits until then */
	int attached;          /* result of each attach until then; 0: there is none before it answers */
	int probed;            /* result of each probe */
	int silent_probes;     /* so many are not answered, and then that */
	int exit_fd;           /* ours, of the present process; -1: there is none */
	pid_t pid;
	unsigned starts, ups, losts, fails;
	int64_t died_mono_ns, up_mono_ns, failed_mono_ns;
	char why[ERR_WHY_MAX]; /* of failed() */
	char lines[LINES_MAX][200];
	unsigned n_lines;
} sim;

/* ---- a process that is an eventfd and two files ---- */

static bool works(void)
{
	return exec_now(sim.x) >= sim.works_mono_ns;
}

static void make_file(const char *name, const char *text, size_t size)
{
	char path[2 * TEST_PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : sim.dir, *name == '/' ? "" : "/", name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void exits(int status)
{
	assert_true(sim.exit_fd >= 0);
	sim.ended = status;
	assert_int_equal(write(sim.exit_fd, &(uint64_t){ 1 }, 8), 8);
	sim.exit_fd = fd_close(sim.exit_fd);
}

static int start(void *user, const struct spawn *s, struct spawned *ret)
{
	static const char page[4096];

	(void)user;
	sim.starts++;
	if (!works() && sim.refused)
		return err_sys(-sim.refused, "cannot make a pipe");
	make_file(s->output, SAYS "\n", sizeof(SAYS));
	make_file("iceoryx_mgmt", page, sizeof(page));
	make_file("payload", page, sizeof(page));
	assert_int_equal(sim.exit_fd, -1);
	sim.exit_fd = eventfd(0, EFD_CLOEXEC);
	*ret = (struct spawned){ .pid = ++sim.pid, .pidfd = dup(sim.exit_fd), .out_fd = -1 };
	if (!works() && !sim.mute)
		exits(sim.status);
	return 0;
}

static int send_signal(void *user, pid_t pid, int pidfd, int sig, bool group)
{
	(void)user;
	(void)pidfd;
	(void)group;
	if (pid == sim.pid && sim.exit_fd >= 0)
		exits(sig);
	return 0;
}

static int reap(void *user, pid_t pid, int pidfd, int *ret_status)
{
	(void)user;
	(void)pid;
	(void)pidfd;
	*ret_status = sim.ended;
	return 0;
}

static const struct spawn_ops ops = { start, send_signal, reap };

/* ---- the thread that attaches ---- */

struct call {
	struct exec_timer timer;
	struct helper_job *job;
	int64_t until_mono_ns;
};

static void on_call(void *arg)
{
	struct call *c = (struct call *)arg;
	struct roudi_job *j = container_of(c->job, struct roudi_job, job);

	if (!atomic_load(&j->cancel) && j->attach && !works() && !sim.attached && exec_now(sim.x) < c->until_mono_ns) {
		exec_timer_at(&c->timer, exec_now(sim.x) + ANSWER_DUR);
		return;
	}
	if (!j->attach && sim.silent_probes > 0) {
		sim.silent_probes--;
		j->result = -ETIMEDOUT;
	} else
		j->result = !j->attach ? sim.probed : works() ? 0 : sim.attached ? sim.attached : -ETIMEDOUT;
	snprintf(j->why, sizeof(j->why), "%s", j->result ? err_text(j->result) : "");
	free(c);
	j->job.done(&j->job);
}

void helper_post(struct helper *h, struct helper_job *job)
{
	const struct roudi_job *j = container_of(job, struct roudi_job, job);
	struct call *c = (struct call *)calloc(1, sizeof(*c));

	assert_non_null(c);
	assert_null(h);
	c->job = job;
	c->until_mono_ns = exec_now(sim.x) + j->timeout_ms * MS;
	exec_timer_init(&c->timer, sim.x, on_call, c);
	exec_timer_at(&c->timer, exec_now(sim.x) + ANSWER_DUR);
}

/* ---- notifications of simd ---- */

static int on_up(void *arg, struct ipc *ipc, uint32_t generation, const struct pools *pools)
{
	(void)arg;
	(void)pools;
	assert_null(ipc);
	assert_true(generation > 0);
	sim.ups++;
	sim.up_mono_ns = exec_now(sim.x);
	return 0;
}

static int64_t on_need(void *arg)
{
	(void)arg;
	return 0;
}

static void on_lost(void *arg, const char *why)
{
	(void)arg;
	assert_true(*why);
	sim.losts++;
}

static void on_failed(void *arg, int r)
{
	(void)arg;
	assert_true(r < 0);
	sim.fails++;
	sim.failed_mono_ns = exec_now(sim.x);
	snprintf(sim.why, sizeof(sim.why), "%s", err_why());
}

static void on_changed(void *arg)
{
	(void)arg;
}

static void keep(void *user, enum log_level level, const char *topic, const char *text)
{
	(void)user;
	(void)level;
	(void)topic;
	assert_true(sim.n_lines < LINES_MAX);
	snprintf(sim.lines[sim.n_lines++], sizeof(sim.lines[0]), "%s", text);
}

static unsigned said(const char *text)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sim.n_lines; i++)
		n += strstr(sim.lines[i], text) != NULL;
	return n;
}

/* ---- a run ---- */

static void run(int64_t dur_ns)
{
	assert_ok(exec_sim_run(sim.x, exec_now(sim.x) + dur_ns));
}

/* The first start fails for so long. */
static void begin_late(int64_t dur_ns, uint64_t seed, int64_t retry_dur_ns)
{
	struct config_sources src = { .text = "{}" };
	struct pools pools = { .n = 1, .c = { { .size = 1024, .count = 10 } } };
	struct roudi_options o = {
		.pools = &pools,
		.app = "simd-0",
		.ops = &ops,
		.events = { .up = on_up, .need = on_need, .lost = on_lost, .failed = on_failed, .changed = on_changed },
	};
	char retry[64];
	const char *overrides[] = { retry };

	memset(&sim, 0, sizeof(sim));
	sim.exit_fd = -1;
	sim.status = CODE_3;
	sim.works_mono_ns = S + dur_ns;
	test_path(sim.dir, "plane");
	assert_true(mkdir(sim.dir, 0700) == 0 || errno == EEXIST);
	mem_stats(&sim.before);
	log_set_spec("info");
	log_set_handler(keep, NULL);
	snprintf(retry, sizeof(retry), "roudi.retry_ms=%lld", (long long)(retry_dur_ns / MS));
	src.overrides = overrides;
	src.n_overrides = 1;
	assert_ok(config_load(&src, &sim.conf));
	assert_ok(exec_sim_create(seed, S, &sim.x));
	o.x = sim.x;
	o.conf = sim.conf;
	o.plane = o.runtime_dir = sim.dir;
	assert_ok(roudi_create(&o, &sim.roudi));
	assert_ok(roudi_start(sim.roudi));
}

static void begin(uint64_t seed, int64_t retry_dur_ns)
{
	begin_late(0, seed, retry_dur_ns);
}

static void finish(void)
{
	struct mem_stats now;

	roudi_destroy(sim.roudi);
	assert_int_equal(sim.exit_fd, -1); /* it was ended */
	run(20 * S);                       /* what waits for an answer gives up */
	exec_destroy(sim.x);
	conf_destroy(sim.conf);
	log_set_handler(NULL, NULL);
	log_set_spec("none");
	mem_stats(&now);
	assert_int_equal(now.blocks, sim.before.blocks);
}

/* There is a generation, and its RouDi dies: from now on it does not work for so long. */
static void die_for(int64_t dur_ns, int status)
{
	run(S);
	assert_int_equal(sim.ups, 1);
	sim.n_lines = sim.starts = 0;
	sim.status = status;
	sim.died_mono_ns = exec_now(sim.x);
	sim.works_mono_ns = sim.died_mono_ns + dur_ns;
	exits(SIGSEGV);
}

static const int64_t outages_s[] = { 1, 3, 10, 100 };

#define N_OUTAGES (sizeof(outages_s) / sizeof(outages_s[0]))

/* ---- it exits at once ---- */

/* The pauses double from 50 ms up to LONGEST: it is not tried more often than this. */
static unsigned starts_in(int64_t dur_ns)
{
	return (unsigned)(dur_ns / LONGEST) + 9;
}

static void comes_back_after(int64_t dur_ns, int status, const char *end)
{
	const int64_t late_ns = dur_ns + 100 * MS < LONGEST ? dur_ns + 100 * MS : LONGEST;

	die_for(dur_ns, status);
	run(dur_ns + LONGEST + S);
	assert_int_equal(sim.ups, 2);
	assert_int_equal(sim.losts, 1);
	assert_int_equal(sim.fails, 0);
	assert_in_range(sim.up_mono_ns, sim.works_mono_ns, sim.works_mono_ns + late_ns + ANSWER_DUR);
	assert_in_range(sim.starts, 4 + dur_ns / LONGEST, starts_in(dur_ns));
	assert_int_equal(said("killed by signal 11"), 1);
	/* the end right after a death is not worth a line: the kernel may not be done with the dead one */
	assert_int_equal(said(end), sim.starts - 2);
	assert_in_range(sim.n_lines, sim.starts, 2 * sim.starts + 3);
}

TEST(a_roudi_that_fails_for_a_while_recovers)
{
	for (unsigned i = 0; i < N_OUTAGES; i++) {
		begin(i + 1, outages_s[i] * S);
		comes_back_after(outages_s[i] * S, CODE_3, "exited: exit code 3");
		finish();
		begin(i + 1, 86400 * S);
		comes_back_after(outages_s[i] * S, SIGABRT, "exited: killed by signal 6");
		finish();
	}
}

/* The next death has the whole time again, and begins with short pauses. */
TEST(each_outage_is_timed_separately)
{
	begin(1, 12 * S);
	comes_back_after(10 * S, CODE_3, "exited: exit code 3");
	sim.ups = sim.losts = 1;
	sim.losts = 0;
	comes_back_after(10 * S, CODE_3, "exited: exit code 3");
	finish();
}

static void is_given_up_after(int64_t retry_dur_ns, int64_t dur_ns)
{
	unsigned starts;

	die_for(dur_ns, CODE_3);
	run(dur_ns - MS);
	assert_int_equal(sim.fails, 1);
	assert_int_equal(sim.ups, 1);
	assert_in_range(sim.failed_mono_ns, sim.died_mono_ns + retry_dur_ns,
			sim.died_mono_ns + 2 * retry_dur_ns + 100 * MS);
	assert_in_range(sim.failed_mono_ns, 0, sim.died_mono_ns + retry_dur_ns + LONGEST);
	assert_non_null(strstr(sim.why, "exits right after its start (exit code 3)"));
	assert_in_range(said("its output: " SAYS), 2, 3); /* of the one that died, and of the last */
	assert_in_range(sim.starts, 1, starts_in(dur_ns));
	starts = sim.starts;
	run(dur_ns + LONGEST);
	assert_int_equal(sim.starts, starts);
	assert_int_equal(sim.fails, 1);
}

TEST(a_roudi_that_fails_for_longer_is_abandoned)
{
	for (unsigned i = 0; i < N_OUTAGES; i++) {
		int64_t dur_ns = outages_s[i] * S;

		begin(i + 1, dur_ns / 2);
		is_given_up_after(dur_ns / 2, dur_ns);
		finish();
		begin(i + 1, 0);
		is_given_up_after(0, dur_ns);
		finish();
	}
}

TEST(a_roudi_that_never_worked_is_tried_six_times)
{
	begin_late(S, 1, 0);
	run(10 * S);
	assert_int_equal(sim.ups, 1);
	assert_int_equal(sim.fails, 0);
	finish();
	begin_late(10 * S, 1, 0);
	run(60 * S);
	assert_int_equal(sim.ups, 0);
	assert_int_equal(sim.fails, 1);
	assert_int_equal(sim.starts, FIRST_STARTS);
	assert_non_null(strstr(sim.why, "exits right after its start (exit code 3)"));
	assert_int_equal(said("its output: " SAYS), 1);
	finish();
}

/* ---- it does not answer ---- */

TEST(a_silent_roudi_is_replaced_until_one_answers)
{
	for (unsigned i = 0; i < N_OUTAGES; i++) {
		begin(i + 1, outages_s[i] * S + 20 * S);
		sim.mute = true;
		die_for(outages_s[i] * S, 0);
		run(outages_s[i] * S + 20 * S);
		assert_int_equal(sim.ups, 2);
		assert_int_equal(sim.fails, 0);
		assert_in_range(sim.starts, 1, 2 + outages_s[i] / 10); /* roudi.ready_ms is 10 s */
		finish();
	}
	begin(1, 50 * S);
	sim.mute = true;
	die_for(100 * S, 0);
	run(99 * S);
	assert_int_equal(sim.fails, 1);
	assert_non_null(strstr(sim.why, strerror(ETIMEDOUT)));
	finish();
}

/* ---- simd lacks something ---- */

static const int lacks[] = { EMFILE, ENFILE, ENOMEM, ENOBUFS, EAGAIN, ENOSPC };

#define N_LACKS        (sizeof(lacks) / sizeof(lacks[0]))
#define N_PROBE_LACKS  4 /* what a socket may lack */
#define N_ATTACH_LACKS 5 /* and a thread; without room RouDi is replaced, by one that waits for it */

TEST(a_failed_start_is_named_and_retried)
{
	for (unsigned i = 0; i < N_LACKS; i++) {
		for (unsigned k = 0; k < N_OUTAGES; k++) {
			begin(k + 1, outages_s[k] * S);
			sim.refused = lacks[i];
			die_for(outages_s[k] * S, 0);
			run(outages_s[k] * S + LONGEST + S);
			assert_int_equal(sim.ups, 2);
			assert_int_equal(sim.fails, 0);
			assert_in_range(sim.starts, 4, starts_in(outages_s[k] * S));
			assert_int_equal(said(strerror(lacks[i])), sim.starts - 1);
			finish();
		}
	}
}

/* RouDi runs: the attach alone is retried, with a pause each time. */
TEST(an_attach_that_lacks_a_resource_is_retried_with_the_same_roudi)
{
	for (unsigned i = 0; i < N_ATTACH_LACKS; i++) {
		for (unsigned k = 0; k < N_OUTAGES; k++) {
			begin(k + 1, outages_s[k] * S);
			sim.mute = true;
			sim.attached = -lacks[i];
			die_for(outages_s[k] * S, 0);
			run(outages_s[k] * S + LONGEST + S);
			assert_int_equal(sim.ups, 2);
			assert_int_equal(sim.fails, 0);
			assert_int_equal(sim.starts, 1);
			assert_in_range(said(strerror(lacks[i])), 4, starts_in(outages_s[k] * S));
			finish();
		}
	}
	begin(1, 50 * S);
	sim.mute = true;
	sim.attached = -EMFILE;
	die_for(100 * S, 0);
	run(99 * S);
	assert_int_equal(sim.fails, 1);
	assert_non_null(strstr(sim.why, strerror(EMFILE)));
	finish();
}

/* A probe that simd could not make says nothing about RouDi. */
TEST(a_probe_that_lacks_a_resource_does_not_count)
{
	for (unsigned i = 0; i < N_PROBE_LACKS; i++) {
		begin(i + 1, 0);
		run(S);
		sim.probed = -lacks[i];
		run(100 * S);
		assert_int_equal(sim.losts, 0);
		assert_int_equal(said(strerror(lacks[i])), 1);
		sim.probed = 0;
		run(10 * S);
		sim.probed = -ETIMEDOUT;
		run(10 * S);
		assert_true(sim.losts > 0);
		finish();
	}
}

/* On a loaded machine RouDi may have its CPU just when the probe ends, and look idle then. */
TEST(one_unanswered_probe_is_repeated)
{
	begin(1, 0);
	run(S);
	for (int i = 0; i < 5; i++) {
		sim.silent_probes = 1;
		run(10 * S);
		assert_int_equal(sim.silent_probes, 0);
	}
	assert_int_equal(sim.losts, 0);
	sim.silent_probes = 2;
	run(10 * S);
	assert_int_equal(sim.losts, 1);
	finish();
}

TEST(each_failed_allocation_is_retried)
{
	unsigned n = 1;

	for (bool failed = true; failed; n++) {
		assert_true(n < 50);
		begin(n, 60 * S);
		die_for(0, 0);
		mem_fail_after(n);
		run(S);
		failed = sim.ups == 1;
		mem_fail_after(0);
		run(10 * S);
		assert_int_equal(sim.ups, 2);
		assert_int_equal(sim.fails, 0);
		assert_true(!failed || said("emory") > 0);
		finish();
	}
	assert_true(n > 5);
}

/* ---- files of the dead ---- */

static void count(void *arg, const char *app)
{
	assert_string_equal(app, "simd-0123abcd.1");
	++*(unsigned *)arg;
}

/* Whether a lock without an owner, made so many seconds ago by the clock as it is now, counts as a dead process's. */
static bool is_dead(time_t ago_s)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - ago_s } };
	char path[TEST_PATH_MAX];
	unsigned n = 0;

	times[1] = times[0];
	test_path(sim.dir, "plane");
	assert_true(mkdir(sim.dir, 0700) == 0 || errno == EEXIST);
	test_path(path, "plane/simd-0123abcd.1.lock");
	make_file(path, "", 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	roudi_dead_apps(sim.dir, true, count, &n);
	assert_int_equal(unlink(path), 0);
	return n == 1;
}

/* The clock was set by an hour since then, forth or back. */
TEST(a_lock_from_another_hour_belongs_to_a_dead_process)
{
	assert_true(is_dead(3600));
	assert_true(is_dead(-3600));
	assert_false(is_dead(-1)); /* it is being made: this second may be over by now */
}
