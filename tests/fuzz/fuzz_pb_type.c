/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A definition of protobuf, the name of a message in it, and such a message, all of them foreign: one byte for the length of the name, the name, two
 * for the length of the set, the set, the message. A type that comes of it travels; a message that is taken is a sound body, and
 * written again it reads back to the same. Thread: one.
 */
#include "named.h"

#include "tools/bridge/convert/pb_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dec_pb decoder;

static int take(const struct pb_type *t, const void *data, size_t size, size_t *ret_size)
{
	struct message_in to = { .buf = named_body, .room = sizeof(named_body) };
	int r;

	dec_pb_init(&decoder);
	r = pb_type_decode(t, &decoder, data, size, &to);
	*ret_size = to.size;
	dec_pb_finish(&decoder);
	if (r == 0 && sim_msg_check(pb_type_sim(t), named_body, *ret_size) != 0)
		abort();
	return r;
}

static uint8_t *again(const struct pb_type *t, size_t size, size_t *ret_size)
{
	struct iov_buf o;
	uint8_t *all;

	iov_buf_init(&o);
	if (pb_type_encode(t, named_body, size, &o) != 0)
		abort();
	all = named_flat(&o);
	*ret_size = o.total;
	iov_buf_finish(&o);
	return all;
}

static void messages(const struct pb_type *t, const uint8_t *data, size_t size)
{
	size_t len, n, n2;
	uint8_t *first, *second;

	if (take(t, data, size, &len) != 0)
		return;
	first = again(t, len, &n);
	if (!first)
		return;
	if (take(t, first, n, &len) != 0)
		abort();
	second = again(t, len, &n2);
	if (second && (n2 != n || memcmp(first, second, n) != 0))
		abort();
	free(second);
	free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[256], why[300];
	struct pb_type *t, *back;
	size_t n, set;

	if (size < 3 || size < 3u + data[0])
		return 0;
	n = data[0];
	memcpy(name, data + 1, n);
	name[n] = '\0';
	set = data[1 + n] | (size_t)data[2 + n] << 8;
	data += 3 + n;
	size -= 3 + n;
	if (set > size || pb_type_create(data, set, name, &t, why, sizeof(why)) != 0)
		return 0;
	if (pb_type_of_sim(pb_type_sim(t), &back, why, sizeof(why)) == 0)
		pb_type_destroy(back);
	else if (!pb_type_loss(t) || !strstr(pb_type_loss(t), "too long to travel"))
		abort();
	messages(t, data + set, size - set);
	pb_type_destroy(t);
	return 0;
}
