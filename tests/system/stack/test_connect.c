/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that connect and disconnect for ever, fork, or become another program: nothing grows, nothing stays. */
#include "peer.h"
#include "stack.h"
#include "usage.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fd.h"
#include "mem.h"

#define CONF "\"TimeSource\":\"system\"," STACK_POOLS

/* ---- connecting again and again ---- */

#define CYCLES 1000
#define SLACK  512 /* kB that an allocator may keep */

/* One message on a channel of its own. */
static void use(struct peer *p, struct sim_publisher *pub)
{
	struct sim_slot *slot;

	PEER(p, sim_loan(pub, 64, &slot) == 0);
	PEER(p, sim_publish_local(pub, slot) == 0);
}

/* A cycle for each that the test asks for. The other client stays, with an attachment of its own. */
static int comes_and_goes(struct peer *p)
{
	struct sim_client *other = peer_connect(p, "other");
	struct sim_publisher *stays = peer_advertise(p, other, "/other", 64, SIM_PUB_LOCAL), *pub;

	for (int i = 1; i <= CYCLES; i++) {
		struct sim_client *c;

		PEER_AWAIT(p, atomic_load(&p->command) >= i);
		c = peer_connect(p, "comes");
		pub = peer_advertise(p, c, "/comes", 64, 0);
		use(p, pub);
		AWAIT(sim_client_state(other) == SIM_CLIENT_CONNECTED);
		use(p, stays);
		sim_publisher_destroy(pub);
		sim_disconnect(c);
		atomic_store(&p->result, i);
	}
	PEER_IDLE(p);
	sim_publisher_destroy(stays);
	sim_disconnect(other);
	return 0;
}

static void cycles_until(struct peer *p, int n)
{
	peer_tell(p, n);
	AWAIT(p->result == n || p->failed);
	assert_int_equal(p->failed, 0);
	AWAIT(stack_int("GetInfo", "clients") == 2); /* the other client, and this query */
}

/* A connection or a port that has just ended may take a moment. */
static void assert_flat(const char *who, pid_t pid, struct usage before)
{
	struct usage now;

	for (unsigned looks = 0;; looks++) {
		now = usage(pid);
		if (now.descriptors <= before.descriptors && now.threads <= before.threads &&
		    now.anon_kib <= before.anon_kib + SLACK)
			return;
		if (looks == WAIT_SAYS)
			print_message("%s: %ld descriptors, %ld threads, %ld KiB; now %ld, %ld, %ld KiB\n", who,
				      before.descriptors, before.threads, before.anon_kib, now.descriptors, now.threads,
				      now.anon_kib);
		wait_look_again();
	}
}

TEST_FULL_WITH(a_thousand_connections_of_one_process_leave_nothing, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid = peer_fork(p, comes_and_goes), roudi = stack_roudi();
	struct usage client, daemon, arbiter;
	uint32_t life = stack_life();

	for (int from = 0; from < CYCLES; from += CYCLES / 2) {
		cycles_until(p, from + CYCLES / 10);
		client = usage(pid);
		daemon = usage(simd);
		arbiter = usage(roudi);
		cycles_until(p, from + CYCLES / 2);
		assert_flat("the client", pid, client);
		assert_flat("simd", simd, daemon);
		assert_flat("iox-roudi", roudi, arbiter);
		if (from)
			break;
		assert_int_equal(kill(roudi, SIGKILL), 0);
		AWAIT(stack_life() > life);
		roudi = stack_roudi();
	}
	peer_join(p, pid);
	stack_stop(simd);
	peer_free(p);
}

/* ---- an end that the socket does not tell ---- */

/* Sockets and locks of this client. */
static unsigned files_of(const char *name)
{
	DIR *d = opendir(stack_plane());
	const struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += strncmp(e->d_name, name, strlen(name)) == 0 && e->d_name[strlen(name)] == '-';
	if (d)
		closedir(d);
	return n;
}

static struct sim_publisher *hold_slots(struct peer *p, const char *name)
{
	struct sim_client *c = peer_connect(p, name);
	struct sim_publisher *pub = peer_advertise(p, c, "/held", 64, 0);
	struct sim_slot *slot;

	for (int i = 0; i < 4; i++)
		PEER(p, sim_loan(pub, 64, &slot) == 0);
	return pub;
}

/*
 * simd has removed the client, and all that it held is free, with its files. Fewer slots than before it connected:
 * RouDi frees ports that simd made while it started up to 100 ms later.
 */
static void assert_gone(const char *name, uint32_t slots)
{
	AWAIT(stack_int("GetInfo", "clients") == 1); /* this query */
	AWAIT(files_of(name) == 0);
	AWAIT(stack_slots() <= slots); /* what a killed one has lost is sure to be lost after ten seconds */
}

static int forks_and_stays(struct peer *p)
{
	pid_t child;

	hold_slots(p, "forks");
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	atomic_store(&p->result, child);
	PEER_IDLE(p);
	return 0;
}

TEST_WITH(a_client_is_removed_though_a_forked_child_keeps_its_socket, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid;
	uint32_t slots = stack_slots();

	pid = peer_fork(p, forks_and_stays);
	AWAIT(p->result || p->failed);
	assert_int_equal(stack_int("GetInfo", "clients"), 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	assert_gone("forks", slots);
	assert_int_equal(kill(p->result, 0), 0); /* the child lives */
	assert_int_equal(kill(p->result, SIGKILL), 0);
	stack_stop(simd);
	peer_free(p);
}

static int becomes_another(struct peer *p)
{
	hold_slots(p, "becomes");
	atomic_store(&p->ready, 1);
	execlp("sleep", "sleep", "1000", (char *)NULL);
	return 1;
}

TEST_WITH(a_client_is_removed_when_it_executes_another_program, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid;
	uint32_t slots = stack_slots();

	pid = peer_fork(p, becomes_another);
	AWAIT(p->ready || p->failed);
	assert_gone("becomes", slots);
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	stack_stop(simd);
	peer_free(p);
}

static void *publishes_on(void *arg)
{
	struct peer *p = arg;
	struct sim_publisher *pub = peer_advertise(p, peer_connect(p, "threads"), "/on", 64, SIM_PUB_LOCAL);

	for (;;) {
		use(p, pub);
		atomic_fetch_add(&p->received, 1);
		pace_us(1000);
	}
	return NULL;
}

static int leaves_its_first_thread(struct peer *p)
{
	pthread_t t;

	PEER(p, pthread_create(&t, NULL, publishes_on, p) == 0);
	PEER_AWAIT(p, atomic_load(&p->stop) || atomic_load(&p->received));
	pthread_exit(NULL);
}

/* The process must be alive, not the thread that has its number. */
TEST_WITH(a_client_lives_on_when_its_first_thread_ends, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid;
	uint32_t slots = stack_slots();
	uint64_t n;

	pid = peer_fork(p, leaves_its_first_thread);
	AWAIT(p->received || p->failed);
	bell_ring(&p->bell);
	n = p->received;
	AWAIT(p->received > n + 100);
	assert_int_equal(stack_int("GetInfo", "clients"), 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	assert_gone("threads", slots);
	stack_stop(simd);
	peer_free(p);
}

/* ---- a fork has no part in its parent's handles, and may connect for itself ---- */

#define CHILD_EXITS 1 /* commands: without a word; result: which child is up */
#define CHILD_DIES  2

/* In the child: refused with what it inherited; with its own it publishes. */
static void be_a_child(struct peer *p, struct sim_publisher *inherited, int command)
{
	struct sim_publisher *pub;
	struct sim_slot *slot;
	struct sim_client *c;

	PEER(p, sim_loan(inherited, 64, &slot) == -EPERM);
	c = peer_connect(p, "child");
	pub = peer_advertise(p, c, "/child", 64, SIM_PUB_LOCAL);
	PEER(p, sim_loan(pub, 64, &slot) == 0); /* and keeps it */
	use(p, pub);
	atomic_store(&p->result, command);
	if (command == CHILD_EXITS)
		exit(0); /* with its exit handlers */
	for (;;)
		pause();
}

static int forks_twice(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "parent");
	struct sim_publisher *pub = peer_advertise(p, c, "/parent", 64, SIM_PUB_LOCAL), *next;
	int status;

	for (int i = CHILD_EXITS; i <= CHILD_DIES; i++) {
		pid_t child = fork();

		if (child == 0)
			be_a_child(p, pub, i);
		while (atomic_load(&p->result) != i && !atomic_load(&p->failed)) /* neither waits for the other */
			use(p, pub);
		if (i == CHILD_DIES)
			kill(child, SIGKILL);
		PEER(p, waitpid(child, &status, 0) == child);
		PEER(p, i == CHILD_DIES || status == 0);
		use(p, pub);
		next = peer_advertise(p, c, "/next", 64, SIM_PUB_LOCAL); /* RouDi knows it still */
		use(p, next);
		sim_publisher_destroy(next);
	}
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

TEST_WITH(a_forked_child_may_connect_itself, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid;
	uint32_t slots = stack_slots();

	pid = peer_fork(p, forks_twice);
	AWAIT(p->ready || p->failed);
	assert_int_equal(p->failed, 0);
	AWAIT(stack_int("GetInfo", "clients") == 2); /* the parent, and this query */
	AWAIT(files_of("child") == 0);
	assert_int_equal(files_of("parent"), 2);
	peer_join(p, pid);
	assert_gone("parent", slots);
	stack_stop(simd);
	peer_free(p);
}

/* ---- more than one attachment ---- */

/* RouDi does not answer it in time: that ends its attachment, and it makes another while slots of the first are held. */
static int attaches_twice(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "twice");
	struct sim_publisher *held = peer_advertise(p, c, "/held", 64, 0), *pub;
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = 64, .flags = SIM_PUB_LOCAL };
	struct sim_slot *slot;

	for (int i = 0; i < 4; i++)
		PEER(p, sim_loan(held, 64, &slot) == 0);
	atomic_store(&p->ready, 1);
	PEER_AWAIT(p, atomic_load(&p->command) == 1);
	PEER(p, sim_advertise(c, "/second", &sim_Ultrasonic_type, &o, &pub) < 0);
	atomic_store(&p->ready, 2);
	AWAIT(sim_client_state(c) != SIM_CLIENT_CONNECTED);
	AWAIT(sim_client_state(c) == SIM_CLIENT_CONNECTED);
	PEER(p, sim_advertise(c, "/second", &sim_Ultrasonic_type, &o, &pub) == 0);
	PEER(p, sim_loan(pub, 64, &slot) == 0);
	atomic_store(&p->ready, 3);
	PEER_IDLE(p);
	return 0;
}

TEST_FULL_WITH(all_attachments_of_the_dead_are_freed, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid, roudi = stack_roudi();
	uint32_t slots = stack_slots();

	pid = peer_fork(p, attaches_twice);
	AWAIT(p->ready == 1 || p->failed);
	assert_int_equal(kill(roudi, SIGSTOP), 0);
	AWAIT(test_stands(roudi));
	peer_tell(p, 1);
	AWAIT(p->ready == 2 || p->failed);
	assert_int_equal(kill(roudi, SIGCONT), 0);
	AWAIT(p->ready == 3 || p->failed);
	assert_int_equal(p->failed, 0);
	assert_int_equal(stack_roudi(), roudi);
	assert_int_equal(files_of("twice"), 4); /* two sockets, two locks */
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	assert_gone("twice", slots);
	stack_stop(simd);
	peer_free(p);
}

/* ---- names in the data plane ---- */

/* A name in the data plane that begins with this and a dash, without its end; "" none. Static. */
static const char *name_of(const char *begin, const char *end)
{
	static char name[256];
	DIR *d = opendir(stack_plane());
	const struct dirent *e;
	size_t n = strlen(begin), m = strlen(end);

	name[0] = '\0';
	while (d && (e = readdir(d)))
		if (strncmp(e->d_name, begin, n) == 0 && e->d_name[n] == '-' && strlen(e->d_name) > m &&
		    strcmp(e->d_name + strlen(e->d_name) - m, end) == 0)
			snprintf(name, sizeof(name), "%.*s", (int)(strlen(e->d_name) - m), e->d_name);
	if (d)
		closedir(d);
	return name;
}

/* RouDi believes every datagram. What a stranger has it do to simd costs a generation of the data plane, no more. */
TEST_WITH(messages_sent_in_simds_name_cost_one_generation_at_most, NULL, stack_sweep)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF ",\"rigs\":[{\"name\":\"car\",\"bridges\":[{\"name\":\"b\",\"plugin\":\"" FAULTY
				      "\",\"options\":{\"mode\":\"count\"}}]}]"),
	      pid;
	char text[300];
	uint32_t life;
	uint64_t ok;
	int fd, n;

	AWAIT(!strcmp(stack_bridge_text("b", "status"), "connected"));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/roudi", stack_plane());
	peer_tell(p, 1000);
	pid = peer_fork(p, peer_publisher);
	AWAIT(p->ok > 20 || p->failed);
	life = stack_life();
	n = snprintf(text, sizeof(text), "18,%s.1,", name_of("simd", ".1"));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(sendto(fd, text, (size_t)n + 1, 0, (const struct sockaddr *)&a, sizeof(a)), n + 1);
	close(fd);
	AWAIT(stack_life() > life);
	assert_true(stack_said("sent messages to it in simd's name") || stack_said("simd's own ports are gone"));
	ok = p->ok;
	AWAIT(p->ok > ok + 20);
	peer_join(p, pid);
	peer_check(p, false);
	stack_stop(simd);
	peer_free(p);
}

static int keeps_its_attachment(struct peer *p)
{
	hold_slots(p, "keeps");
	atomic_store(&p->ready, 1);
	PEER_IDLE(p);
	return 0;
}

/* A client keeps its attachment over a restart of simd, under a name of the earlier one: that is its own. */
TEST_WITH(an_attachment_name_of_an_earlier_simd_stays_with_its_client, NULL, stack_sweep)
{
	struct peer *p = peer_new();
	pid_t simd = stack_start(CONF), pid;
	uint32_t slots = stack_slots();
	char name[256], *text;

	pid = peer_fork(p, keeps_its_attachment);
	AWAIT(p->ready || p->failed);
	snprintf(name, sizeof(name), "\"%s\"", name_of("keeps", ".1"));
	stack_kill(simd);
	simd = stack_start(CONF);
	AWAIT(stack_int("GetInfo", "clients") == 2); /* the client, and this query */
	AWAIT(fd_read_file(STACK_DIR "/state.json", 1 << 20, &text, NULL) == 0 &&
	      (strstr(text, name) ? 1 : (mem_free(text), 0)));
	mem_free(text);
	assert_int_equal(kill(pid, SIGKILL), 0);
	stack_wait(pid);
	assert_gone("keeps", slots);
	stack_stop(simd);
	peer_free(p);
}
