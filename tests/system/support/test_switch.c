/* SPDX-License-Identifier: Apache-2.0 */
/* The test network's switch between namespaces, with each kind of device. Thread: the test's, and the switch's. */
#include "support/test.h"

#include "err.h"
#include "fd.h"
#include "switch.h"
#include "timeutil.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PORT    4000 /* the namespaces are the test's own */
#define LOSSY   250  /* numbers that fit a byte */
#define ROUNDS  8
#define BULK    32768
#define SKIPPED 77

static struct net_switch *switch_with(enum switch_device device, uint64_t seed, unsigned ports)
{
	struct net_switch *s;

	if (switch_create(seed, device, &s) < 0) {
		printf("no switch here: %s\n", err_why());
		skip();
	}
	for (unsigned i = 0; i < ports; i++)
		assert_int_equal(switch_add_port(s), i);
	return s;
}

/* The same test with both kinds. */
#define TEST_BOTH(name) \
	static void name(enum switch_device device); \
	TEST(name##_by_tap) \
	{ \
		name(SWITCH_TAP); \
	} \
	TEST(name##_by_veth) \
	{ \
		name(SWITCH_VETH); \
	} \
	static void name(enum switch_device device)

static struct sockaddr_in address(unsigned port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(switch_address(port)),
	};
}

/* A socket of a port's host. */
static int unbound(struct net_switch *s, unsigned port, int domain, int type)
{
	int fd = switch_socket(s, port, domain, type);

	assert_ok(fd);
	return fd;
}

/* Bound to its address. */
static int bound(struct net_switch *s, unsigned port, int type)
{
	struct sockaddr_in a = address(port);
	int fd = unbound(s, port, AF_INET, type);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void send_to(int fd, unsigned port, const void *data, size_t len)
{
	struct sockaddr_in a = address(port);

	assert_int_equal(sendto(fd, data, len, 0, (struct sockaddr *)&a, sizeof(a)), len);
}

/* Adds the waiting datagrams: a socket's queue holds few. Returns how many are in list then. */
static unsigned collect(int fd, unsigned char *list, unsigned n, unsigned max)
{
	while (n < max && recv(fd, &list[n], 1, MSG_DONTWAIT) == 1)
		n++;
	return n;
}

static struct switch_port_counts counts(struct net_switch *s, unsigned port)
{
	struct switch_port_counts c;

	assert_ok(switch_port_counts(s, port, &c));
	return c;
}

static void set(struct net_switch *s, unsigned port, enum switch_direction d, struct switch_rules r)
{
	assert_ok(switch_set(s, port, d, &r));
}

/* ---- UDP ---- */

TEST_BOTH(udp_is_delayed_by_at_least_the_configured_time)
{
	struct net_switch *s = switch_with(device, 1, 2);
	int a = bound(s, 0, SOCK_DGRAM), b = bound(s, 1, SOCK_DGRAM);
	int64_t start;
	char byte;

	for (unsigned i = 0; i < 2; i++) {
		set(s, i, SWITCH_IN, (struct switch_rules){ .delay_dur_ns = 7 * NS_PER_MS });
		set(s, i, SWITCH_OUT,
		    (struct switch_rules){ .delay_dur_ns = 5 * NS_PER_MS, .jitter_dur_ns = NS_PER_MS });
	}
	start = mono_now_ns();
	for (unsigned i = 0; i < 5; i++) {
		send_to(a, 1, "x", 1);
		assert_int_equal(recv(b, &byte, 1, 0), 1);
		send_to(b, 0, "y", 1);
		assert_int_equal(recv(a, &byte, 1, 0), 1);
	}
	assert_true(mono_now_ns() - start >= 10 * 12 * NS_PER_MS);
	assert_int_equal(counts(s, 0).refused + counts(s, 1).refused, 0);
	close(a);
	close(b);
	switch_destroy(s);
}

/* Sends 250 datagrams through 20 % loss. Returns how many arrive, and which. */
static unsigned through_loss(enum switch_device device, uint64_t seed, unsigned char ret[LOSSY])
{
	struct net_switch *s = switch_with(device, seed, 2);
	int a = bound(s, 0, SOCK_DGRAM), b = bound(s, 1, SOCK_DGRAM);
	struct switch_counts c;
	unsigned n = 0;

	set(s, 0, SWITCH_IN, (struct switch_rules){ .loss = 0.2 });
	for (unsigned i = 0; i < LOSSY; i++) {
		unsigned char number = (unsigned char)i;

		send_to(a, 1, &number, 1);
		AWAIT(counts(s, 0).path[SWITCH_IN].in == i + 1);
		n = collect(b, ret, n, LOSSY);
	}
	c = counts(s, 0).path[SWITCH_IN];
	assert_in_range(c.lost, LOSSY / 5 - 32, LOSSY / 5 + 32); /* five deviations */
	AWAIT((n = collect(b, ret, n, LOSSY)) >= LOSSY - c.lost);
	assert_int_equal(n, LOSSY - c.lost);
	close(a);
	close(b);
	switch_destroy(s);
	return n;
}

TEST_BOTH(the_same_seed_loses_the_same_datagrams)
{
	unsigned char first[LOSSY], second[LOSSY], other[LOSSY];
	uint64_t seed = test_seed(5);
	unsigned n = through_loss(device, seed, first);

	assert_int_equal(through_loss(device, seed, second), n);
	assert_memory_equal(first, second, n);
	if (through_loss(device, seed + 1, other) == n)
		assert_memory_not_equal(first, other, n);
}

TEST_BOTH(duplicates_and_reorder_reach_the_program)
{
	struct net_switch *s = switch_with(device, test_seed(6), 2);
	int a = bound(s, 0, SOCK_DGRAM), b = bound(s, 1, SOCK_DGRAM);
	unsigned seen[LOSSY] = { 0 }, behind = 0, last = 0, n = 0;
	unsigned char list[2 * LOSSY + 1];
	struct switch_counts c;

	set(s, 1, SWITCH_OUT, (struct switch_rules){ .duplicate = 0.2, .reorder = 0.2, .hold_dur_ns = 2 * NS_PER_MS });
	for (unsigned i = 0; i < LOSSY; i++) {
		unsigned char number = (unsigned char)i;

		send_to(a, 1, &number, 1);
		pace_us(500);
		n = collect(b, list, n, sizeof(list));
	}
	AWAIT((c = counts(s, 1).path[SWITCH_OUT]).in == LOSSY && c.out == LOSSY + c.duplicated);
	AWAIT((n = collect(b, list, n, sizeof(list))) == c.out);
	for (unsigned i = 0; i < n; i++) {
		seen[list[i]]++;
		behind += list[i] < last;
		last = list[i] > last ? list[i] : last;
	}
	for (unsigned i = 0; i < LOSSY; i++)
		assert_in_range(seen[i], 1, 2);
	assert_true(c.duplicated > 0 && c.reordered > 0);
	assert_int_equal(behind, c.reordered);
	close(a);
	close(b);
	switch_destroy(s);
}

TEST_BOTH(a_unicast_reaches_only_its_port)
{
	struct net_switch *s = switch_with(device, 1, 3);
	int fd[3] = { bound(s, 0, SOCK_DGRAM), bound(s, 1, SOCK_DGRAM), bound(s, 2, SOCK_DGRAM) };
	char byte;

	send_to(fd[0], 1, "x", 1); /* no port knows yet where port 1 is */
	assert_int_equal(recv(fd[1], &byte, 1, 0), 1);
	AWAIT(counts(s, 2).path[SWITCH_OUT].out == 1);
	send_to(fd[1], 0, "y", 1);
	assert_int_equal(recv(fd[0], &byte, 1, 0), 1);
	for (unsigned i = 0; i < 20; i++) {
		send_to(fd[0], 1, "z", 1);
		assert_int_equal(recv(fd[1], &byte, 1, 0), 1);
	}
	assert_int_equal(counts(s, 2).path[SWITCH_OUT].in, 1);
	send_to(fd[2], 0, "2", 1);
	assert_int_equal(recv(fd[0], &byte, 1, 0), 1);
	assert_int_equal(byte, '2');
	assert_int_equal(recv(fd[2], &byte, 1, MSG_DONTWAIT), -1); /* it was not for that host */
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	switch_destroy(s);
}

TEST_BOTH(a_broadcast_reaches_all_other_ports)
{
	struct net_switch *s = switch_with(device, 1, 3);
	struct sockaddr_in all = address(254); /* 10.0.0.255 */
	int fd[3], yes = 1;
	char byte;

	for (unsigned i = 0; i < 3; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };

		fd[i] = unbound(s, i, AF_INET, SOCK_DGRAM);
		assert_int_equal(bind(fd[i], (struct sockaddr *)&any, sizeof(any)), 0);
	}
	assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes)), 0);
	assert_int_equal(sendto(fd[1], "b", 1, 0, (struct sockaddr *)&all, sizeof(all)), 1);
	assert_int_equal(recv(fd[0], &byte, 1, 0), 1);
	assert_int_equal(recv(fd[2], &byte, 1, 0), 1);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
	switch_destroy(s);
}

/* ---- IPv6 ---- */

static struct sockaddr_in6 address6(unsigned port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };

	a.sin6_addr.s6_addr[0] = 0xfd;
	a.sin6_addr.s6_addr[15] = (unsigned char)(port + 1);
	return a;
}

/* One was refused once, it is not known why; the kernel may get round to the device's carrier a second after it is up. */
static bool sends6(int fd, const struct sockaddr_in6 *to, int *told)
{
	if (sendto(fd, "6", 1, 0, (const struct sockaddr *)to, sizeof(*to)) == 1)
		return true;
	if (errno != *told)
		printf("IPv6, not yet: %s\n", strerror(*told = errno));
	return false;
}

/* Sent again and again: a kernel that hears of no neighbour for three seconds, as on a machine that stands, drops what waits for it. */
static bool arrives6(const int fd[2], const struct sockaddr_in6 *to, int *told)
{
	char byte;

	return sends6(fd[0], to, told) && recv(fd[1], &byte, 1, MSG_DONTWAIT) == 1;
}

TEST_BOTH(ipv6_is_carried)
{
	struct net_switch *s = switch_with(device, 1, 2);
	struct sockaddr_in6 a[2] = { address6(0), address6(1) };
	int fd[2], told = 0;

	for (unsigned i = 0; i < 2; i++) {
		fd[i] = unbound(s, i, AF_INET6, SOCK_DGRAM);
		if (bind(fd[i], (struct sockaddr *)&a[i], sizeof(a[i])) < 0) {
			printf("this kernel has no IPv6: %s\n", strerror(errno));
			switch_destroy(s);
			skip();
		}
	}
	AWAIT(arrives6(fd, &a[1], &told));
	assert_true(counts(s, 0).path[SWITCH_IN].in > 0);
	close(fd[0]);
	close(fd[1]);
	switch_destroy(s);
}

/* ---- TCP ---- */

static int listening(struct net_switch *s, unsigned port)
{
	int fd = bound(s, port, SOCK_STREAM);

	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* A child of ours: its exit code says where it failed. */
static void client(struct net_switch *s)
{
	struct sockaddr_in a = address(1);
	unsigned char bytes[BULK], back;
	int fd;

	if (switch_enter(s, 0) < 0)
		_exit(1);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		_exit(2);
	for (unsigned char i = 0; i < ROUNDS; i++)
		if (write(fd, &i, 1) != 1 || read(fd, &back, 1) != 1 || back != i)
			_exit(3);
	for (unsigned i = 0; i < BULK; i++)
		bytes[i] = (unsigned char)(i * 7 >> 3);
	_exit(write(fd, bytes, BULK) == BULK ? 0 : 4);
}

static void serve(int fd)
{
	unsigned char bytes[BULK];
	unsigned n = 0;
	ssize_t r;

	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_int_equal(read(fd, bytes, 1), 1);
		assert_int_equal(write(fd, bytes, 1), 1);
	}
	while ((r = read(fd, bytes + n, BULK - n)) > 0)
		n += (unsigned)r;
	assert_int_equal(n, BULK);
	for (unsigned i = 0; i < BULK; i++)
		assert_int_equal(bytes[i], (unsigned char)(i * 7 >> 3));
}

TEST_BOTH(tcp_delivers_everything_through_a_bad_network)
{
	static const struct switch_rules bad = {
		.delay_dur_ns = 10 * NS_PER_MS,
		.jitter_dur_ns = 5 * NS_PER_MS,
		.loss = 0.2,
		.duplicate = 0.05,
		.reorder = 0.1,
		.hold_dur_ns = 5 * NS_PER_MS,
		.rate_bytes_s = 1000000,
		.burst_bytes = 3000,
		.backlog_dur_ns = 50 * NS_PER_MS,
	};
	struct net_switch *s = switch_with(device, test_seed(7), 2);
	int listener = listening(s, 1), fd, status;
	struct switch_port_counts c;
	int64_t start = mono_now_ns();
	pid_t pid;

	set(s, 0, SWITCH_IN, bad);
	set(s, 0, SWITCH_OUT, bad);
	pid = fork();
	if (!pid)
		client(s);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	serve(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(mono_now_ns() - start >= (2 * ROUNDS + 3) * 10 * NS_PER_MS);
	c = counts(s, 0);
	assert_true(c.path[SWITCH_IN].lost > 0 && c.path[SWITCH_OUT].lost > 0);
	close(fd);
	close(listener);
	switch_destroy(s);
}

/* ---- partitions ---- */

TEST_BOTH(nothing_crosses_a_partition_until_it_is_healed)
{
	struct net_switch *s = switch_with(device, 1, 3);
	int listener = listening(s, 1), client = unbound(s, 0, AF_INET, SOCK_STREAM), server;
	int other = bound(s, 2, SOCK_DGRAM), udp = bound(s, 1, SOCK_DGRAM);
	struct sockaddr_in a = address(1);
	char byte;

	assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof(a)), 0);
	server = accept(listener, NULL, NULL);
	assert_ok(switch_partition(s, 1, 0, INT64_MAX));
	assert_int_equal(write(client, "x", 1), 1);
	AWAIT(counts(s, 1).parted >= 2); /* sent again, too */
	assert_int_equal(recv(server, &byte, 1, MSG_DONTWAIT), -1);
	send_to(other, 1, "o", 1); /* in the other part all is as it was */
	assert_int_equal(recv(udp, &byte, 1, 0), 1);
	switch_heal(s);
	assert_int_equal(read(server, &byte, 1), 1);
	assert_int_equal(byte, 'x');
	close(client);
	close(server);
	close(listener);
	close(other);
	close(udp);
	switch_destroy(s);
}

TEST_BOTH(a_partition_keeps_its_schedule)
{
	struct net_switch *s = switch_with(device, 1, 2);
	int a = bound(s, 0, SOCK_DGRAM), b = bound(s, 1, SOCK_DGRAM);
	int64_t begin = mono_now_ns() + 20 * NS_PER_MS, end;
	unsigned sent = 0, got = 0;
	char byte;

	assert_int_equal(switch_partition(s, 2, -1, 1), -EINVAL);
	assert_ok(switch_partition(s, 2, 20 * NS_PER_MS, INT64_MAX));
	do {
		send_to(a, 1, "x", 1);
		sent++;
		pace_us(1000);
	} while (!counts(s, 1).parted);
	assert_true(mono_now_ns() >= begin);
	AWAIT(counts(s, 0).path[SWITCH_IN].in == sent);
	AWAIT((got += recv(b, &byte, 1, MSG_DONTWAIT) == 1) == sent - counts(s, 1).parted);
	switch_heal(s);
	end = mono_now_ns() + 50 * NS_PER_MS;
	assert_ok(switch_partition(s, 2, 0, 50 * NS_PER_MS));
	do {
		send_to(a, 1, "x", 1);
		pace_us(1000);
	} while (recv(b, &byte, 1, MSG_DONTWAIT) < 0);
	assert_true(mono_now_ns() >= end);
	close(a);
	close(b);
	switch_destroy(s);
}

/* ---- its life, and what the machine refuses ---- */

static unsigned descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST_BOTH(nothing_is_left_of_a_switch)
{
	unsigned before = descriptors();

	for (unsigned i = 0; i < 3; i++) {
		struct net_switch *s = switch_with(device, 1, 2);
		int a = bound(s, 0, SOCK_DGRAM);

		set(s, 0, SWITCH_IN, (struct switch_rules){ .delay_dur_ns = 10 * NS_PER_S });
		send_to(a, 1, "x", 1);
		AWAIT(counts(s, 0).path[SWITCH_IN].in == 1);
		switch_destroy(s); /* while a frame waits */
		close(a);
	}
	switch_destroy(NULL);
	assert_int_equal(descriptors(), before);
}

TEST_BOTH(the_number_of_ports_is_bounded)
{
	struct net_switch *s = switch_with(device, 1, SWITCH_PORTS_MAX);
	int a = bound(s, 0, SOCK_DGRAM), b = bound(s, SWITCH_PORTS_MAX - 1, SOCK_DGRAM);
	struct switch_rules none = { 0 };
	struct switch_port_counts c;
	char byte;

	assert_int_equal(switch_add_port(s), -ENOSPC);
	assert_int_equal(switch_ns(s, SWITCH_PORTS_MAX), -ENOENT);
	assert_int_equal(switch_enter(s, SWITCH_PORTS_MAX), -ENOENT);
	assert_int_equal(switch_socket(s, SWITCH_PORTS_MAX, AF_INET, SOCK_DGRAM), -ENOENT);
	assert_int_equal(switch_set(s, SWITCH_PORTS_MAX, SWITCH_IN, &none), -ENOENT);
	assert_int_equal(switch_port_counts(s, SWITCH_PORTS_MAX, &c), -ENOENT);
	send_to(a, SWITCH_PORTS_MAX - 1, "x", 1);
	assert_int_equal(recv(b, &byte, 1, 0), 1);
	close(a);
	close(b);
	switch_destroy(s);
}

/* What body returns, run by a child, which may change what it stands on. */
static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int without_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	struct net_switch *s;

	if (syscall(SYS_capset, &head, none) < 0)
		return 1;
	if (switch_create(1, SWITCH_ANY, &s) != -EPERM)
		return 2;
	return strstr(err_why(), "run the test by tests/support/ns.sh") ? 0 : 3;
}

TEST(a_machine_without_namespaces_is_reported)
{
	assert_int_equal(in_child(without_capabilities), 0);
}

/* As in a plain container. */
static int without_tun(void)
{
	struct net_switch *s;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/dev/net", "tmpfs", 0, NULL) < 0)
		return SKIPPED;
	if (switch_create(1, SWITCH_TAP, &s) != -ENOENT)
		return 1;
	if (!strstr(err_why(), "/dev/net/tun"))
		return 2;
	if (switch_create(1, SWITCH_ANY, &s) < 0)
		return 3;
	if (switch_add_port(s) != 0)
		return 4;
	switch_destroy(s);
	return 0;
}

TEST(without_tap_devices_veth_pairs_are_used)
{
	int r;

	switch_destroy(switch_with(SWITCH_VETH, 1, 0));
	r = in_child(without_tun);
	if (r == SKIPPED)
		skip();
	assert_int_equal(r, 0);
}
