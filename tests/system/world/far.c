/* SPDX-License-Identifier: Apache-2.0 */
/* far.h */
#include "far.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int far_dial(struct far *f, const char *dir, const char *name, const char *host, uint16_t port, int room)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int r;

	*f = (struct far){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	frame_reader_init(&f->in, FRAME_MAX_SERVER);
	r = tls_keys_load(dir, name, &f->keys);
	if (r == 0)
		r = tls_create(TLS_CLIENT, &(struct tls_options){ .keys = f->keys, .host = host }, &f->tls);
	if (r < 0)
		return r;
	if (room && setsockopt(f->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) < 0)
		return -errno;
	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		return -EINVAL;
	return connect(f->fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
}

uint16_t far_port(const struct far *f)
{
	struct sockaddr_in a = { .sin_port = 0 };
	socklen_t len = sizeof(a);

	(void)getsockname(f->fd, (struct sockaddr *)&a, &len);
	return ntohs(a.sin_port);
}

/* ---- sending ---- */

static int send_all(const struct far *f, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		ssize_t r = send(f->fd, at, len, MSG_NOSIGNAL);

		if (r < 0)
			return -errno;
		at += r;
		len -= (size_t)r;
	}
	return 0;
}

static int flush(const struct far *f)
{
	const void *data;
	size_t n;
	int r = 0;

	while (r == 0 && (n = tls_output(f->tls, &data))) {
		r = send_all(f, data, n);
		tls_sent(f->tls, n);
	}
	return r;
}

int far_half_greeting(struct far *f)
{
	const void *data;
	size_t n = tls_output(f->tls, &data);

	return send_all(f, data, n / 2);
}

int far_bytes(struct far *f, const void *data, size_t len)
{
	ssize_t r = tls_write(f->tls, data, len);

	if (r != (ssize_t)len)
		return r < 0 ? (int)r : -ENOBUFS;
	return flush(f);
}

int far_say(struct far *f, unsigned code, const ProtobufCMessage *m)
{
	uint8_t frame[1024];
	size_t len = protobuf_c_message_get_packed_size(m) + 1;

	if (len + 4 > sizeof(frame))
		return -E2BIG;
	protobuf_c_message_pack(m, frame + 5);
	for (unsigned i = 0; i < 4; i++)
		frame[i] = (uint8_t)(len >> 8 * i);
	frame[4] = (uint8_t)code;
	return far_bytes(f, frame, len + 4);
}

int far_hello(struct far *f, const char *name)
{
	Sim__World__Hello m = SIM__WORLD__HELLO__INIT;
	uint8_t identity[16] = { 0 };

	memcpy(identity, name, strnlen(name, sizeof(identity)));
	m.version = 1;
	m.name = (char *)(uintptr_t)name;
	m.role = SIM__WORLD__ROLE__REGULATING;
	m.identity = (ProtobufCBinaryData){ sizeof(identity), identity };
	return far_say(f, FRAME_HELLO, &m.base);
}

int far_object(struct far *f, uint32_t number)
{
	Sim__World__Object m = SIM__WORLD__OBJECT__INIT;
	Sim__World__Vector at = SIM__WORLD__VECTOR__INIT;

	at.x = number;
	m.id = (uint64_t)f->connection << 40 | (uint64_t)number << 16;
	m.time_sim_ns = f->time_sim_ns + f->step_dur_ns;
	m.position = &at;
	return far_say(f, FRAME_VEHICLE, &m.base);
}

int far_done(struct far *f)
{
	Sim__World__Done m = SIM__WORLD__DONE__INIT;

	m.tick = f->tick;
	return far_say(f, FRAME_DONE, &m.base);
}

/* ---- receiving ---- */

/* Into what tls_read() reads from. */
static int hear(struct far *f)
{
	ssize_t n = recv(f->fd, f->cipher, sizeof(f->cipher), 0);

	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	tls_input(f->tls, f->cipher, (size_t)n);
	return 0;
}

int far_shake(struct far *f)
{
	ssize_t r = flush(f);

	while (r == 0 && tls_state(f->tls) == TLS_HANDSHAKE) {
		r = hear(f);
		if (r == 0)
			r = tls_read(f->tls, NULL, 0);
		if (r == 0)
			r = flush(f);
	}
	return (int)r;
}

static void take_heartbeat(struct far *f, const Sim__World__Heartbeat *m)
{
	f->tick = m->tick;
	f->time_sim_ns = m->time_sim_ns;
	f->role = m->role;
}

static void take_welcome(struct far *f, const Sim__World__Welcome *m)
{
	f->connection = m->connection;
	f->tick = m->tick;
	f->time_sim_ns = m->time_sim_ns;
	f->step_dur_ns = m->step_dur_ns;
}

static int take(struct far *f, const struct frame *frame)
{
	static const ProtobufCMessageDescriptor *const messages[] = {
		[FRAME_HEARTBEAT] = &sim__world__heartbeat__descriptor,
		[FRAME_WELCOME] = &sim__world__welcome__descriptor,
	};
	ProtobufCMessage *m;

	if (frame->code >= sizeof(messages) / sizeof(messages[0]) || !messages[frame->code])
		return 0;
	m = protobuf_c_message_unpack(messages[frame->code], NULL, frame->len, frame->body);
	if (!m)
		return -EBADMSG;
	if (frame->code == FRAME_HEARTBEAT)
		take_heartbeat(f, (const Sim__World__Heartbeat *)(const void *)m);
	else
		take_welcome(f, (const Sim__World__Welcome *)(const void *)m);
	protobuf_c_message_free_unpacked(m, NULL);
	return 0;
}

static int read_more(struct far *f)
{
	uint8_t *room;
	size_t size;
	ssize_t n;

	if (frame_reader_room(&f->in, &room, &size) < 0)
		return -ENOMEM;
	n = tls_read(f->tls, room, size);
	if (n > 0)
		frame_reader_add(&f->in, (size_t)n);
	return n == 0 ? hear(f) : n < 0 ? (int)n : 0;
}

int far_await(struct far *f, unsigned code)
{
	struct frame frame;
	int r;

	for (;;) {
		while ((r = frame_next(&f->in, &frame)) == 1) {
			r = take(f, &frame);
			if (r < 0 || frame.code == code)
				return r;
		}
		if (r == 0)
			r = read_more(f);
		if (r < 0)
			return r;
	}
}
