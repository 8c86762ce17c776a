/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every message and both families of Apollo. */
#include "support/test.h"

#include <errno.h>

#include "apollo_peer.h"
#include "sample.h"

TEST(protobuf_c_reads_every_message_and_would_write_the_same_bytes)
{
	static _Alignas(64) uint8_t body[65536];
	const struct apollo_type *t;
	unsigned i;

	for (i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		struct apollo_message in = { .body = body,
					     .size = sample_body(apollo_type_sim(t), body, sizeof(body)),
					     .stamp_sim_ns = 1700000000123456789,
					     .sequence = 9,
					     .frame_id = "somewhere" };

		if (!strcmp(apollo_type_name(t), "apollo.drivers.Image") ||
		    !strcmp(apollo_type_name(t), "apollo.drivers.PointCloud"))
			continue; /* their sizes must fit: tests of their own */
		apollo_peer_read(apollo_type_sim(t)->name, apollo_type_name(t), &in);
	}
	assert_true(i > 2);
}

TEST(a_truncated_message_is_refused_with_the_reason)
{
	static _Alignas(64) uint8_t body[64];
	const struct apollo_type *t;
	struct apollo_message in = { .body = body, .size = 3, .frame_id = "" };
	struct iov_buf o;

	iov_buf_init(&o);
	for (unsigned i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		char why[200];

		assert_int_equal(apollo_encode(t, &in, &o, why, sizeof(why)), -EBADMSG);
		assert_non_null(strstr(why, apollo_type_sim(t)->name));
		iov_buf_reset(&o);
	}
	iov_buf_finish(&o);
}

/* The definitions sent to cyber_bridge: each file after those that it imports, the type's own last. */
TEST(each_definition_follows_those_it_imports)
{
	const struct apollo_type *t;

	for (unsigned i = 0; (t = apollo_type_at(apollo_family, false, i)); i++) {
		struct iovec files[APOLLO_FILES_MAX];
		size_t n = apollo_type_files(t, files);

		if (!strcmp(apollo_type_name(t), "apollo.cyber.proto.Clock"))
			continue;
		assert_in_range(n, 1, APOLLO_FILES_MAX - 1);
		for (size_t k = 0; k < n; k++) { /* field 3 of a file is a dependency */
			const uint8_t *at = files[k].iov_base, *end = at + files[k].iov_len;

			assert_int_equal(at[0], 0x0a);
			for (at += 2 + at[1]; at < end && at[0] < 0x1a; at += 2 + at[1])
				;
			for (; at < end && at[0] == 0x1a; at += 2 + at[1]) {
				bool before = false;

				for (size_t j = 0; j < k; j++) {
					const uint8_t *name = files[j].iov_base;

					before |= name[1] == at[1] && !memcmp(name + 2, at + 2, at[1]);
				}
				assert_true(before);
			}
		}
	}
}

TEST(unknown_types_are_not_found)
{
	assert_null(apollo_type_for(apollo_family, "sim/OccupancyGrid", NULL));
	assert_null(apollo_type_for(apollo_family, "sim/Image", "apollo.drivers.PointCloud"));
	assert_null(apollo_type_named(apollo_family, "apollo.drivers.Nothing", NULL));
	assert_null(apollo_type_named(apollo_family, "apollo.control.ControlCommand", "sim/Image"));
}
