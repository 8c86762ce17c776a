/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that go out, in pieces of any size: as they are, and as fragments that make the same text again. */
#include "rosbridge.h"
#include "support/test.h"

#include <jansson.h>

static struct sim_bridge *b;
static struct outbox_topic *topic;

static int set_up(void **state)
{
	(void)state;
	b = calloc(1, sizeof(*b));
	topics_init(&b->common);
	b->outbox = (struct outbox){ .ops = &rosbridge_outbox_ops, .arg = b, .max = 10 };
	if (outbox_init(&b->outbox) < 0)
		return -1;
	outbox_open(&b->outbox, true);
	return outbox_topic_create(&b->outbox, "/a", &(struct outbox_topic_options){ 0 }, &topic);
}

static int tear_down(void **state)
{
	(void)state;
	sending_drop(b);
	outbox_topic_destroy(&b->outbox, topic);
	outbox_finish(&b->outbox);
	topics_finish(&b->common);
	free(b);
	return 0;
}

static const char head[] = "{\"op\":\"publish\",\"topic\":\"/a\",\"msg\":";

/* A message whose msg is a text of quotes, backslashes and characters of one to four bytes. */
static char *text_of(size_t n)
{
	static const char unit[] = "a\\\"\\\\\u00e4\u20ac\U0001f600";
	char *text = calloc(1, n * sizeof(unit) + 16);

	strcat(text, "{\"t\":\"");
	for (size_t i = 0; i < n; i++)
		strcat(text, unit);
	return strcat(text, "\"}");
}

static void queue_text(const char *text)
{
	struct iov_buf *o = topics_get_buf(&b->common);
	bool wake;

	iov_buf_reset(o);
	memcpy(iov_buf_room(o, strlen(text)), text, strlen(text));
	assert_true(outbox_put(&b->outbox, topic, o, o->total, NULL, &wake) == 0);
}

/* The next message of WebSocket, whole. */
static char *next(size_t piece)
{
	char *all = calloc(1, 1 << 20);
	size_t n = 0, more;
	bool first, last = false;

	while (!last && (more = sending_fill(b, (uint8_t *)all + n, piece, &first, &last)) > 0) {
		assert_int_equal(first, n == 0);
		assert_true(more <= piece);
		n += more;
	}
	if (n)
		return all;
	free(all);
	return NULL;
}

TEST_WITH(a_message_is_sent_in_one_piece, set_up, tear_down)
{
	char *text = text_of(100), *all;

	for (size_t piece = 1; piece < 3000; piece = 2 * piece + 1) {
		queue_text(text);
		all = next(piece);
		assert_int_equal(strlen(all), strlen(head) + strlen(text) + 1);
		assert_memory_equal(all, head, strlen(head));
		assert_memory_equal(all + strlen(head), text, strlen(text));
		assert_int_equal(all[strlen(all) - 1], '}');
		free(all);
		assert_null(next(piece));
	}
	free(text);
}

static size_t join(size_t piece, char *whole)
{
	size_t parts = 0;
	char *all;

	while ((all = next(piece))) {
		json_t *j = json_loads(all, 0, NULL);

		assert_non_null(j); /* no character is cut */
		assert_string_equal(json_string_value(json_object_get(j, "op")), "fragment");
		assert_int_equal(json_integer_value(json_object_get(j, "num")), parts++);
		strcat(whole, json_string_value(json_object_get(j, "data")));
		assert_true(json_string_length(json_object_get(j, "data")) <= (size_t)b->fragment_size + 3);
		json_decref(j);
		free(all);
	}
	return parts;
}

TEST_WITH(a_message_is_sent_in_fragments, set_up, tear_down)
{
	char *text = text_of(1000), *whole;
	json_t *j;

	for (b->fragment_size = 1000; b->fragment_size < 1010; b->fragment_size++) {
		queue_text(text);
		whole = calloc(1, 1 << 20);
		assert_int_equal(join(777 + (size_t)b->fragment_size % 10, whole),
				 (strlen(head) + strlen(text) + (size_t)b->fragment_size) / (size_t)b->fragment_size);
		j = json_loads(whole, 0, NULL);
		assert_non_null(j);
		json_decref(j);
		assert_memory_equal(whole + strlen(head), text, strlen(text));
		free(whole);
	}
	free(text);
}
