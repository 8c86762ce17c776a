/* SPDX-License-Identifier: Apache-2.0 */
/* See raw.h. */
#include "support/test.h"

#include "raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

int raw_connect(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	return -1;
}

void raw_send(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		struct pollfd f = { .fd = fd, .events = POLLOUT };
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EAGAIN && poll(&f, 1, -1) > 0)
			continue;
		if (sent <= 0)
			return;
		at += sent;
		n -= (size_t)sent;
	}
}

/* 0: closed. */
static size_t receive(int fd, char *data, size_t room)
{
	ssize_t n = recv(fd, data, room, 0);

	return n > 0 ? (size_t)n : 0;
}

/* Byte by byte: later bytes are not part of it. */
static const char *head_of(int fd)
{
	static char text[65536];
	size_t len = 0;

	text[0] = '\0';
	while ((len < 4 || strcmp(text + len - 4, "\r\n\r\n") != 0) && len < sizeof(text) - 1 &&
	       receive(fd, text + len, 1))
		text[++len] = '\0';
	return text;
}

const char *raw_request(unsigned port, const char *first, const char *lines)
{
	int fd = raw_connect(port);
	const char *text;
	char *request;

	if (fd < 0)
		return "";
	assert_true(asprintf(&request, "%s\r\n%s\r\n", first, lines) > 0);
	raw_send(fd, request, strlen(request));
	text = head_of(fd);
	free(request);
	close(fd);
	return text;
}

int raw_open(unsigned port, const char *path, const char *lines)
{
	int fd = raw_connect(port);
	char *request;

	if (fd < 0)
		return -1;
	assert_true(
		asprintf(&request,
			 "GET %s HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
			 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n%s\r\n",
			 path, lines) > 0);
	raw_send(fd, request, strlen(request));
	free(request);
	if (strncmp(head_of(fd), "HTTP/1.1 101", 12) == 0)
		return fd;
	close(fd);
	return -1;
}

void raw_frame(int fd, unsigned first_byte, const void *data, size_t n)
{
	uint8_t head[14] = { (uint8_t)first_byte };
	size_t len = n < 126 ? 2 : n < 65536 ? 4 : 10;

	head[1] = (uint8_t)(0x80 | (len == 2 ? n : len == 4 ? 126 : 127));
	for (size_t i = 2; i < len; i++)
		head[i] = (uint8_t)(n >> 8 * (len - 1 - i));
	raw_send(fd, head, len + 4); /* a mask of zeroes */
	raw_send(fd, data, n);
}

void raw_text(int fd, const char *text)
{
	raw_frame(fd, 0x81, text, strlen(text));
}

void raw_await_close(int fd)
{
	char data[65536];

	while (receive(fd, data, sizeof(data)))
		;
}

bool raw_hears(int fd, const char *text)
{
	static char data[1 << 20];
	size_t len = 0, n;

	while (!memmem(data, len, text, strlen(text))) {
		if (len == sizeof(data)) { /* the end of the searched part stays */
			memmove(data, data + len - 256, 256);
			len = 256;
		}
		n = receive(fd, data + len, sizeof(data) - len);
		if (!n)
			return false;
		len += n;
	}
	return true;
}
