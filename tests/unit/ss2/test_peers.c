/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of sim-ss2, libzmq's own and hostile ones, and what becomes of them when the process that serves them is killed: at
 * each of its system calls, and between two instructions.
 */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <zmq.h>

#include "err.h"
#include "fd.h"
#include "tools/sources/ss2/listen.h"
#include "tools/sources/ss2/peers.h"
#include "tools/sources/ss2/store.h"

static struct {
	struct peers p;
	int pair[2]; /* as simd has it */
	void *zmq;
	void *client[4]; /* libzmq's; one that a failed test leaves open would keep the context from ending */
} s;

/* ---- one that serves ---- */

static void offer_keep(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%d,%d", dup(s.pair[0]), dup(s.pair[1]));
	setenv("SIMD_KEEP", text, 1);
}

static void start(void)
{
	offer_keep();
	assert_int_equal(peers_open(&s.p), 0);
	assert_int_equal(peers_listen(&s.p, "127.0.0.1", 0), 0);
}

/* A process that is killed closes its descriptors, and says nothing any more. */
static void kill_it(void)
{
	for (int i = 0; i < PEERS_MAX; i++)
		s.p.peer[i].fd = fd_close(s.p.peer[i].fd);
	peers_close(&s.p);
}

static void restart(void)
{
	kill_it();
	start();
	assert_true(s.p.taken);
}

static int port(void)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(s.p.listen_fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

static void look(void)
{
	struct pollfd p[PEERS_POLL_MAX];
	unsigned n = peers_poll(&s.p, p);

	assert_true(poll(p, n, 0) >= 0);
	peers_look(&s.p, p, n);
}

/* Look; answer a request, if one is there, with itself and how many parts it had. True: there was one. */
static bool serve(void)
{
	static uint8_t answer[ZMTP_REQUEST_MAX + 8];
	struct peers_request q;

	look();
	if (peers_next(&s.p, &q) < 0)
		return false;
	answer[0] = (uint8_t)('0' + q.parts);
	memcpy(answer + 1, q.data, q.len);
	peers_answer(&s.p, answer, q.len + 1);
	return true;
}

static void leave(void *c)
{
	for (int i = 0; c && i < 4; i++) {
		if (s.client[i] == c)
			s.client[i] = NULL;
	}
	if (c)
		zmq_close(c);
}

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(fd_packet_pair(s.pair, SOCK_NONBLOCK), 0);
	s.zmq = zmq_ctx_new();
	start();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		leave(s.client[i]);
	zmq_ctx_term(s.zmq);
	peers_close(&s.p);
	fd_close(s.pair[0]);
	fd_close(s.pair[1]);
	return 0;
}

static unsigned connected(void)
{
	unsigned n = 0;

	for (int i = 0; i < PEERS_MAX; i++)
		n += s.p.peer[i].fd >= 0;
	return n;
}

/* ---- libzmq ---- */

/* With an option of libzmq's, 0: none. */
static void *client_with(int type, int at, int option, int value)
{
	void **c = s.client;
	char endpoint[64];
	int linger = 0, timeout_ms = PATIENT_MS;

	while (*c)
		c++;
	*c = zmq_socket(s.zmq, type);
	assert_non_null(*c);
	zmq_setsockopt(*c, ZMQ_LINGER, &linger, sizeof(linger));
	zmq_setsockopt(*c, ZMQ_HEARTBEAT_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
	if (option)
		zmq_setsockopt(*c, option, &value, sizeof(value));
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%d", at);
	assert_int_equal(zmq_connect(*c, endpoint), 0);
	return *c;
}

static void *client(int type)
{
	return client_with(type, port(), 0, 0);
}

static void tell(void *c, const char *text, int flags)
{
	assert_int_equal(zmq_send(c, text, strlen(text), flags), (int)strlen(text));
}

static bool hears(void *c, char *ret, size_t size)
{
	int n = zmq_recv(c, ret, size - 1, ZMQ_DONTWAIT);

	ret[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static void expect(void *c, const char *want)
{
	char got[256];

	AWAIT((serve(), hears(c, got, sizeof(got))));
	assert_string_equal(got, want);
}

TEST_WITH(a_req_socket_is_answered, set_up, tear_down)
{
	void *c = client(ZMQ_REQ);

	tell(c, "hello", 0);
	expect(c, "1hello");
	tell(c, "", 0);
	expect(c, "1");
	tell(c, "two", ZMQ_SNDMORE);
	tell(c, "parts", 0);
	expect(c, "2two");
	leave(c);
	AWAIT((look(), connected() == 0));
}

TEST_WITH(answers_are_returned_in_their_envelopes, set_up, tear_down)
{
	void *req = client_with(ZMQ_REQ, port(), ZMQ_REQ_CORRELATE, 1), *dealer = client(ZMQ_DEALER);
	char got[64];

	tell(req, "hello", 0);
	expect(req, "1hello");
	tell(dealer, "id", ZMQ_SNDMORE);
	tell(dealer, "", ZMQ_SNDMORE);
	tell(dealer, "one", 0);
	tell(dealer, "", ZMQ_SNDMORE);
	tell(dealer, "two", 0);
	expect(dealer, "id");
	expect(dealer, "");
	expect(dealer, "1one");
	expect(dealer, "");
	expect(dealer, "1two");
	assert_false(hears(dealer, got, sizeof(got)));
	leave(req);
	leave(dealer);
}

TEST_WITH(a_ping_is_answered, set_up, tear_down)
{
	void *c = client_with(ZMQ_REQ, port(), ZMQ_HEARTBEAT_IVL, 5);
	uint64_t before;

	tell(c, "hello", 0);
	expect(c, "1hello");
	before = s.p.peer[0].sent;
	AWAIT((serve(), s.p.peer[0].sent >= before + 3 * 7)); /* three PONGs */
	tell(c, "still", 0);
	expect(c, "1still");
	leave(c);
}

TEST_WITH(the_largest_request_is_answered_and_a_larger_one_refused, set_up, tear_down)
{
	size_t n = ZMTP_REQUEST_MAX - 11; /* with its frames */
	char *big = malloc(n + 1), got[64];
	void *c = client(ZMQ_REQ);
	zmq_msg_t m;

	memset(big, 'x', n + 1);
	assert_int_equal(zmq_send(c, big, n, 0), (int)n);
	zmq_msg_init(&m);
	AWAIT((serve(), zmq_msg_recv(&m, c, ZMQ_DONTWAIT) >= 0));
	assert_int_equal(zmq_msg_size(&m), n + 1);
	zmq_msg_close(&m);
	assert_int_equal(zmq_send(c, big, n + 1, 0), (int)n + 1);
	AWAIT((serve(), connected() == 0));
	assert_false(hears(c, got, sizeof(got)));
	leave(c);
	free(big);
}

/* ---- where it listens ---- */

static int listen_and_close(const char *bind_to)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char name[PEERS_NAME_MAX];
	int fd = listen_at(bind_to, 0);

	if (fd < 0)
		return fd;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	listen_name(&at, name, sizeof(name));
	print_message("%s: %s\n", bind_to, name);
	assert_true(len > 0 && *name);
	fd_close(fd);
	return at.ss_family;
}

TEST(the_server_listens_at_addresses_and_interfaces)
{
	int six = listen_and_close("::1");

	assert_int_equal(listen_and_close("127.0.0.1"), AF_INET);
	assert_int_equal(listen_and_close("*"), AF_INET);
	assert_int_equal(listen_and_close("lo"), AF_INET);
	assert_true(six == AF_INET6 || six == -EADDRNOTAVAIL || six == -EAFNOSUPPORT); /* a machine may have none */
	assert_int_equal(listen_at("no such interface", 0), -ENODEV);
	assert_non_null(strstr(err_why(), "--bind: \"no such interface\""));
}

TEST_WITH(a_port_in_use_is_named, set_up, tear_down)
{
	assert_int_equal(listen_at("127.0.0.1", port()), -EADDRINUSE);
	assert_non_null(strstr(err_why(), "is in use by another program; choose another with --port"));
}

/* ---- hostile clients ---- */

static int raw(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons((uint16_t)port()) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(fd_set_nonblock(fd, true), 0);
	return fd;
}

static void put(int fd, const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n = send(fd, (const uint8_t *)bytes + at, len - at, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			look();
		else if (n < 0)
			return; /* it has been cut off */
		else
			at += (size_t)n;
	}
}

/* Its last byte is none of it. */
static const char READY[] = "\4\x19\5READY\13Socket-Type\0\0\0\3REQ";

static int raw_open(void)
{
	uint8_t greeting[ZMTP_GREETING];
	int fd = raw();

	zmtp_greeting(greeting);
	put(fd, greeting, sizeof(greeting));
	put(fd, READY, sizeof(READY) - 1);
	return fd;
}

static size_t take(int fd, uint8_t *ret, size_t size)
{
	ssize_t n = recv(fd, ret, size, MSG_DONTWAIT);

	return n > 0 ? (size_t)n : 0;
}

/* All that it gets until the far end closes. */
static bool is_cut_off(int fd)
{
	uint8_t bytes[256];
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		continue;
	return n == 0 || errno == ECONNRESET || errno == EPIPE;
}

/* Memory of all connections together. */
static size_t memory(void)
{
	struct stat st;

	assert_int_equal(fstat(s.p.memory.fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

TEST_WITH(a_client_that_breaks_the_protocol_is_disconnected, set_up, tear_down)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
#define BAD(text) { text, sizeof(text) - 1 }
		BAD("\0\3abc"),                            /* it asks for nothing in no envelope */
		BAD("\2\x7f\xff\xff\xff\xff\xff\xff\xff"), /* of 9 EB */
		BAD("\xff"),                               /* flags */
		BAD("\4\6\5ERROR"),
		BAD("\1\0\4\7\4PING\0\1"),
	};
	void *c = client(ZMQ_REQ);
	int fd;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fd = raw_open();
		put(fd, bad[i].bytes, bad[i].len);
		AWAIT((serve(), is_cut_off(fd)));
		close(fd);
	}
	fd = raw();
	put(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	AWAIT((serve(), is_cut_off(fd)));
	close(fd);
	tell(c, "hello", 0);
	expect(c, "1hello");
	leave(c);
}

TEST_WITH(endless_message_parts_take_no_more_memory_than_one_request, set_up, tear_down)
{
	static uint8_t parts[ZMTP_REQUEST_MAX];
	int fd = raw_open();

	for (size_t i = 0; i + 2 <= sizeof(parts); i += 2)
		parts[i] = 1;
	put(fd, parts, sizeof(parts));
	put(fd, parts, 100);
	assert_true(memory() <= 2 * PEERS_RING);
	AWAIT((serve(), is_cut_off(fd)));
	AWAIT((look(), memory() <= 8192)); /* the memory is freed */
	close(fd);
}

TEST_WITH(a_request_may_arrive_byte_by_byte, set_up, tear_down)
{
	static const char request[] = "\1\0\0\5hello";
	uint8_t greeting[ZMTP_GREETING], got[256];
	int fd = raw();
	size_t n = 0;

	zmtp_greeting(greeting);
	for (size_t i = 0; i < sizeof(greeting); i++, look())
		put(fd, greeting + i, 1);
	for (size_t i = 0; i < sizeof(READY) - 1; i++, (void)serve())
		put(fd, READY + i, 1);
	for (size_t i = 0; i < sizeof(request) - 1; i++, (void)serve())
		put(fd, request + i, 1);
	AWAIT((serve(), n += take(fd, got + n, sizeof(got) - n), n >= 64 + 27 + 10));
	assert_memory_equal(got + 64 + 27, "\1\0\0\0061hello", 10);
	close(fd);
}

/* Its answers wait here, and so do its requests, up to a bound. */
TEST_WITH(requests_of_a_client_that_reads_no_answers_are_not_read, set_up, tear_down)
{
	size_t len = 300000, sent = 0;
	char *request = calloc(1, len + 11);
	unsigned answered = 0, idle = 0;
	int fd = raw_open(), small = 4096;

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	memcpy(request, "\1\0\2\0\0\0\0\0\4\x93\xe0", 11); /* 300000 bytes */
	while (idle < 1000) {
		ssize_t n = send(fd, request + sent, len + 11 - sent, MSG_NOSIGNAL);

		sent = n > 0 ? (sent + (size_t)n) % (len + 11) : sent;
		idle = n > 0 ? 0 : idle + 1;
		if (serve()) {
			answered++;
			idle = 0;
		}
		assert_true(memory() <= 4096 + 2 * PEERS_RING);
	}
	assert_true(answered > 0);
	close(fd);
	AWAIT((look(), connected() == 0));
	free(request);
}

TEST_WITH(a_hundred_connections_do_not_displace_the_protected_one, set_up, tear_down)
{
	void *c = client(ZMQ_REQ);
	int fd[100];
	uint64_t id;

	tell(c, "hello", 0);
	expect(c, "1hello");
	peers_spare(&s.p, s.p.peer[0].name);
	id = peers_memory_line(&s.p.memory, 0).id;
	for (int i = 0; i < 100; i++) {
		fd[i] = i < 50 ? raw() : raw_open();
		look();
		(void)serve();
		assert_true(connected() <= PEERS_MAX);
	}
	AWAIT((look(), is_cut_off(fd[0])));
	assert_int_equal(peers_memory_line(&s.p.memory, 0).id, id); /* or it would only have connected again */
	tell(c, "again", 0);
	expect(c, "1again");
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	AWAIT((look(), connected() == 1));
	leave(c);
}

TEST_WITH(a_connection_without_a_handshake_is_closed_in_time, set_up, tear_down)
{
	int fd = raw(), open = raw_open();

	AWAIT((serve(), connected() == 2));
	AWAIT((serve(), peers_memory_line(&s.p.memory, 1).phase == PEERS_OPEN));
	for (int i = 0; i < 2; i++)
		s.p.peer[i].met_mono_ns -= INT64_C(11000000000);
	look();
	assert_true(is_cut_off(fd));
	assert_int_equal(connected(), 1);
	close(fd);
	close(open);
}

/* ---- the next process ---- */

TEST_WITH(the_next_process_continues_a_connection_at_any_byte, set_up, tear_down)
{
	static const char bytes[] = "\1\0\0\5hello\1\0\0\3you";
	uint8_t greeting[ZMTP_GREETING], got[256];
	char stream[256];
	size_t len = 0, n = 0;
	int fd = raw();

	zmtp_greeting(greeting);
	memcpy(stream, greeting, ZMTP_GREETING);
	len = ZMTP_GREETING;
	memcpy(stream + len, READY, sizeof(READY) - 1);
	len += sizeof(READY) - 1;
	memcpy(stream + len, bytes, sizeof(bytes) - 1);
	len += sizeof(bytes) - 1;
	AWAIT((look(), connected() == 1));
	for (size_t i = 0; i < len; i++) {
		put(fd, stream + i, 1);
		look();
		restart();
		assert_int_equal(connected(), 1);
		while (serve())
			restart();
	}
	AWAIT((serve(), n += take(fd, got + n, sizeof(got) - n), n >= 64 + 27 + 10 + 8));
	assert_int_equal(n, 64 + 27 + 10 + 8);
	assert_memory_equal(got + 64 + 27, "\1\0\0\0061hello\1\0\0\0041you", 18);
	close(fd);
}

/* Most of it waits in this process's memory when it is killed. */
TEST_WITH(a_partly_sent_answer_arrives_completely, set_up, tear_down)
{
	size_t n = ZMTP_REQUEST_MAX - 11;
	char *big = malloc(n);
	void *c = client(ZMQ_REQ);
	unsigned restarts = 0;
	zmq_msg_t m;

	for (size_t i = 0; i < n; i++)
		big[i] = (char)(i * 7 + i / 256);
	assert_int_equal(zmq_send(c, big, n, 0), (int)n);
	zmq_msg_init(&m);
	while (zmq_msg_recv(&m, c, ZMQ_DONTWAIT) < 0) {
		(void)serve();
		if (restarts++ < 50)
			restart();
	}
	assert_int_equal(zmq_msg_size(&m), n + 1);
	assert_memory_equal((char *)zmq_msg_data(&m) + 1, big, n);
	zmq_msg_close(&m);
	leave(c);
	free(big);
}

TEST_WITH(a_client_that_connects_between_two_processes_is_served_by_the_next, set_up, tear_down)
{
	int at = port();
	void *c;

	kill_it();
	c = client_with(ZMQ_REQ, at, 0, 0);
	tell(c, "hello", 0);
	start();
	assert_int_equal(port(), at);
	expect(c, "1hello");
	leave(c);
}

TEST_WITH(a_client_that_disconnected_between_two_processes_is_removed, set_up, tear_down)
{
	int fd = raw_open(), stays = raw_open();

	AWAIT((serve(), connected() == 2));
	kill_it();
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger)), 0);
	close(fd); /* with a reset */
	start();
	assert_int_equal(connected(), 1);
	close(stays);
	AWAIT((look(), connected() == 0));
}

/* simd closes the pair when there is no next one. */
TEST_WITH(connections_are_handed_over_after_an_orderly_end_too, set_up, tear_down)
{
	void *c = client(ZMQ_REQ);

	tell(c, "hello", 0);
	AWAIT((look(), connected() == 1));
	peers_close(&s.p);
	start();
	assert_true(s.p.taken);
	expect(c, "1hello");
	leave(c);
}

/* Whatever else the socket pair was used for. */
TEST_WITH(invalid_handed_over_state_is_not_used, set_up, tear_down)
{
	struct keep_set set = { .word = { 1, 2 }, .fd = { s.pair[0], s.pair[1] }, .n = 2 };
	struct keep k = { .in = s.pair[0], .out = s.pair[1] };

	peers_close(&s.p);
	keep_clear(&k);
	assert_int_equal(keep_put(&k, &set), 0);
	start();
	assert_false(s.p.taken);
	peers_close(&s.p);
	keep_clear(&k);
	assert_int_equal(fd_send(s.pair[0], "x", 1, NULL, 0, 0), 1);
	start();
	assert_false(s.p.taken);
	restart();
}

TEST_WITH(each_start_of_a_request_is_counted, set_up, tear_down)
{
	void *c = client(ZMQ_REQ);
	struct peers_request q;

	tell(c, "hello", 0);
	for (unsigned tries = 1; tries < 4; tries++) {
		AWAIT((look(), peers_next(&s.p, &q) == 0));
		assert_int_equal(q.tries, tries);
		assert_int_equal(q.number, 1);
		restart();
	}
	expect(c, "1hello");
	assert_int_equal(peers_answered(&s.p), 1);
	tell(c, "next", 0);
	AWAIT((look(), peers_next(&s.p, &q) == 0));
	assert_int_equal(q.tries, 1);
	assert_int_equal(q.number, 2);
	peers_answer(&s.p, "", 0);
	leave(c);
}

/* ---- killed, really ---- */

/* Its count is restored when it is killed in the middle. */
struct counted {
	uint64_t first, second;
};

static void count(struct store *store, const struct peers_request *q)
{
	struct counted *n = store->more;
	char answer[64];

	store_begin(store, q->number);
	store_move(store);
	n->first++;
	n->second = n->first;
	snprintf(answer, sizeof(answer), "%.*s:%llu", (int)q->len, (const char *)q->data,
		 (unsigned long long)n->second);
	peers_answer(&s.p, answer, strlen(answer));
	store_end(store);
}

_Noreturn static void life(const char *path, bool traced)
{
	struct peers_request q;
	struct store store;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (traced) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
	}
	offer_keep();
	if (peers_open(&s.p) < 0 || !s.p.taken || store_open(&store, path, sizeof(struct counted)) < 0)
		_exit(1);
	(void)store_settle(&store, peers_answered(&s.p));
	for (;;) {
		struct pollfd p[PEERS_POLL_MAX];
		unsigned n;

		while (peers_next(&s.p, &q) == 0)
			count(&store, &q);
		n = peers_poll(&s.p, p);
		if (poll(p, n, 1) > 0) /* the tracing process wants it to continue */
			peers_look(&s.p, p, n);
	}
}

static pid_t start_life(const char *path, bool traced)
{
	pid_t pid = fork();

	if (pid == 0)
		life(path, traced);
	assert_true(pid > 0);
	if (traced) {
		int status;

		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD), 0);
	}
	return pid;
}

static void end_life(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	do
		assert_int_equal(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status));
	assert_true(WIFSIGNALED(status));
}

/* On to its next system call, or out of it. */
static void go(pid_t pid, enum __ptrace_request how)
{
	int status;

	assert_int_equal(ptrace(how, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
}

/* Until it has left its first call of that number. */
static void go_behind(pid_t pid, unsigned long nr)
{
	struct __ptrace_syscall_info i = { 0 };

	do {
		go(pid, PTRACE_SYSCALL);
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, (void *)sizeof(i), &i) > 0);
	} while (i.op != PTRACE_SYSCALL_INFO_ENTRY || i.entry.nr != nr);
	go(pid, PTRACE_SYSCALL);
}

struct victims {
	char path[TEST_PATH_MAX];
	void *c;
	unsigned asked;
};

/* A request, and a process that is to be killed with it. */
static pid_t begin_victim(struct victims *v)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", ++v->asked);
	tell(v->c, text, 0);
	return start_life(v->path, true);
}

/* It is answered once, by whichever process: the number says how often any of them was executed. */
static void end_victim(struct victims *v, pid_t pid)
{
	char want[32], got[64];
	pid_t next;

	end_life(pid);
	next = start_life(v->path, false);
	AWAIT(hears(v->c, got, sizeof(got)));
	snprintf(want, sizeof(want), "%u:%u", v->asked, v->asked);
	assert_string_equal(got, want);
	end_life(next);
}

static void begin_victims(struct victims *v)
{
	*v = (struct victims){ .c = client(ZMQ_REQ) };
	test_path(v->path, "store");
	AWAIT((serve(), connected() == 1 && peers_memory_line(&s.p.memory, 0).phase == PEERS_OPEN));
	kill_it();
}

static void end_victims(struct victims *v)
{
	leave(v->c);
	assert_int_equal(unlink(v->path), 0);
	start();
}

/* From its first one, when it takes over, to those behind the answer. */
TEST_WITH(a_kill_at_each_system_call_blocks_no_client, set_up, tear_down)
{
	struct victims v;

	begin_victims(&v);
	for (int calls = 1; calls < 400; calls += calls < 200 ? 7 : 1) {
		pid_t pid = begin_victim(&v);

		for (int k = 0; k < calls && !zmq_poll(&(zmq_pollitem_t){ .socket = v.c, .events = ZMQ_POLLIN }, 1, 0);
		     k++)
			go(pid, PTRACE_SYSCALL);
		end_victim(&v, pid);
	}
	end_victims(&v);
}

/* From where it has the request to where its answer leaves. */
TEST_WITH(a_kill_between_any_two_instructions_blocks_no_client, set_up, tear_down)
{
	struct victims v;

	begin_victims(&v);
	for (int i = 0; i < 100; i++) {
		pid_t pid = begin_victim(&v);

		go_behind(pid, SYS_recvfrom);
		for (int k = 0; k < i * 37; k++)
			go(pid, PTRACE_SINGLESTEP);
		end_victim(&v, pid);
	}
	end_victims(&v);
}
