/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of a rosbridge server: named.h. Thread: one. */
#include "tools/bridge/convert/enc_json.h"
#include "tools/bridge/convert/json_reader.h"
#include "named.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void begin(struct named_reader *r, const uint8_t *frame, size_t size)
{
	json_reader_begin(r, (const char *)frame, size);
}

static bool say(const struct sim_type *t, size_t size, struct iov_buf *o)
{
	struct enc_json e;

	if (json_put(o, "{\"msg\":") < 0)
		abort();
	json_begin(&e, ROS_GENERIC_ROS2, JSON_NAN_WORD, NULL, o);
	if (generic_emit(t, named_body, size, &e.enc) < 0)
		abort();
	return json_finish(&e) == 0 && json_put(o, "}") == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return named_fuzz(&(struct named_format){ begin, say }, data, size);
}
