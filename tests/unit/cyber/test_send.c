/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane's conversion of a message for a cyber_bridge: parts sent from the slot, parts that are copied, and refused
 * messages.
 */
#include "support/test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "cyber.h"

struct sim_task {
	int answers, result;
};

static struct sim_task task;
static size_t large; /* of the message that is encoded, by reference */
static char said[400];
static struct sim_bridge b;
static struct cyber_topic topic[2];
static struct sim_bridge_topic channel;
static uint8_t *pixels;

int apollo_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		  size_t why_size)
{
	(void)t;
	(void)in;
	(void)why;
	(void)why_size;
	memcpy(iov_buf_room(out, 2), "\x42\x01", 2);
	return iov_buf_array(out, pixels, large - 2);
}

int cyber_own_encode(struct cyber_topic *t, const struct sim_message *m, struct iov_buf *out)
{
	(void)t;
	(void)m;
	(void)out;
	return -ENOTSUP;
}

int cyber_frames_encode(struct cyber_topic *t, struct apollo_message *in, struct iov_buf *out, char *why,
			size_t why_size)
{
	(void)t;
	(void)in;
	(void)out;
	(void)why;
	(void)why_size;
	return -ENOTSUP;
}

static void complete(void *ctx, struct sim_task *t, int result)
{
	(void)ctx;
	t->answers++;
	t->result = result;
}

__attribute__((format(printf, 3, 4))) static void host_log(void *ctx, int level, const char *fmt, ...)
{
	va_list ap;

	(void)ctx;
	(void)level;
	va_start(ap, fmt);
	vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static const struct sim_bridge_host host = { .complete = complete, .log = host_log };
static const struct tcp_link_ops ops = {
	.dialect = &frame_cyber, .get_buf = cyber_get_buf, .put_buf = cyber_put_buf, .answer = cyber_answer
};

static void start(unsigned topics)
{
	static const struct outbox_topic_options no_pace;

	b = (struct sim_bridge){ .host = &host, .link = { .ops = &ops, .arg = &b, .outbox = { .max = 4 } } };
	pthread_mutex_init(&b.lock, NULL);
	assert_int_equal(tcp_link_init(&b.link), 0);
	outbox_open(&b.link.outbox, true);
	channel.n = topics;
	for (unsigned i = 0; i < topics; i++) {
		static char name[] = "/a";

		topic[i] = (struct cyber_topic){ .bridge = &b, .name = name };
		assert_int_equal(outbox_topic_create(&b.link.outbox, name, &no_pace, &topic[i].out), 0);
		channel.topic[i] = &topic[i];
	}
	task = (struct sim_task){ 0 };
	pixels = calloc(1, (size_t)40 << 20); /* which is never touched */
	assert_non_null(pixels);
}

static void stop(void)
{
	for (unsigned i = 0; i < channel.n; i++)
		outbox_topic_destroy(&b.link.outbox, topic[i].out);
	tcp_link_finish(&b.link);
	while (b.n_buf) {
		iov_buf_finish(b.buf[--b.n_buf]);
		free(b.buf[b.n_buf]);
	}
	pthread_mutex_destroy(&b.lock);
	free(pixels);
}

static int publish(size_t size, struct sim_task *t)
{
	static const struct sim_message m;

	large = size;
	return cyber_publish(&b, &channel, &m, t);
}

/* The next that goes out: whether it points to the slot. */
static bool refers(size_t size)
{
	int64_t wait;
	struct outbox_item *i = outbox_take(&b.link.outbox, 0, &wait);
	const struct iov_buf *o;
	bool yes = false;

	assert_non_null(i);
	o = i->body;
	assert_int_equal(o->total, size);
	for (unsigned k = 0; k < o->n; k++)
		yes |= o->piece[k].ref != NULL;
	outbox_done(&b.link.outbox, i, 0, 0);
	return yes;
}

TEST(large_messages_stay_in_the_slot_until_sent)
{
	start(1);
	assert_int_equal(publish(OUTBOX_LARGE, &task), 1);
	assert_int_equal(task.answers, 0);
	assert_true(refers(OUTBOX_LARGE));
	assert_int_equal(task.answers, 1);
	stop();
}

TEST(small_messages_are_copied_and_answered)
{
	start(1);
	assert_int_equal(publish(OUTBOX_LARGE - 1, &task), 0);
	assert_false(refers(OUTBOX_LARGE - 1));
	assert_int_equal(publish(OUTBOX_LARGE, NULL), 0); /* of /clock's kind, without a task */
	assert_false(refers(OUTBOX_LARGE));
	assert_int_equal(task.answers, 0);
	stop();
}

/* One answer for both: so they are copied. */
TEST(two_messages_of_one_channel_are_sent_in_order)
{
	start(2);
	assert_int_equal(publish(OUTBOX_LARGE, &task), 0);
	assert_false(refers(OUTBOX_LARGE));
	assert_false(refers(OUTBOX_LARGE));
	assert_int_equal(task.answers, 0);
	stop();
}

TEST(messages_from_32_mib_on_are_not_sent)
{
	start(1);
	assert_int_equal(publish((size_t)32 << 20, &task), -EMSGSIZE);
	assert_string_equal(said, "/a: a message of 33554432 bytes is not sent: Cyber's shared memory holds less than "
				  "33554432 (1 so far)");
	said[0] = '\0';
	assert_int_equal(publish((size_t)33 << 20, &task), -EMSGSIZE);
	assert_int_equal(publish((size_t)33 << 20, &task), -EMSGSIZE);
	assert_non_null(strstr(said, "(2 so far)")); /* ever more rarely */
	assert_int_equal(topic[0].too_large, 3);
	assert_int_equal(publish(((size_t)32 << 20) - 1, &task), 1);
	assert_true(refers(((size_t)32 << 20) - 1));
	assert_int_equal(task.result, 0);
	stop();
}
