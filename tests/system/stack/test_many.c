/* SPDX-License-Identifier: Apache-2.0 */
/* Many simd on one machine, each with a data plane of its own: they publish side by side, and what dies is cleared by its own alone. */
#include "peer.h"
#include "stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <sim/msg/Ultrasonic.h>
#include <sim/sim.h>

#include "fd.h"
#include "patient.h"
#include "timeutil.h"

#define MANY     50
#define CHANNELS 3
#define MESSAGES 10
#define CONF     "\"TimeSource\":\"system\"," STACK_POOLS ",\"rigs\":[{\"name\":\"car\"}]"

static struct one {
	char dir[256], socket[272];
	pid_t simd, client;
	struct peer *p;
	int64_t begin_mono_ns; /* of its start; took_dur_ns of the peer is when its first message came back */
} all[MANY];

static int spawn_below(const char *above, unsigned i)
{
	struct one *o = &all[i];
	int fd;

	snprintf(o->dir, sizeof(o->dir), "%s/rt-%u", above, i);
	snprintf(o->socket, sizeof(o->socket), "%s/rt-%u/control", above, i);
	o->begin_mono_ns = mono_now_ns();
	o->simd = stack_spawn_in(o->dir, CONF, &fd);
	return fd;
}

static int spawn(unsigned i)
{
	return spawn_below("/tmp", i);
}

static void end(unsigned i)
{
	assert_int_equal(kill(all[i].simd, SIGTERM), 0);
	assert_int_equal(stack_wait(all[i].simd), 0);
}

/* ---- a client of each ---- */

struct channel {
	struct sim_publisher *pub;
	struct sim_subscriber *sub;
};

static void open_channel(struct peer *p, struct sim_client *c, struct channel *ch, int i)
{
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 8 };
	char name[16];

	snprintf(name, sizeof(name), "/c%d", i);
	ch->pub = peer_advertise(p, c, name, 64, SIM_PUB_LOCAL);
	PEER(p, sim_subscribe(c, name, &sim_Ultrasonic_type, &so, &ch->sub) == 0);
}

/* Whether one has come back. */
static bool exchange(struct peer *p, const struct channel *ch)
{
	const struct sim_message *in;
	struct sim_slot *out;

	if (sim_loan(ch->pub, 64, &out) == 0)
		PEER(p, sim_publish_local(ch->pub, out) == 0);
	if (sim_wait(ch->sub, 2 * NS_PER_MS) != 1 || sim_take(ch->sub, &in) < 0)
		return false;
	atomic_store(&p->generation, in->header.iox_generation);
	return sim_release(ch->sub, in) == 0;
}

/* Until it is told to end. */
static int client(struct peer *p)
{
	struct channel ch[CHANNELS] = { 0 };
	struct sim_client *c = peer_connect(p, "many");

	for (int i = 0; i < CHANNELS; i++)
		open_channel(p, c, &ch[i], i);
	while (!atomic_load(&p->stop))
		for (int i = 0; i < CHANNELS; i++)
			if (exchange(p, &ch[i]) && atomic_fetch_add(&p->received, 1) == 0)
				atomic_store(&p->took_dur_ns, mono_now_ns());
	sim_disconnect(c);
	return 0;
}

static void begin_client(struct one *o)
{
	setenv("SIMD_SOCKET", o->socket, 1);
	o->p = peer_new();
	o->client = peer_fork(o->p, client);
}

static void end_client(struct one *o)
{
	peer_join(o->p, o->client);
	peer_free(o->p);
}

static void goes_on(const struct one *o)
{
	uint64_t had = o->p->received;

	AWAIT(o->p->received > had + CHANNELS * MESSAGES || o->p->failed);
	assert_int_equal(o->p->failed, 0);
}

/* ---- tests ---- */

/* RouDi of each writes 66 MB at its start. */
static unsigned how_many(void)
{
	if (!test_full())
		return 3;
	if (getpid() != 1 || mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, "size=6g") < 0)
		return 10;
	return MANY;
}

static void tell_took(const char *which, unsigned i)
{
	print_message("%s: from its start to its first message %lld ms\n", which,
		      (long long)((all[i].p->took_dur_ns - all[i].begin_mono_ns) / NS_PER_MS));
}

TEST_WITH(several_simds_run_side_by_side, NULL, stack_sweep)
{
	unsigned n = how_many();
	int fd[MANY];

	stack_await_ready(spawn(0));
	begin_client(&all[0]);
	goes_on(&all[0]);
	tell_took("the first, alone", 0);
	end_client(&all[0]);
	end(0);
	for (unsigned i = 0; i < n; i++)
		fd[i] = spawn(i);
	for (unsigned i = 0; i < n; i++)
		stack_await_ready(fd[i]);
	for (unsigned i = 0; i < n; i++)
		begin_client(&all[i]);
	for (unsigned i = 0; i < n; i++)
		goes_on(&all[i]);
	tell_took("the last of all that started at once", n - 1);
	/* one more beside them */
	end_client(&all[0]);
	end(0);
	stack_await_ready(spawn(0));
	begin_client(&all[0]);
	goes_on(&all[0]);
	tell_took("one more beside the others", 0);
	for (unsigned i = 0; i < n; i++) {
		end_client(&all[i]);
		end(i);
	}
	assert_string_equal(stack_leftovers(), "");
}

static bool plane_is_there(void)
{
	return system("ls -d /dev/shm/simd-* >/dev/null 2>&1") == 0;
}

static void clean_up(unsigned i)
{
	const char *const argv[] = { "simd", "--runtime-dir", all[i].dir, "--clean-up", NULL };

	const struct ctl_result *said = stack_run(argv);

	if (said->code)
		fail_msg("%s", said->err);
}

/* One is killed at any moment of its start, run and end, and cleared away or taken over; the other does not notice. */
TEST_WITH(the_death_of_one_simd_does_not_affect_the_others, NULL, stack_sweep)
{
	unsigned rounds = test_full() ? 100 : 5;
	uint32_t life;

	srand((unsigned)test_seed(11));
	stack_await_ready(spawn(0));
	begin_client(&all[0]);
	goes_on(&all[0]);
	life = all[0].p->generation;
	for (unsigned i = 0; i < rounds; i++) {
		close(spawn(1));
		moment_us((unsigned)rand() % 300000);
		if (rand() % 2) { /* in the middle of its end */
			kill(all[1].simd, SIGTERM);
			moment_us((unsigned)rand() % 100000);
		}
		kill(all[1].simd, SIGKILL);
		(void)stack_wait(all[1].simd);
		if (rand() % 2)
			clean_up(1);
		goes_on(&all[0]);
	}
	assert_int_equal(all[0].p->generation, life);
	clean_up(1);
	end_client(&all[0]);
	end(0);
	assert_string_equal(stack_leftovers(), "");
}

/* The runtime directory is moved, or removed with all that is in it, while simd runs. */
static void loses_its_directory(const char *command)
{
	const char *const other[] = { "simd", "--config", "/tmp/out-rt-0.json", "--runtime-dir", "/tmp/rt-0", NULL };
	const struct ctl_result *said;

	stack_await_ready(spawn(0));
	begin_client(&all[0]);
	goes_on(&all[0]);
	assert_int_equal(system(command), 0);
	goes_on(&all[0]);
	said = stack_run(other); /* one of the same name would take its data plane away */
	assert_int_equal(said->code, 1);
	assert_non_null(strstr(said->err, "another simd runs in /tmp/rt-0"));
	goes_on(&all[0]);
	end_client(&all[0]);
	end(0);
	assert_false(plane_is_there());
	stack_await_ready(spawn(0));
	end(0);
	assert_int_equal(system("rm -rf /tmp/moved"), 0);
	assert_string_equal(stack_leftovers(), "");
}

TEST_WITH(the_runtime_directory_may_be_moved_while_simd_runs, NULL, stack_sweep)
{
	loses_its_directory("mv /tmp/rt-0 /tmp/moved");
}

TEST_WITH(the_runtime_directory_may_be_deleted_while_simd_runs, NULL, stack_sweep)
{
	loses_its_directory("rm -r /tmp/rt-0");
}

/* Longer than a socket's address, with blanks, quotes and letters of several bytes: it publishes, is killed, taken over and cleaned up. */
TEST_WITH(the_runtime_directory_may_have_an_unusual_name, NULL, stack_sweep)
{
	char above[200];
	int n = snprintf(above, sizeof(above), "/tmp/rt of \"J\u00fcrgens\" \u81ea\u52a8 %% s/");

	memset(above + n, 'x', sizeof(above) - 1 - (size_t)n);
	above[sizeof(above) - 1] = '\0';
	stack_await_ready(spawn_below(above, 0));
	begin_client(&all[0]);
	goes_on(&all[0]);
	kill(all[0].simd, SIGKILL);
	(void)stack_wait(all[0].simd);
	stack_await_ready(spawn_below(above, 0));
	goes_on(&all[0]);
	kill(all[0].simd, SIGKILL);
	(void)stack_wait(all[0].simd);
	assert_true(plane_is_there());
	end_client(&all[0]);
	clean_up(0);
	assert_false(plane_is_there());
	assert_int_equal(system("rm -r /tmp/rt\\ of*"), 0);
	assert_string_equal(stack_leftovers(), "");
}

/* The owner of a data plane is stored as one line of a file. */
TEST(a_line_break_in_the_runtime_directory_is_refused)
{
	const char *const argv[] = { "simd", "--runtime-dir", "/tmp/rt\n0", NULL };
	const struct ctl_result *said = stack_run(argv);

	assert_int_equal(said->code, 1);
	assert_string_equal(said->err,
			    "simd: runtime directory: its name has a line break in it: name another one with "
			    "--runtime-dir\n");
	assert_int_not_equal(access("/tmp/rt\n0", F_OK), 0);
	assert_false(plane_is_there());
}
