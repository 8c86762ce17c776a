/* SPDX-License-Identifier: Apache-2.0 */
/* CBOR of a rosbridge server: named.h. Thread: one. */
#include "support/enc_cbor.h"
#include "tools/bridge/convert/cbor_reader.h"
#include "named.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void begin(struct named_reader *r, const uint8_t *frame, size_t size)
{
	cbor_reader_begin(r, frame, size);
}

static bool say(const struct sim_type *t, size_t size, struct iov_buf *o)
{
	struct enc_cbor e;

	if (cbor_put_map(o, 1) < 0 || cbor_put_string(o, "msg", 3) < 0)
		abort();
	cbor_begin(&e, ROS_GENERIC_ROS2, NULL, o);
	if (generic_emit(t, named_body, size, &e.enc) < 0)
		abort();
	return cbor_finish(&e) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return named_fuzz(&(struct named_format){ begin, say }, data, size);
}
