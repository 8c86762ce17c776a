/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the body of a message of any type, encoded field by field; and any bytes as such a message that comes
 * in. The first byte picks the direction, the next eight the type, the rest is the peer's data. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/introspect.h"
#include "tools/bridge/convert/conversion.h"
#include "tools/bridge/convert/enc_wire.h"
#include "tools/bridge/convert/generic.h"
#include "unit/convert/random_type.h"

#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) \
			__builtin_trap(); \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Bodies that the rules allow are encoded, and those that they refuse are not; the one exception are times that ROS
 * cannot express.
 */
static void out(const struct sim_type *t, enum wire_format format, const uint8_t *data, size_t size)
{
	uint8_t *body = malloc(size ? size : 1); /* exactly as long as it says */
	struct enc_wire w;
	struct iov_buf o;
	int r;

	if (!body)
		return;
	if (size)
		memcpy(body, data, size);
	iov_buf_init(&o);
	wire_begin(&w, format, &o);
	r = generic_emit(t, body, size, &w.enc);
	FUZZ_CHECK(size < t->fixed_size || (sim_msg_check(t, body, size) == 0) == (r == 0));
	if (r == 0)
		r = wire_finish(&w);
	FUZZ_CHECK(r == 0 || r == -74 || r == -34); /* EBADMSG, ERANGE */
	FUZZ_CHECK(o.total <= size * 16 + 65536);
	iov_buf_finish(&o);
	free(body);
}

static void in(const struct sim_type *t, enum wire_format format, const uint8_t *data, size_t size)
{
	static _Alignas(64) uint8_t body[16384];
	struct conversion_in c = { .sim = t };
	struct message_in to = { .buf = body, .room = sizeof(body) };

	if (conversion_in_read(&c, format, data, size, &to) == 0)
		FUZZ_CHECK(to.size <= sizeof(body) && sim_msg_check(t, body, to.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct random_type t;
	uint64_t seed;

	if (size < 9)
		return 0;
	memcpy(&seed, data + 1, sizeof(seed));
	seed |= 1;
	FUZZ_CHECK(random_type_make(&t, &seed) == 0);
	if (data[0] & 1)
		in(t.type, data[0] & 2 ? WIRE_ROS1 : WIRE_CDR, data + 9, size - 9);
	else
		out(t.type, data[0] & 2 ? WIRE_ROS1 : WIRE_CDR, data + 9, size - 9);
	random_type_finish(&t);
	return 0;
}
