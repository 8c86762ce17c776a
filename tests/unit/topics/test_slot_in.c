/* SPDX-License-Identifier: Apache-2.0 */
/* An inbound channel: it is offered with small slots, and grows to the size that its messages need. */
#include "tests/support/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/Bool.h>
#include <sim/msg/Image.h>

#include "slot_in.h"

#define MIB ((size_t)1 << 20)

static struct sim_bridge_host host;
static struct slot_in in;
static size_t largest;            /* that the host lends */
static size_t rooms[40], n_rooms; /* that it was asked for */
static size_t published;
static char frame[SIM_FRAME_ID_MAX + 1];
static uint8_t last;
static void *lent;

static int offer(void *ctx, const char *channel, const struct sim_type *type)
{
	(void)ctx, (void)type;
	assert_string_equal(channel, "c");
	return 0;
}

static int offer_large(void *ctx, const char *channel, const struct sim_type *type, size_t max_body)
{
	(void)ctx, (void)channel, (void)type;
	fail_msg("slots of %zu bytes are asked for before there is a message", max_body);
	return 0;
}

static int loan(void *ctx, const char *channel, const struct sim_type *type, size_t room, void **ret_body)
{
	(void)ctx, (void)channel, (void)type;
	assert_true(n_rooms < sizeof(rooms) / sizeof(*rooms));
	rooms[n_rooms++] = room;
	if (room > largest)
		return -EMSGSIZE;
	assert_null(lent);
	lent = malloc(room);
	assert_non_null(lent);
	*ret_body = lent;
	return 0;
}

static void end_loan(const void *body)
{
	assert_ptr_equal(body, lent);
	free(lent);
	lent = NULL;
}

static int publish_loan(void *ctx, const char *channel, void *body, size_t size, int64_t stamp_sim_ns, const char *name)
{
	(void)ctx, (void)channel, (void)stamp_sim_ns;
	published = size;
	last = ((const uint8_t *)body)[size - 1];
	snprintf(frame, sizeof(frame), "%s", name);
	end_loan(body);
	return 0;
}

static void unloan(void *ctx, const char *channel, void *body)
{
	(void)ctx, (void)channel;
	end_loan(body);
}

static int begin(void **state)
{
	char why[200];

	(void)state;
	host = (struct sim_bridge_host){ .size = sizeof(host),
					 .offer = offer,
					 .offer_large = offer_large,
					 .loan = loan,
					 .publish_loan = publish_loan,
					 .unloan = unloan };
	largest = 512 * MIB;
	n_rooms = published = 0;
	assert_int_equal(slot_in_init(&in, &host, "c", &sim_Image_type, 0, why, sizeof(why)), 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	slot_in_finish(&in);
	assert_null(lent);
	return 0;
}

/* A message of *arg bytes. */
static int read_bytes(void *arg, struct message_in *to)
{
	size_t n = *(const size_t *)arg;

	if (n > to->room)
		return -ENOBUFS;
	memset(to->buf, 0x5a, n);
	to->size = n;
	strcpy(to->frame, "here");
	return 0;
}

TEST_WITH(the_first_slots_are_small, begin, end)
{
	assert_int_equal(slot_in_offer(&in), 0);
}

TEST_WITH(a_message_gets_a_slot_of_about_its_size, begin, end)
{
	static const size_t sizes[] = { 300, 70000, 3840 * 2160 * 3, 60 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];

		n_rooms = 0;
		assert_int_equal(slot_in_take(&in, n, read_bytes, &n), 0);
		assert_int_equal(published, n);
		assert_int_equal(n_rooms, 1);
		assert_in_range(rooms[0], n, n + n / 4 + 4096);
		assert_string_equal(frame, "here");
	}
	assert_in_range(rooms[0], 60 * MIB, 64 * MIB); /* a large one takes few more */
}

/* Ours is longer than theirs. */
TEST_WITH(a_message_is_converted_again_until_it_fits, begin, end)
{
	size_t n = 5 * MIB;

	assert_int_equal(slot_in_take(&in, 1000, read_bytes, &n), 0);
	assert_int_equal(published, n);
	assert_in_range(rooms[n_rooms - 1], n, 8 * MIB);
	assert_int_equal(slot_in_wire_max(&in), 256 * MIB);
}

/* A foreign message must not take all memory; longer ones need a setting. */
TEST_WITH(messages_beyond_64_mib_need_a_larger_max_body, begin, end)
{
	size_t n = 65 * MIB;
	char why[200];

	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), -EMSGSIZE);
	slot_in_finish(&in);
	assert_int_equal(slot_in_init(&in, &host, "c", &sim_Image_type, 512 * MIB, why, sizeof(why)), 0);
	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), 0);
	assert_int_equal(published, n);
}

TEST_WITH(a_message_that_no_slot_can_hold_is_dropped, begin, end)
{
	size_t n = 20 * MIB;

	largest = 16 * MIB;
	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), -EMSGSIZE);
	assert_int_equal(published, 0);
}

TEST_WITH(max_body_is_a_limit, begin, end)
{
	size_t n = 1000;
	char why[200];

	slot_in_finish(&in);
	assert_int_equal(slot_in_init(&in, &host, "c", &sim_Image_type, 2000, why, sizeof(why)), 0);
	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), 0);
	n = 2001;
	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), -EMSGSIZE);
	assert_int_equal(slot_in_take_once(&in, n, read_bytes, &n), -EMSGSIZE);
	slot_in_finish(&in);
	assert_int_equal(slot_in_init(&in, &host, "c", &sim_Image_type, 8, why, sizeof(why)), -EINVAL);
	assert_int_equal(slot_in_init(&in, &host, "c", &sim_Bool_type, 0, why, sizeof(why)), 0);
	assert_int_equal(slot_in_take(&in, n, read_bytes, &n), -EMSGSIZE);
}

/* Messages that are read only once. */
TEST_WITH(a_string_gets_no_larger_slot_than_it_needs, begin, end)
{
	static const size_t sizes[] = { 300, 5 * MIB, 30 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];

		n_rooms = 0;
		assert_int_equal(slot_in_take_once(&in, n / 3, read_bytes, &n), 0);
		assert_int_equal(published, n);
		assert_int_equal(last, 0x5a);
		assert_int_equal(n_rooms, 1);
		assert_int_equal(rooms[0], n);
		assert_string_equal(frame, "here");
	}
}
