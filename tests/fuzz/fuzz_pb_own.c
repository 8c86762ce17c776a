/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A type of ours as protobuf, from a peer; the first byte chooses the type. An accepted message is a valid body, and
 * reads back after it is encoded again. Thread: one.
 */
#include "named.h"

#include "tools/bridge/convert/dec_pb.h"
#include "tools/bridge/convert/enc_pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dec_pb decoder;

static int take(const struct sim_type *t, const void *data, size_t len, size_t *ret_size)
{
	int r;

	dec_pb_begin(&decoder, data, len);
	r = generic_read(t, &decoder.dec, named_body, sizeof(named_body), ret_size);
	return decoder.dec.err ? decoder.dec.err : r;
}

static void again(const struct sim_type *t, size_t size)
{
	struct iov_buf o;
	struct enc_pb e;
	uint8_t *all;
	size_t got;

	iov_buf_init(&o);
	enc_pb_begin(&e, &o);
	if (generic_emit(t, named_body, size, &e.enc) < 0 || enc_pb_finish(&e) < 0)
		abort();
	all = named_flat(&o);
	if (all && (take(t, all, o.total, &got) < 0 || got != size))
		abort();
	free(all);
	iov_buf_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *t;
	size_t len;

	if (size < 1)
		return 0;
	t = sim_type_builtins()[data[0] % named_types()];
	dec_pb_init(&decoder);
	if (take(t, data + 1, size - 1, &len) == 0) {
		if (sim_msg_check(t, named_body, len) != 0)
			abort();
		again(t, len);
	}
	dec_pb_finish(&decoder);
	return 0;
}
