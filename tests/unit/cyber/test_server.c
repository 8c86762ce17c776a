/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cyber_bridge that tests play: messages that a client does not read wait for it up to a cap, then frames are
 * dropped and the connection stays.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/cyber_server.h"
#include "support/wait.h"

#define CAP     (4u << 20)
#define MESSAGE 100000u

static struct cyber_server *server;
static int fd;

static int start(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static const char ask[] = "\x02\x02\0\0\0/a\x01\0\0\0T";

	(void)state;
	server = cyber_server_create(0, &(struct cyber_server_how){ .pending_max = CAP });
	assert_non_null(server);
	to.sin_port = htons((uint16_t)cyber_server_port(server));
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, ask, sizeof(ask) - 1), sizeof(ask) - 1);
	AWAIT(cyber_server_reader(server, "/a"));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	close(fd);
	cyber_server_destroy(server);
	return 0;
}

TEST_WITH(unread_messages_wait_up_to_a_bound, start, stop)
{
	static uint8_t message[MESSAGE], got[65536];
	uint64_t sent, taken;
	size_t n = 0, want;

	for (int i = 0; i < 10000 && !cyber_server_dropped(server); i++)
		cyber_server_publish(server, "/a", message, MESSAGE);
	assert_int_equal(cyber_server_dropped(server), 1);
	sent = cyber_server_echoed(server);
	assert_true(sent * MESSAGE >= CAP);
	want = sent * (11 + MESSAGE);
	while (n < want) { /* all that were taken, whole */
		ssize_t k = read(fd, got, sizeof(got));

		assert_true(k > 0);
		n += (size_t)k;
	}
	assert_int_equal(n, want);
	taken = cyber_server_echoed(server);
	cyber_server_publish(server, "/a", message, MESSAGE); /* and it goes on */
	AWAIT(cyber_server_echoed(server) > taken);
	assert_int_equal(cyber_server_dropped(server), 1);
	assert_int_equal(cyber_server_clients(server), 1);
}
