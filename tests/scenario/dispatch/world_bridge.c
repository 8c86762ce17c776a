/* SPDX-License-Identifier: Apache-2.0 */
/* The bridges of world.h. Thread: one. */
#include "scenario/dispatch/world.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"

struct test_bridge *bridge_attach_quiet(struct world *w, uint32_t id)
{
	struct test_bridge *b = &w->bridges[id];
	int sv[2];

	assert_false(b->alive);
	memset(b, 0, sizeof(*b));
	b->w = w;
	b->id = id;
	b->alive = true;
	assert_int_equal(fd_packet_pair(sv, SOCK_NONBLOCK), 0);
	b->lanes[b->n_lanes++] = sv[0];
	assert_int_equal(dispatch_bridge_attach(w->d, id, sv[1]), 0);
	world_settle(w);
	return b;
}

struct test_bridge *bridge_attach(struct world *w, uint32_t id)
{
	struct test_bridge *b = bridge_attach_quiet(w, id);

	bridge_status(b, SIM_BRIDGE_CONNECTED);
	world_settle(w);
	return b;
}

void bridge_send_raw(struct test_bridge *b, int lane, const void *data, size_t len)
{
	/* EPIPE: simd has closed the lane; that is what some tests are about */
	if (send(b->lanes[lane], data, len, MSG_NOSIGNAL) < 0)
		assert_int_equal(errno, EPIPE);
}

void bridge_status(struct test_bridge *b, enum sim_bridge_status status)
{
	bridge_status_flags(b, status, 0);
}

void bridge_status_flags(struct test_bridge *b, enum sim_bridge_status status, uint32_t flags)
{
	struct {
		struct lane_head head;
		struct lane_status s;
		char text[4];
	} packet = {
		.head = { .op = LANE_STATUS, .count = 1, .length = sizeof(packet.s) + 4 },
		.s = { .status = status, .flags = flags, .sent = 1, .failed = 2, .dropped = 3, .bytes = 4 },
		.text = { 'f', 'i', 'n', 'e' },
	};

	bridge_send_raw(b, 0, &packet, sizeof(packet.head) + packet.head.length);
}

void bridge_closes(struct test_bridge *b)
{
	for (int i = 0; i < b->n_lanes; i++)
		b->lanes[i] = fd_close(b->lanes[i]);
}

void bridge_dies(struct test_bridge *b)
{
	bridge_closes(b);
	b->alive = false;
	b->n_held = 0;
	assert_int_equal(dispatch_bridge_gone(b->w->d, b->id), 0);
}

static void note_delivery(struct test_bridge *b, int lane, const struct lane_deliver *r, const struct lane_ticket *t)
{
	const struct sim_slot *s;
	const void *slot;

	assert_true(b->knows >> r->channel_id & 1);
	assert_true(b->w->forged || r->size == sizeof(*s) + WORLD_BODY);
	assert_true(b->n_held < WORLD_RECORDS);
	b->held[b->n_held] =
		(struct held){ .delivery = r->delivery, .ref = r->ref, .channel = r->channel_id, .lane = lane };
	if (ipc_import(b->w->simd, r->ref, r->size, &slot) == 0 && r->iox_generation == b->w->life) {
		s = slot;
		assert_true(b->w->forged || s->channel_id == r->channel_id);
		assert_true(b->w->forged || ((const unsigned char *)(s + 1))[WORLD_BODY - 1] == (s->sequence & 0xff));
		b->held[b->n_held].sequence = s->sequence;
		b->held[b->n_held].publisher_id = s->publisher_id;
	}
	if (t) {
		assert_true(t->ticket > t->predecessor);
		b->held[b->n_held].ticket = t->ticket;
		b->held[b->n_held].predecessor = t->predecessor;
	}
	b->n_held++;
	b->received++;
}

static void note_flush(struct test_bridge *b, int lane, const struct lane_head *h)
{
	assert_int_equal(lane, 0);
	assert_in_range(h->count, 0, 1);
	assert_int_equal(h->length, sizeof(b->flush));
	memcpy(&b->flush, h + 1, sizeof(b->flush));
	b->flushes++;
	b->overs += !h->count;
}

static void note_channel(struct test_bridge *b, const char *text, size_t len)
{
	unsigned id;
	char copy[256];

	assert_in_range(len, 1, sizeof(copy) - 1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	assert_int_equal(sscanf(copy, "{\"id\":%u,", &id), 1);
	assert_non_null(strstr(copy, "\"type\":{\"name\":\"test/T\"},\"options\":{\"k\":1}}"));
	assert_false(b->knows >> id & 1 && b->n_lanes == 1);
	b->knows |= UINT64_C(1) << id;
}

/* In the place of a closed lane, if there is one. */
static void add_lane(struct test_bridge *b, int fd)
{
	int i = 0;

	while (i < b->n_lanes && b->lanes[i] >= 0)
		i++;
	assert_true(fd >= 0 && i < WORLD_LANES);
	b->lanes[i] = fd;
	b->closing[i] = false;
	b->n_lanes += i == b->n_lanes;
}

static void note_packet(struct test_bridge *b, int lane, const struct lane_head *h, int fd)
{
	const struct lane_deliver *rec = (const void *)(h + 1);
	const struct lane_ticket *t = NULL;

	b->packets++;
	switch (h->op) {
	case LANE_DELIVER:
		assert_in_range(h->count, 1, LANE_BATCH);
		if (h->length != h->count * sizeof(*rec)) {
			assert_int_equal(h->length, h->count * (sizeof(*rec) + sizeof(*t)));
			t = (const void *)(rec + h->count);
		}
		for (unsigned i = 0; i < h->count; i++)
			note_delivery(b, lane, &rec[i], t ? &t[i] : NULL);
		break;
	case LANE_FLUSH:
		note_flush(b, lane, h);
		break;
	case LANE_CHANNEL:
		note_channel(b, (const char *)(h + 1), h->length);
		break;
	case LANE_CONNECT:
		b->connects++;
		assert_in_range(h->length, 0, sizeof(b->connection) - 1);
		memcpy(b->connection, h + 1, h->length);
		b->connection[h->length] = '\0';
		break;
	case LANE_OPEN:
		add_lane(b, fd);
		break;
	case LANE_CLOSE:
		b->closing[lane] = true;
		break;
	default:
		fail_msg("simd sent packet %u", h->op);
	}
}

unsigned bridge_read(struct test_bridge *b)
{
	static _Alignas(16) unsigned char packet[LANE_PACKET_MAX];
	unsigned before = b->received;

	for (int i = 0; i < b->n_lanes; i++) {
		unsigned n_fds = 0;
		int fd = -1;
		ssize_t n = 0;

		while (b->lanes[i] >= 0 &&
		       (n = fd_recv(b->lanes[i], packet, sizeof(packet), &fd, 1, &n_fds, MSG_DONTWAIT)) > 0) {
			const struct lane_head *h = (const void *)packet;

			assert_true((size_t)n >= sizeof(*h) && h->length == (size_t)n - sizeof(*h));
			note_packet(b, i, h, n_fds ? fd : -1);
			n_fds = 0;
		}
		if (b->closing[i] && b->lanes[i] >= 0) {
			assert_int_equal(n, 0); /* simd does not wait for us to close it */
			close(b->lanes[i]);
			b->lanes[i] = -1;
		}
	}
	return b->received - before;
}

static void send_done(struct test_bridge *b, int lane, uint64_t delivery, int result, uint32_t service_us)
{
	struct {
		struct lane_head head;
		struct lane_done rec;
	} packet = {
		.head = { .op = LANE_DONE, .count = 1, .length = sizeof(packet.rec) },
		.rec = { .delivery = delivery, .result = result, .service_us = service_us },
	};

	bridge_send_raw(b, lane, &packet, sizeof(packet));
}

void bridge_send_done(struct test_bridge *b, int lane, uint64_t delivery, int result)
{
	send_done(b, lane, delivery, result, 10);
}

void bridge_says(struct test_bridge *b, int lane, uint32_t channel, int result, const char *name, const char *type)
{
	size_t n = strlen(name), m = strlen(type);
	struct {
		struct lane_head head;
		struct lane_carries rec;
		char text[LANE_CARRIES_MAX];
	} packet = {
		.head = { .op = LANE_CARRIES, .count = 1, .length = (uint32_t)(sizeof(packet.rec) + n + m) },
		.rec = { .channel_id = channel, .result = result, .name_len = (uint32_t)n },
	};

	assert_true(n + m <= sizeof(packet.text));
	memcpy(packet.text, name, n);
	memcpy(packet.text + n, type, m);
	bridge_send_raw(b, lane, &packet, sizeof(packet.head) + packet.head.length);
}

void bridge_answer(struct test_bridge *b, unsigned i, int result)
{
	bridge_answer_in(b, i, result, 10);
}

void bridge_answer_in(struct test_bridge *b, unsigned i, int result, uint32_t service_us)
{
	assert_true(i < b->n_held);
	send_done(b, b->held[i].lane, b->held[i].delivery, result, service_us);
	memmove(&b->held[i], &b->held[i + 1], (b->n_held - i - 1) * sizeof(b->held[0]));
	b->n_held--;
}

void bridge_answer_all(struct test_bridge *b, int result, uint32_t service_us)
{
	while (b->n_held) {
		struct {
			struct lane_head head;
			struct lane_done rec[LANE_BATCH];
		} packet = { .head = { .op = LANE_DONE } };
		unsigned n = 0;
		int lane = b->held[0].lane;

		for (; n < b->n_held && n < LANE_BATCH; n++)
			packet.rec[n] = (struct lane_done){ .delivery = b->held[n].delivery,
							    .result = result,
							    .service_us = service_us };
		packet.head.count = (uint16_t)n;
		packet.head.length = n * (uint32_t)sizeof(packet.rec[0]);
		bridge_send_raw(b, lane, &packet, sizeof(packet.head) + packet.head.length);
		memmove(b->held, b->held + n, (b->n_held - n) * sizeof(b->held[0]));
		b->n_held -= n;
	}
}
