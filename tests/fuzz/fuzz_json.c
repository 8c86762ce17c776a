/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of a rosbridge server: named.h. Thread: one. */
#include "tools/bridge/convert/enc_json.h"
#include "tools/bridge/convert/json_reader.h"
#include "named.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct named_reader reader;

/* Times that ROS does not have are refused; all else reads back. */
static void again(const struct sim_type *t, unsigned choice, size_t size)
{
	size_t len;
	struct iov_buf o;
	uint8_t *all;
	struct enc_json e;
	int r;

	iov_buf_init(&o);
	if (json_put(&o, "{\"msg\":") < 0)
		abort();
	json_begin(&e, ROS_GENERIC_ROS2, JSON_NAN_WORD, NULL, &o);
	r = generic_emit(t, named_body, size, &e.enc);
	if (r < 0)
		abort();
	if (!(json_finish(&e) < 0 || json_put(&o, "}") < 0)) {
		all = named_flat(&o);
		if (all) {
			json_reader_begin(&reader, (const char *)all, o.total);
			if (!(choice % 2) && !named_read(&reader, choice, &len) && reader.dec.err != -ENOMEM)
				abort();
		}
		free(all);
	}
	iov_buf_finish(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sim_type *t;
	size_t len = 0;

	if (size < 2)
		return 0;
	named_reader_init(&reader);
	json_reader_begin(&reader, (const char *)data + 1, size - 1);
	t = named_read(&reader, data[0], &len);
	if (t)
		again(t, data[0], len);
	named_reader_finish(&reader);
	return 0;
}
