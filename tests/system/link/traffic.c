/* SPDX-License-Identifier: Apache-2.0 */
/* See traffic.h. In children: no asserts of cmocka. */
#include "traffic.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <sim/msg/Image.h>

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "traffic: %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #cond, sim_why()); \
			_exit(99); \
		} \
	} while (0)

struct traffic *traffic_new(const char *channel, uint32_t width, uint32_t height)
{
	struct traffic *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(t != MAP_FAILED);
	t->channel = channel;
	t->width = width;
	t->height = height;
	t->pause_us = 5000;
	t->first = 1;
	return t;
}

void traffic_free(struct traffic *t)
{
	if (t)
		munmap(t, sizeof(*t));
}

/*
 * Fills an image with bytes that depend on its number and on their offset; a reader makes the same bytes and compares.
 */
static size_t fill(const struct traffic *t, uint64_t number, void *body, size_t room)
{
	uint32_t n = t->width * t->height * 3;
	struct sim_builder b;
	struct sim_Image *m = sim_Image_init(body, room, &b);
	uint8_t *data;

	MUST(m);
	m->width = t->width;
	m->height = t->height;
	m->step = t->width * 3;
	MUST(sim_Image_encoding_set(&b, "rgb8") == 0);
	data = sim_Image_data_alloc(&b, n);
	MUST(data);
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		uint64_t v = number * 0x9e3779b97f4a7c15u + i;

		memcpy(data + i, &v, 8);
	}
	return sim_builder_size(&b);
}

static void done(void *user, bool ok, enum sim_reason reason)
{
	struct traffic *t = user;

	if (!ok)
		atomic_store(&t->reason, (int)reason);
	atomic_fetch_add(ok ? &t->ok : &t->failed, 1);
}

static struct sim_client *connect_as(const char *name)
{
	const struct sim_client_options o = { .size = sizeof(o), .name = name };
	struct sim_client *c;

	AWAIT(sim_connect(&o, &c) == 0);
	return c;
}

int traffic_send(void *arg)
{
	struct traffic *t = arg;
	size_t room = sim_Image_size(8, t->width * t->height * 3);
	struct sim_publisher_options o = { .size = sizeof(o), .max_body = room, .frame_id = "lens", .flags = t->flags };
	struct sim_client *c = connect_as("sender");
	struct sim_publisher *pub;
	uint64_t number = t->first;

	MUST(sim_advertise(c, t->channel, &sim_Image_type, &o, &pub) == 0);
	while (!atomic_load(&t->stop)) {
		struct sim_slot *slot;
		int r = sim_loan(pub, room, &slot);

		if (r == 0) {
			size_t size = fill(t, number, sim_slot_body_mut(slot), room);

			MUST(sim_slot_set_size(slot, size) == 0);
			slot->stamp_sim_ns = TRAFFIC_STAMP(number);
			r = sim_try_queue(pub, slot, NULL, done, t);
		}
		if (r == 0) {
			atomic_fetch_add(&t->accepted, 1);
			number++;
			atomic_fetch_add(&t->sent, 1);
		}
		pace_us(t->pause_us);
	}
	sim_publisher_destroy(pub);
	sim_disconnect(c);
	return 0;
}

/* By its stamp it has a number, and all else is as it was filled. */
static bool is_right(const struct traffic *t, const struct sim_message *m, uint64_t number, void *buf, size_t room,
		     const char **ret_what)
{
	size_t size = fill(t, number, buf, room);

	*ret_what = m->header.stamp_sim_ns != TRAFFIC_STAMP(number)                               ? "stamp"
		    : strcmp(m->header.frame_id, "lens") != 0                                     ? "frame"
		    : m->body_size != size                                                        ? "size"
		    : memcmp(m->body, buf, size) != 0                                             ? "bytes"
		    : m->header.origin_host && m->header.origin_sequence != number - t->first + 1 ? "sequence"
												  : NULL;
	return !*ret_what;
}

static void take(struct traffic *t, struct traffic_reader *r, const struct sim_message *m, void *buf, size_t room)
{
	uint64_t number = (uint64_t)(m->header.stamp_sim_ns / 1000000007);
	const char *what;

	if (!is_right(t, m, number, buf, room, &what)) {
		if (!atomic_load(&r->wrong))
			snprintf(r->what, sizeof(r->what),
				 "message %llu: its %s is not right (sequence %llu, %zu bytes)",
				 (unsigned long long)number, what, (unsigned long long)m->header.origin_sequence,
				 m->body_size);
		atomic_fetch_add(&r->wrong, 1);
	}
	if (number <= atomic_load(&r->newest))
		atomic_fetch_add(&r->backward, 1);
	if (m->header.origin_host)
		atomic_fetch_add(&r->remote, 1);
	atomic_store(&r->host, m->header.origin_host);
	atomic_store(&r->newest, number);
	atomic_fetch_add(&r->received, 1);
}

int traffic_read(void *arg)
{
	struct traffic *t = arg;
	struct traffic_reader *r = &t->reader[atomic_fetch_add(&t->n_readers, 1)];
	size_t room = sim_Image_size(8, t->width * t->height * 3);
	const struct sim_subscriber_options o = { .size = sizeof(o),
						  .depth = t->width > 1000 ? 4 : 64,
						  .flags = SIM_SUB_LATCHED };
	struct sim_client *c = connect_as("reader");
	void *buf = aligned_alloc(64, (room + 63) / 64 * 64);
	struct sim_subscriber *s;

	MUST(buf);
	MUST(sim_subscribe(c, t->channel, &sim_Image_type, &o, &s) == 0);
	atomic_store(&r->ready, true);
	while (!atomic_load(&t->stop)) {
		const struct sim_message *m;

		if (sim_wait(s, 20000000) != 1)
			continue;
		while (sim_take(s, &m) == 0) {
			take(t, r, m, buf, room);
			sim_release(s, m);
		}
	}
	sim_subscriber_destroy(s);
	sim_disconnect(c);
	free(buf);
	return 0;
}
