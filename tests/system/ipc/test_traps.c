/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The traps of iceoryx 2.0.3 as a client meets them: each must be an error with a sentence, never an
 * abort or a hang. What one process can see alone is in tests/conformance/ipc. Under ns.sh.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "ipc_child.h"
#include "ipc_ops.h"
#include "roudi.h"
#include "signs.h"

static const struct ipc_mem_pool pools[] = { { 256, 2000 }, { 65536, 16 } };
static struct roudi roudi;

/* ---- before RouDi runs ---- */

static int start_roudi(void **state)
{
	(void)state;
	return roudi_start(&roudi, pools, 2);
}

static void no_roudi(void)
{
	struct ipc_options o = { .app = "lonely" };
	struct ipc *ipc = NULL;

	for (int i = 0; i < 30; i++) /* uses up no life */
		CHECK_IS(ipc_attach(&o, &ipc), -ENOENT);
	CHECK(strstr(ipc_why(), "start simd"));
	CHECK_IS(ipc_probe(NULL, 100), -ENOENT);
	CHECK_IS(ipc_free_app(NULL, "x"), -ENOENT);
}

static void stale_roudi(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/roudi" };
	struct ipc_options o = { .app = "lonely" };
	struct ipc *ipc = NULL;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	close(fd);
	CHECK_IS(ipc_attach(&o, &ipc), -ECONNREFUSED);
	CHECK_IS(ipc_probe(NULL, 100), -ECONNREFUSED);
	unlink(a.sun_path);
}

/* The first; the others have the RouDi that starts after it. */
TEST_WITH(without_roudi_attaching_fails_with_the_reason, NULL, start_roudi)
{
	child_run(no_roudi);
	child_run(stale_roudi);
}

/* ---- membership and names ---- */

static void changes_groups(void)
{
	_exit(setgroups(0, NULL) == 0 && setgid(12345) == 0 && setuid(12345) == 0 ? 0 : 77);
}

/* Real root, not that of a user namespace. */
static bool may_change_groups(void)
{
	return child_status(child_start(changes_groups)) == 0;
}

static void wrong_group(void)
{
	struct ipc_options o = { .app = "stranger" };
	struct ipc *ipc = NULL;

	CHECK(setgroups(0, NULL) == 0 && setgid(12345) == 0 && setuid(12345) == 0);
	CHECK_IS(ipc_attach(&o, &ipc), -EACCES);
	CHECK(strstr(ipc_why(), "group root") && strstr(ipc_why(), "12345"));
	CHECK_IS(ipc_probe(NULL, 100), -EACCES);
}

/* A client that RouDi could not answer: it would wait for ever. */
static void unreachable_for_roudi(void)
{
	struct ipc_options o = { .app = "above" };
	struct ipc *ipc = NULL;
	struct stat st;

	CHECK(stat("/tmp/roudi", &st) == 0);
	CHECK(chown("/tmp/roudi", 12345, 12345) == 0);
	CHECK_IS(ipc_attach(&o, &ipc), -EACCES);
	CHECK(chown("/tmp/roudi", st.st_uid, st.st_gid) == 0);
}

TEST(a_wrong_group_is_named)
{
	if (!may_change_groups())
		skip();
	child_run(wrong_group);
	child_run(unreachable_for_roudi);
}

static void named_twin(void)
{
	attach_as("twin");
	say('r');
	pause();
}

static void second_twin(void)
{
	struct ipc_options o = { .app = "twin" };
	struct ipc *ipc = NULL;

	for (int i = 0; i < 30; i++)
		CHECK_IS(ipc_attach(&o, &ipc), -EEXIST);
	CHECK(strstr(ipc_why(), "twin"));
	attach_as("other");
}

static void third_twin(void)
{
	attach_as("twin");
}

TEST(a_duplicate_name_is_refused)
{
	pid_t first = child_start(named_twin);

	hear('r');
	child_run(second_twin);
	kill(first, SIGKILL);
	child_status(first);
	child_run(third_twin); /* a dead one does not keep its name */
}

/* ---- limits ---- */

static void all_publishers(void)
{
	static struct ipc_pub *pub[600];
	struct ipc *ipc = attach_as("greedy");
	char channel[32];
	int n = 0, r;

	for (r = 0; r == 0 && n < 600; n += r == 0) {
		snprintf(channel, sizeof(channel), "many/%d", n);
		r = ipc_pub_create(ipc, channel, NULL, &pub[n]);
	}
	CHECK_IS(r, -EMFILE);
	CHECK(strstr(ipc_why(), "506"));
	CHECK(n == 506);
	CHECK(ipc_alive(ipc));
	say('f');
	pause();
}

static void innocent(void)
{
	struct ipc *ipc = attach_as("innocent");
	struct ipc_pub *pub = NULL;
	struct ipc_sub *sub = NULL;

	CHECK_IS(ipc_pub_create(ipc, "mine", NULL, &pub), -EMFILE);
	CHECK_IS(ipc_sub_create(ipc, "mine", &(struct ipc_sub_options){ .depth = 1 }, &sub), 0);
	CHECK_IS(ipc_free_peer(ipc, "greedy"), 0); /* its owner was killed by now */
	CHECK_IS(ipc_pub_create(ipc, "mine", NULL, &pub), 0);
}

TEST(too_many_publishers_are_refused)
{
	pid_t greedy = child_start(all_publishers);

	hear('f');
	kill(greedy, SIGKILL);
	child_status(greedy);
	child_run(innocent);
}

static void all_subscribers(void)
{
	static struct ipc_sub *sub[1100];
	struct ipc *ipc = attach_as("subs");
	char channel[32];
	int n = 0, r;

	for (r = 0; r == 0 && n < 1100; n += r == 0) {
		snprintf(channel, sizeof(channel), "subs/%d", n);
		r = ipc_sub_create(ipc, channel, &(struct ipc_sub_options){ .depth = 1 }, &sub[n]);
	}
	CHECK_IS(r, -EMFILE);
	CHECK(n > 1000);
	ipc_detach(ipc);
}

TEST(too_many_subscribers_are_refused)
{
	child_run(all_subscribers);
}

/* ---- deaths ---- */

static void holder(void)
{
	struct ipc *ipc = attach_as("holder");
	struct ipc_pub *pub = NULL;
	void *slot;

	CHECK_IS(ipc_pub_create(ipc, "held", NULL, &pub), 0);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		CHECK_IS(ipc_loan(pub, 60000, &slot), 0);
	say('h');
	pause();
}

static void eight_more(void)
{
	struct ipc *ipc = attach_as("eight");
	struct ipc_pub *a = NULL, *b = NULL;
	void *slot;

	CHECK_IS(ipc_pub_create(ipc, "held", NULL, &a), 0);
	CHECK_IS(ipc_pub_create(ipc, "held", NULL, &b), 0);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		CHECK_IS(ipc_loan(a, 60000, &slot), 0);
	CHECK_IS(ipc_loan(b, 60000, &slot), -ENOMEM);
	CHECK_IS(ipc_free_app(NULL, "holder"), 0);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		CHECK_IS(ipc_loan(b, 60000, &slot), 0);
	CHECK(access("/tmp/holder.1", F_OK) < 0 && access("/tmp/holder.1.lock", F_OK) < 0);
}

TEST(slots_of_a_dead_client_are_freed)
{
	pid_t first = child_start(holder);

	hear('h');
	kill(first, SIGKILL);
	child_status(first);
	child_run(eight_more);
}

static void leaves_by_exit(void)
{
	struct ipc *ipc = attach_as("leaver");
	struct ipc_pub *pub = NULL;
	void *slot;

	CHECK_IS(ipc_pub_create(ipc, "held", NULL, &pub), 0);
	for (int i = 0; i < IPC_LOANS_MAX; i++)
		CHECK_IS(ipc_loan(pub, 60000, &slot), 0);
}

static void sixteen(void)
{
	struct ipc *ipc = attach_as("sixteen");
	struct ipc_pub *pub[2] = { NULL };
	void *slot;

	for (int k = 0; k < 2; k++) {
		CHECK_IS(ipc_pub_create(ipc, "held", NULL, &pub[k]), 0);
		for (int i = 0; i < IPC_LOANS_MAX; i++)
			CHECK_IS(ipc_loan(pub[k], 60000, &slot), 0);
	}
}

/* With monitoring off RouDi learns of an exit only from us. */
TEST(exit_releases_everything)
{
	child_run(leaves_by_exit);
	assert_int_equal(access("/tmp/leaver.1", F_OK), -1);
	assert_int_equal(access("/tmp/leaver.1.lock", F_OK), -1);
	child_run(sixteen);
}

static void publishes_for_ever(void)
{
	struct ipc *ipc = attach_as("stopped");
	struct ipc_pub *pub = NULL;
	void *slot;
	uint64_t n = 0;

	CHECK_IS(ipc_pub_create(ipc, "stop", NULL, &pub), 0);
	say('p');
	for (;;) {
		CHECK_IS(ipc_loan(pub, sizeof(n), &slot), 0);
		memcpy(slot, &n, sizeof(n));
		CHECK_IS(ipc_publish(pub, slot), 0);
		n++;
		pace_us(1000);
	}
}

/* Waits for three messages in a row. */
static void listens(void)
{
	struct ipc *ipc = attach_as("listener");
	struct ipc_sub *sub = NULL;
	struct ipc_waiter *w = NULL;
	const void *slot;

	CHECK_IS(ipc_sub_create(ipc, "stop", &(struct ipc_sub_options){ .depth = 1 }, &sub), 0);
	CHECK_IS(ipc_waiter_create(ipc, &w), 0);
	CHECK_IS(ipc_waiter_add(w, sub), 0);
	for (int n = 0; n < 3;) {
		CHECK(ipc_waiter_wait(w, 10000000000) == 1);
		while (ipc_take(sub, &slot, &(size_t){ 0 }) == 0) {
			ipc_release(sub, slot);
			n++;
		}
	}
	ipc_sub_destroy(sub);
	ipc_waiter_destroy(w);
}

TEST(a_client_may_be_stopped_for_three_seconds)
{
	pid_t pid = child_start(publishes_for_ever);

	hear('p');
	child_run(listens);
	kill(pid, SIGSTOP);
	moment_us(3000000); /* twice the time after which a monitoring RouDi removes it: the subject of the test */
	kill(pid, SIGCONT);
	child_run(listens);
	kill(pid, SIGKILL);
	assert_int_equal(child_status(pid), SIGKILL);
}

/* What must never be done, done: RouDi takes the ports of a live client away. iceoryx finds that FATAL. */
static void freed_alive(void)
{
	struct ipc *ipc = attach_as("freed");
	struct ipc_pub *pub = NULL, *other = NULL;
	struct ipc_sub *sub = NULL;
	void *slot;
	int r = 0;

	CHECK_IS(ipc_pub_create(ipc, "freed", &(struct ipc_pub_options){ .history = 1 }, &pub), 0);
	CHECK_IS(ipc_sub_create(ipc, "freed", &(struct ipc_sub_options){ .depth = 1 }, &sub), 0);
	CHECK_IS(ipc_free_app(NULL, "freed"), 0);
	ipc_pub_has_subscribers(pub);
	ipc_sub_has_data(sub);
	ipc_sub_lost(sub);
	while (r == 0) { /* RouDi has read the request, and executes it now; the test's time limit is the bound */
		r = ipc_loan(pub, 100, &slot);
		if (r == 0)
			r = ipc_publish(pub, slot);
	}
	CHECK_IS(r, -ESTALE);
	CHECK(!ipc_alive(ipc));
	CHECK_IS(ipc_pub_create(ipc, "freed", NULL, &other), -ESTALE);
	ipc_pub_destroy(pub);
	ipc_sub_destroy(sub);
	ipc_detach(ipc);
	ipc = attach_as("freed"); /* and on it goes */
	CHECK_IS(ipc_pub_create(ipc, "freed", NULL, &pub), 0);
}

TEST(a_live_client_loses_its_ports)
{
	child_run(freed_alive);
}

/* The distance from the chunk's header to its payload, as a program that writes past the end of its slot destroys it. */
static void written_over(void)
{
	struct ipc *ipc = attach_as("over");
	struct ipc_pub *pub = NULL;
	struct ipc_sub *sub = NULL;
	const void *taken;
	uint32_t back, far = 0x7ffffff0;
	size_t size;
	char *slot;

	CHECK_IS(ipc_sub_create(ipc, "over", &(struct ipc_sub_options){ .depth = 4 }, &sub), 0);
	CHECK_IS(ipc_pub_create(ipc, "over", NULL, &pub), 0);
	AWAIT(ipc_pub_has_subscribers(pub));
	for (int i = 0; i < 2; i++) {
		CHECK_IS(ipc_loan(pub, 100, (void **)&slot), 0);
		memcpy(&back, slot - sizeof(back), sizeof(back));
		if (i == 0)
			memcpy(slot - back + 36, &far, sizeof(far));
		CHECK_IS(ipc_publish(pub, slot), 0);
	}
	CHECK_IS(ipc_take(sub, &taken, &size), -EBADMSG);
	CHECK(strstr(ipc_why(), "written over"));
	CHECK_IS(ipc_take(sub, &taken, &size), 0);
	CHECK(taken == slot && size >= 100);
	CHECK_IS(ipc_release(sub, taken), 0);
	CHECK_IS(ipc_take(sub, &taken, &size), -EAGAIN);
	ipc_sub_destroy(sub);
	ipc_pub_destroy(pub);
	ipc_detach(ipc);
}

TEST(a_slot_outside_the_segment_is_not_handed_out)
{
	child_run(written_over);
}

/* ---- forks and programs started ---- */

/*
 * An answer of RouDi's that nobody had asked for lies in the socket: each creation would be given the answer to the
 * one before, one channel's port for another's, so that is the end of the life.
 */
static void strayed(void)
{
	const struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/astray.1" };
	struct ipc *ipc = attach_as("astray");
	struct ipc_pub *pub = NULL;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK(sendto(fd, "19,", 4, 0, (const struct sockaddr *)&a, sizeof(a)) == 4);
	close(fd);
	CHECK(ipc_pub_create(ipc, "one", NULL, &pub) < 0);
	CHECK(!ipc_alive(ipc));
	CHECK_IS(ipc_pub_create(ipc, "two", NULL, &pub), -ESTALE);
	ipc_detach(ipc);
	ipc = attach_as("astray");
	CHECK_IS(ipc_pub_create(ipc, "one", NULL, &pub), 0);
}

TEST(a_stray_answer_is_ignored)
{
	child_run(strayed);
}

#define CREATE_PUBLISHER_ACK 4 /* of iceoryx 2.0.3 */
#define BLANK                ((size_t)64 << 10)

/* Where RouDi's memory has nothing but zeros, as where it has not made a port yet. */
static size_t find_blank(void)
{
	static const char zeros[BLANK];
	int fd = open("/dev/shm/iceoryx_mgmt", O_RDONLY | O_CLOEXEC);
	struct stat st;
	const char *p;
	size_t at;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	close(fd);
	for (at = 0; at + BLANK <= (size_t)st.st_size && memcmp(p + at, zeros, BLANK) != 0; at += BLANK)
		;
	CHECK(at + BLANK <= (size_t)st.st_size);
	return at;
}

/* The answer lies there before the question is put. */
static void forge(const char *app, size_t offset, unsigned int segment)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char msg[64];
	int n = snprintf(msg, sizeof(msg), "%d,%zu,%u,", CREATE_PUBLISHER_ACK, offset, segment);

	snprintf(a.sun_path, sizeof(a.sun_path), "/tmp/%s.1", app);
	CHECK(fd >= 0);
	CHECK(sendto(fd, msg, (size_t)n + 1, 0, (const struct sockaddr *)&a, sizeof(a)) == n + 1);
	close(fd);
}

static void is_told(const char *app, size_t offset, unsigned int segment)
{
	struct ipc *ipc = attach_as(app);
	struct ipc_pub *pub = NULL;
	void *slot;
	int r;

	forge(app, offset, segment);
	r = ipc_pub_create(ipc, "one", NULL, &pub);
	if (r == 0)
		(void)ipc_loan(pub, 64, &slot);
	CHECK_IS(r, -ESTALE);
	CHECK(strstr(ipc_why(), "out of step"));
	CHECK(!ipc_alive(ipc));
	ipc_detach(ipc);
}

static void blank_port(void)
{
	is_told("blank", find_blank(), 1);
}

static void port_elsewhere(void)
{
	is_told("elsewhere", (size_t)1 << 40, 1);
}

static void port_at_no_segment(void)
{
	is_told("nowhere", 4096, 0);
}

/* The port of another channel. */
static void port_of_another(void)
{
	is_told("another", 0, 1);
}

TEST(an_answer_with_an_invalid_port_is_refused)
{
	child_run(blank_port);
	child_run(port_elsewhere);
	child_run(port_at_no_segment);
	child_run(port_of_another);
}

#define ASIDE "/dev/shm/aside"

/* As it is for one whose RouDi has been replaced while its request was on the way. */
static void other_memory(void)
{
	struct ipc *ipc = attach_as("moved");
	struct ipc_pub *pub = NULL;
	struct ipc_waiter *w = NULL;

	CHECK(rename("/dev/shm/iceoryx_mgmt", ASIDE) == 0);
	CHECK_IS(ipc_waiter_create(ipc, &w), -ESTALE);
	CHECK_IS(ipc_pub_create(ipc, "one", NULL, &pub), -ESTALE);
	CHECK(rename(ASIDE, "/dev/shm/iceoryx_mgmt") == 0);
	ipc_detach(ipc);
	CHECK_IS(ipc_pub_create(attach_as("moved"), "one", NULL, &pub), 0);
}

TEST(an_attachment_to_replaced_memory_is_over)
{
	int status = child_status(child_start(other_memory));

	(void)rename(ASIDE, "/dev/shm/iceoryx_mgmt"); /* for the next test, where this one fails */
	assert_int_equal(status, 0);
}

/* Acknowledged by RouDi, each one, to a client that reads none of it: that is no reason not to serve the others. */
static void asks_and_does_not_read(void)
{
	const struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/roudi" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	attach_as("unread");
	CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0);
	for (int i = 0; i < 100; i++) /* about ten fit into each of the two sockets */
		AWAIT(send(fd, "20,unread.1,", 13, MSG_DONTWAIT) == 13);
	say('u');
	pause();
}

static void is_served(void)
{
	struct ipc_pub *pub = NULL;

	CHECK_IS(ipc_pub_create(attach_as("served"), "one", NULL, &pub), 0);
}

TEST(a_client_that_reads_no_answers_holds_nothing_up)
{
	pid_t unread = child_start(asks_and_does_not_read);

	hear('u');
	child_run(is_served);
	kill(unread, SIGKILL);
	assert_true(WIFSIGNALED(child_status(unread)));
}

/* ---- programs that are started ---- */

static void new_ones_close_on_exec(void)
{
	bool before[256];
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
	attach_as("exec");
	for (int fd = 0; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (before[fd] || flags < 0)
			continue;
		CHECK(flags & FD_CLOEXEC);
		n++;
	}
	CHECK(n >= 3); /* sockets, lock, the silenced stderr: or this looks at nothing */
}

TEST(descriptors_close_on_exec)
{
	child_run(new_ones_close_on_exec);
}

static void fork_and_exit(void)
{
	struct ipc *ipc = attach_as("parent");
	struct ipc_pub *pub = NULL;
	pid_t pid = fork();
	int st;

	if (pid == 0)
		exit(0);
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
	CHECK(access("/tmp/parent.1", F_OK) == 0);
	CHECK_IS(ipc_pub_create(ipc, "after-fork", NULL, &pub), 0);
	pid = fork();
	if (pid == 0) {
		struct ipc *own = NULL;
		struct ipc_options o = { .app = "parent" };

		CHECK_IS(ipc_pub_create(ipc, "child", NULL, &pub), -EPERM);
		CHECK_IS(ipc_attach(&o, &own), -EEXIST);
		own = attach_as("child");
		CHECK_IS(ipc_pub_create(own, "child", NULL, &pub), 0);
		exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
	ipc_pub_destroy(pub);
	CHECK_IS(ipc_pub_create(ipc, "after-fork", NULL, &pub), 0);
}

TEST(a_fork_does_no_harm)
{
	child_run(fork_and_exit);
}

/* ---- references across processes ---- */

static void exporter(void)
{
	struct ipc *ipc = attach_as("exporter");
	struct ipc_pub *pub = NULL;
	struct {
		int64_t ref;
		uint64_t id;
	} m;
	char *slot;
	char done;

	CHECK_IS(ipc_beacon_create(ipc), 0);
	CHECK_IS(ipc_pub_create(ipc, "far", NULL, &pub), 0);
	CHECK_IS(ipc_loan(pub, 60000, (void **)&slot), 0);
	memset(slot, 'x', 59999);
	slot[59999] = '!';
	CHECK_IS(ipc_export(ipc, slot, &m.ref), 0);
	m.id = ipc_beacon_id(ipc);
	CHECK(write(to_parent[1], &m, sizeof(m)) == sizeof(m));
	CHECK(read(ref_pipe[0], &done, 1) == 1);
}

static struct {
	int64_t ref;
	uint64_t id;
} told;

static void importer(void)
{
	struct ipc *ipc = attach_as("importer");
	const void *p;

	CHECK_IS(ipc_import(ipc, told.ref, 60000, &p), -ENOENT);
	CHECK_IS(ipc_beacon_hold(ipc), 0);
	CHECK(ipc_beacon_id(ipc) == told.id);
	CHECK_IS(ipc_import(ipc, told.ref, 60000, &p), 0);
	CHECK(((const char *)p)[0] == 'x' && ((const char *)p)[59999] == '!');
	CHECK_IS(ipc_import(ipc, told.ref, (size_t)1 << 40, &p), -EFAULT);
}

static void no_beacon(void)
{
	struct ipc *ipc = attach_as("alone");

	CHECK_IS(ipc_beacon_hold(ipc), -ENOENT);
}

TEST(references_cross_processes)
{
	pid_t pid;

	assert_int_equal(pipe(ref_pipe), 0);
	pid = child_start(exporter);
	assert_int_equal(read(to_parent[0], &told, sizeof(told)), sizeof(told));
	child_run(importer);
	assert_int_equal(write(ref_pipe[1], "x", 1), 1);
	assert_int_equal(child_status(pid), 0);
	child_run(no_beacon);
}

/* ---- the module itself ---- */

static void module_rules(void)
{
	struct ipc_start start = { .name = "bare.1", .plane = "", .timeout_ms = PATIENT_MS };
	_Atomic uint32_t live = IPC_LIVE;
	const struct ipc_ops *(*get)(void);
	int (*key_create)(pthread_key_t *, void (*)(void *));
	struct ipc_text why = { "" };
	pthread_key_t key = 99;
	void *life, *pub, *slot = NULL, *m;
	char path[4096] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 64) > 0);
	snprintf(strrchr(path, '/'), 64, "/../lib/simd/ipc_iox.so");
	m = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	CHECK(m != NULL);
	*(void **)&get = dlsym(m, IPC_OPS_SYMBOL);
	CHECK(get != NULL);
	start.state = &live;
	CHECK_IS(get()->reserve(), 0);
	CHECK_IS(get()->attach(&start, &why, &life), 0);
	CHECK_IS(get()->pub_create(life, "bare", 0, &why, &pub), 0);
	/* A SEVERE error ("chunk is too large"): aborts unless the hook is the one that iceoryx finds. */
	CHECK_IS(get()->loan(pub, 1 << 30, &slot), -EMSGSIZE);
	CHECK_IS(get()->loan(pub, 100, &slot), 0);
	CHECK(atomic_load(&live) == IPC_LIVE);
	*(void **)&key_create = dlsym(m, "pthread_key_create");
	CHECK(key_create != NULL);
	CHECK(key_create(&key, NULL) == 0);
	CHECK(key ==
	      0); /* the first key of that namespace: nobody in there made one, nor may collide with the host's */
}

TEST(the_rules_of_the_module_are_kept)
{
	child_run(module_rules);
}

static int setup(void **state)
{
	(void)state;
	return pipe(to_parent);
}

static int teardown(void **state)
{
	(void)state;
	roudi_kill(&roudi);
	return 0;
}

TEST_GROUP(setup, teardown)
