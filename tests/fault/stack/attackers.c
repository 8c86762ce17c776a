/* SPDX-License-Identifier: Apache-2.0 */
/* See attackers.h. Seeds: test_seed(51) and the number of the peer. */
#include "attackers.h"

#include "session.h"
#include "stack.h"

#include "fd.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HEAVY  200000 /* bytes of a call */
#define NOBODY 65534
#define HELD   40 /* connections that an attacker keeps */

static unsigned any(unsigned n)
{
	return (unsigned)rand() % n;
}

bool attack_as_nobody(void)
{
	return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
}

/* `number` tells its seed. Without rights, where it is to have none. */
static void begin(struct peer *p, bool nobody)
{
	srand((unsigned)(p->number ^ test_seed(51) * 1000003));
	signal(SIGPIPE, SIG_IGN);
	if (!nobody)
		return;
	PEER(p, attack_as_nobody());
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = STACK_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		fd = -1;
		pace_us(1000); /* the queue of those that wait is full */
	}
	return fd;
}

static void say(int fd, const char *text, size_t n)
{
	(void)!send(fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void hear(int fd)
{
	static char reply[65536];

	while (recv(fd, reply, sizeof(reply), MSG_DONTWAIT) > 0)
		continue;
}

#define METHODS 128
static char *methods[METHODS];    /* "io.simd.Control.Hello" */
static char *params[METHODS][24]; /* their names, NULL-terminated */
static unsigned n_methods;

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Names before a colon, up to "->". */
static void read_params(char **names, const char *at, const char *end)
{
	for (unsigned n = 0; at < end && n < 23; at++) {
		const char *begin = at;

		if (*at == '#') {
			at += strcspn(at, "\n");
			continue;
		}
		while (is_name(*at))
			at++;
		if (at > begin && *at == ':')
			names[n++] = strndup(begin, (size_t)(at - begin));
	}
}

/* All methods that the interface has, by its own description. */
void attack_read_methods(void)
{
	FILE *f = fopen("schemas/wire/io.simd.Control.varlink", "r");
	static char text[1 << 17];
	size_t size;

	assert_non_null(f);
	size = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	assert_true(size > 1000 && size < sizeof(text) - 1);
	for (const char *at = text; (at = strstr(at, "\nmethod ")) && n_methods < METHODS; n_methods++) {
		const char *end = strstr(at, "->");
		char name[128];

		at += strlen("\nmethod ");
		snprintf(name, sizeof(name), "io.simd.Control.%.*s", (int)strcspn(at, "("), at);
		methods[n_methods] = strdup(name);
		read_params(params[n_methods], at + strcspn(at, "("), end);
	}
	assert_in_range(n_methods, 30, METHODS - 1);
}

static size_t value(char *to, size_t room)
{
	static const char *const values[] = { "null",
					      "true",
					      "0",
					      "1",
					      "-1",
					      "4294967296",
					      "9223372036854775807",
					      "-9223372036854775808",
					      "1e308",
					      "0.5",
					      "\"\"",
					      "\"/t/1\"",
					      "\"car\"",
					      "\"none\"",
					      "\"client\"",
					      "\"../../etc/passwd\"",
					      "\"\\u0000\\u001b[2J\"",
					      "\"\xff\xfe\"",
					      "[]",
					      "{}",
					      "[[[[[[[[]]]]]]]]",
					      "{\"name\":\"a/B\",\"hash\":\"0123456789abcdef\"}",
					      "{\"name\":5,\"types\":[{}]}" };
	static const char longest[] = "\"%0*d\"";

	if (any(50) == 0)
		return (size_t)snprintf(to, room, longest, (int)(1 + any(20000)), 7);
	return (size_t)snprintf(to, room, "%s", values[any(sizeof(values) / sizeof(*values))]);
}

static size_t a_call(char *to, size_t room)
{
	unsigned m = any(n_methods);
	size_t n = (size_t)snprintf(to, room, "{\"method\":\"%s\"%s,\"parameters\":{", methods[m],
				    any(8) ? "" : ",\"more\":true");
	bool first = true;

	for (unsigned i = 0; params[m][i] && n + 30000 < room; i++) {
		if (any(6) == 0)
			continue;
		n += (size_t)snprintf(to + n, room - n, "%s\"%s\":", first ? "" : ",", params[m][i]);
		n += value(to + n, room - n);
		first = false;
	}
	return n + (size_t)snprintf(to + n, room - n, "}}") + 1;
}

/* A session, most of the time; a name that others have, too. */
static size_t a_hello(char *to, size_t room)
{
	static const char *const roles[] = { "client", "tool", "bridge", "source" };

	return (size_t)snprintf(to, room,
				"{\"method\":\"io.simd.Control.Hello\",\"parameters\":{\"name\":\"publisher\","
				"\"role\":\"%s\",\"abi\":%u}}",
				roles[any(4)], WIRE_ABI) +
	       1;
}

int attack_calls(struct peer *p)
{
	static char text[1 << 19];

	begin(p, true);
	while (!atomic_load(&p->stop)) {
		int fd = dial();

		if (fd < 0)
			continue;
		if (any(2))
			say(fd, text, a_hello(text, sizeof(text)));
		for (unsigned i = any(30); i > 0; i--) {
			say(fd, text, a_call(text, sizeof(text)));
			atomic_fetch_add(&p->offered, 1);
			if (any(3))
				hear(fd);
		}
		if (any(2))
			fd_wait(fd, POLLIN, 20 * NS_PER_MS);
		close(fd);
	}
	return 0;
}

/* Its own end of the connection, in a message of one byte. */
static void send_itself(int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { .iov_base = (char[]){ "{" }, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	(void)!sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int attack_connections(struct peer *p)
{
	static const char events[] = "{\"method\":\"io.simd.Control.Events\",\"more\":true}";
	static const char ask[] = "{\"method\":\"io.simd.Control.GetConfig\"}";
	int held[HELD], fd;
	char text[512];

	memset(held, 0xff, sizeof(held));
	begin(p, true);
	while (!atomic_load(&p->stop)) {
		unsigned i = any(HELD);

		if (held[i] >= 0)
			close(held[i]);
		held[i] = fd = dial();
		if (fd < 0)
			continue;
		atomic_fetch_add(&p->offered, 1);
		switch (any(6)) {
		case 0: /* a half */
			say(fd, ask, 1 + any(sizeof(ask) - 2));
			break;
		case 1:
			send_itself(fd);
			break;
		case 2: /* a session that never attaches */
			say(fd, text, a_hello(text, sizeof(text)));
			break;
		case 3: /* never reads */
			say(fd, text, a_hello(text, sizeof(text)));
			say(fd, events, sizeof(events));
			for (int n = 0; n < 200; n++)
				say(fd, ask, sizeof(ask));
			break;
		case 4:
			close(fd);
			held[i] = -1;
			break;
		default: /* says nothing */
			break;
		}
	}
	return 0;
}

/* Calls that take as long as they can, on many connections at once, without waiting for answers. */
int attack_heavy(struct peer *p)
{
	static char texts[3][HEAVY + 1];
	int fds[HELD + 20];

	begin(p, true);
	memset(fds, 0xff, sizeof(fds));
	for (unsigned i = 0; i < 3; i++) {
		static const char *const all[] = {
			"{\"method\":\"io.simd.Control.GetInfo\",\"parameters\":{\"x\":[",
			"{\"method\":\"io.simd.Control.GetInfo\",\"parameters\":{\"x\":[",
			"{\"method\":\"io.simd.Control.Advertise\",\"parameters\":{\"type\":["
		};
		char *at = stpcpy(texts[i], all[i]);

		while (at < texts[i] + HEAVY - 8)
			at = stpcpy(at, i == 0 ? "1," : i == 1 ? "{}," : "[[]],");
		strcpy(at, "1]}}");
	}
	while (!atomic_load(&p->stop)) {
		unsigned i = any(sizeof(fds) / sizeof(*fds));
		const char *text = texts[any(3)];

		if (fds[i] < 0)
			fds[i] = dial();
		else if (send(fds[i], text, strlen(text) + 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			fds[i] = fd_close(fds[i]);
		if (fds[i] >= 0 && any(8) == 0)
			hear(fds[i]);
		atomic_fetch_add(&p->offered, 1);
	}
	return 0;
}

#define OPEN 32 /* of each kind at a time */

static void a_name(char *to, size_t room)
{
	int n = snprintf(to, room, "/a/%u/", any(400));

	while (any(8) && n < SIM_CHANNEL_MAX - 4)
		n += snprintf(to + n, room - (size_t)n, "x%c", 'a' + (int)any(26));
	snprintf(to + n, room - (size_t)n, "x");
}

/* Publishers, subscribers and tokens that come and go, under ever other names. */
int attack_ports(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "busy");
	struct sim_publisher *pub[OPEN] = { NULL };
	struct sim_subscriber *sub[OPEN] = { NULL };
	struct sim_token *token[OPEN] = { NULL };
	char name[SIM_CHANNEL_MAX + 1];

	begin(p, false);
	while (!atomic_load(&p->stop)) {
		struct sim_publisher_options o = { .size = sizeof(o),
						   .max_body = 1 + any(1000),
						   .flags = any(2) ? SIM_PUB_LOCAL : 0 };
		unsigned i = any(OPEN);

		a_name(name, sizeof(name));
		switch (any(3)) {
		case 0:
			sim_publisher_destroy(pub[i]);
			if (sim_advertise(c, name, &sim_Ultrasonic_type, &o, &pub[i]) < 0)
				pub[i] = NULL;
			break;
		case 1:
			sim_subscriber_destroy(sub[i]);
			if (sim_subscribe(c, name, NULL, NULL, &sub[i]) < 0)
				sub[i] = NULL;
			break;
		default:
			sim_token_close(token[i]);
			if (sim_token_open(c, name, &token[i]) < 0)
				token[i] = NULL;
		}
		atomic_fetch_add(&p->offered, 1);
	}
	return 0;
}

int attack_scribbles(struct peer *p)
{
	struct session s;

	begin(p, false);
	while (!atomic_load(&p->stop)) {
		unsigned char *d, *c;

		if (session_open("scribbler", &s) < 0)
			continue;
		d = (unsigned char *)s.dispatch;
		c = (unsigned char *)s.counters;
		for (int i = 0; i < 20000; i++) {
			d[(size_t)rand() % sizeof(*s.dispatch)] = (unsigned char)rand();
			c[(size_t)rand() % sizeof(*s.counters)] = (unsigned char)rand();
			atomic_fetch_add(&p->offered, 1);
			if (i % 64 == 0)
				pace_us(500); /* others have a turn between */
		}
		session_close(&s);
	}
	return 0;
}

/* Random bytes, and words that are odd as a size or as an offset. */
static void spoil(unsigned char *at, size_t size)
{
	static const uint64_t odd[] = { 0, UINT64_MAX, 0x7fffffff, 0xffffffff, (uint64_t)1 << 40, 1 << 16 };

	for (unsigned i = any(4); i > 0; i--)
		memcpy(at + any((unsigned)size / 8) * 8, &odd[any(6)], 8);
	for (unsigned i = any(8); i > 0; i--)
		at[any((unsigned)size)] = (unsigned char)rand();
}

#define LIE_BYTES 256

/*
 * Bodies that are invalid from the start, and slots whose headers and bodies change while bridges read them. The
 * attacker keeps each slot until it has done so: the next message in that slot is not its own, and is for
 * attack_recycled().
 */
int attack_bodies(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "liar");
	struct sim_subscriber_options so = { .size = sizeof(so), .depth = 4 };
	const struct sim_message *got;
	struct sim_publisher *pub;
	struct sim_subscriber *sub;
	struct sim_slot *loan;

	begin(p, false);
	pub = peer_advertise(p, c, "/e/x", LIE_BYTES, SIM_PUB_NO_WAIT);
	PEER(p, sim_subscribe(c, "/e/x", NULL, &so, &sub) == 0);
	while (!atomic_load(&p->stop)) {
		if (sim_loan(pub, LIE_BYTES, &loan) < 0) {
			pace_us(100);
			continue;
		}
		memset(sim_slot_body_mut(loan), rand(), LIE_BYTES);
		spoil(sim_slot_body_mut(loan), LIE_BYTES);
		(void)!sim_try_queue(pub, loan, NULL, NULL, NULL);
		if (sim_take(sub, &got) < 0)
			continue;
		for (unsigned i = any(50); i > 0; i--)
			spoil((unsigned char *)(uintptr_t)got->body - sizeof(struct sim_slot),
			      sizeof(struct sim_slot) + LIE_BYTES);
		sim_release(sub, got);
		atomic_fetch_add(&p->offered, 1);
	}
	return 0;
}

/* A packet of the corpus, or of none, with some bytes changed. */
static size_t a_packet(unsigned char *to, size_t room, const char *dir)
{
	static char names[256][256];
	static unsigned n_names;
	size_t n = 0;
	FILE *f;
	DIR *d;

	if (!n_names && (d = opendir(dir))) {
		for (const struct dirent *e; (e = readdir(d)) && n_names < 256;)
			if (e->d_name[0] != '.')
				snprintf(names[n_names++], sizeof(names[0]), "%s/%.100s", dir, e->d_name);
		closedir(d);
	}
	f = n_names ? fopen(names[any(n_names)], "r") : NULL;
	if (f) {
		(void)fgetc(f); /* the fuzzer's choice */
		n = fread(to, 1, room, f);
		fclose(f);
	}
	if (n < 20)
		for (n = 20 + any(1000); any(4) == 0;)
			to[any((unsigned)n)] = (unsigned char)rand();
	if (any(2))
		memcpy(to, "RTPS\x02\x01\x01\x10", 8);
	for (unsigned i = any(10); i > 0; i--)
		to[any((unsigned)n)] = (unsigned char)rand();
	return n;
}

/* From any port, 0 as well, which no socket of its own can have. */
static void send_raw(int raw, struct sockaddr_in *a, const unsigned char *data, size_t n)
{
	struct {
		uint16_t from, to, size, sum;
		unsigned char data[2048];
	} udp = { .from = any(2) ? 0 : (uint16_t)rand(), .to = a->sin_port, .size = htons((uint16_t)(8 + n)) };

	memcpy(udp.data, data, n);
	a->sin_port = 0;
	(void)!sendto(raw, &udp, 8 + n, MSG_DONTWAIT, (struct sockaddr *)a, sizeof(*a));
}

int attack_packets(struct peer *p)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_UDP); /* -1: not root */
	unsigned char packet[2048] = { 0 };

	begin(p, true);
	PEER(p, fd >= 0);
	while (!atomic_load(&p->stop)) {
		struct sockaddr_in a = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
					 .sin_port = htons((uint16_t)(7400 + any(30))) };
		size_t n = a_packet(packet, sizeof(packet), "tests/fuzz/corpus/rtps");

		if (raw >= 0 && any(4) == 0)
			send_raw(raw, &a, packet, n);
		else
			(void)!sendto(fd, packet, n, MSG_DONTWAIT, (struct sockaddr *)&a, sizeof(a));
		atomic_fetch_add(&p->offered, 1);
		if (any(16) == 0)
			pace_us(200);
	}
	return 0;
}

/* Slots that it has released, which are others' by now. */
int attack_recycled(struct peer *p)
{
	unsigned char *slots[64] = { NULL };
	struct sim_client *c = peer_connect(p, "recycler");
	struct sim_subscriber *sub;
	const struct sim_message *got;
	struct sim_publisher *pub;
	struct sim_slot *loan;

	begin(p, false);
	pub = peer_advertise(p, c, "/e/x", LIE_BYTES, SIM_PUB_NO_WAIT);
	PEER(p, sim_subscribe(c, "/e/x", NULL, NULL, &sub) == 0);
	while (!atomic_load(&p->stop)) {
		unsigned char *at = slots[any(64)];

		if (at && any(20) == 0)
			spoil(at, sizeof(struct sim_slot));
		pace_us(at ? 20 : 0);
		if (sim_loan(pub, LIE_BYTES, &loan) == 0)
			(void)!sim_try_queue(pub, loan, NULL, NULL, NULL);
		if (sim_take(sub, &got) < 0)
			continue;
		slots[any(64)] = (unsigned char *)(uintptr_t)got->body - sizeof(struct sim_slot);
		sim_release(sub, got);
		atomic_fetch_add(&p->offered, 1);
	}
	return 0;
}

/* Does what clients do, until it is killed in the middle of it. */
int attack_victim(struct peer *p)
{
	struct sim_client *c = peer_connect(p, "victim");
	struct sim_publisher *pub;
	struct sim_subscriber *sub;
	struct sim_slot *loan;
	const struct sim_message *got;

	begin(p, false);
	pub = peer_advertise(p, c, "/e/v", LIE_BYTES, SIM_PUB_NO_WAIT);
	PEER(p, sim_subscribe(c, "/e/v", NULL, NULL, &sub) == 0);
	while (!atomic_load(&p->stop)) {
		if (sim_loan(pub, LIE_BYTES, &loan) == 0)
			(void)!sim_try_queue(pub, loan, NULL, NULL, NULL);
		if (sim_take(sub, &got) == 0)
			sim_release(sub, got);
		else
			pace_us(50);
		atomic_fetch_add(&p->offered, 1);
	}
	return 0;
}
