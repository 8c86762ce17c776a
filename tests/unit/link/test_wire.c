/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs, manifests and calls: written data reads back; inconsistent data is refused. */
#include "support/test.h"

#include <errno.h>

#include "blob.h"
#include "call_msg.h"
#include "manifest.h"
#include "patterns.h"

static const struct blob_head head = { .type_hash = 0x1122334455667788,
				       .host = 7,
				       .sequence = 9,
				       .stamp_sim_ns = -5,
				       .body_size = 101,
				       .confirm = 3,
				       .flags = BLOB_CONFIRM,
				       .frame = "map" };

TEST(a_head_reads_back)
{
	uint8_t b[BLOB_HEAD];
	struct blob_head h;
	const char *why;

	blob_write(&head, b);
	assert_int_equal(blob_size(101), 128 + 104);
	assert_int_equal(blob_read(b, sizeof(b), blob_size(101), &h, &why), 0);
	assert_memory_equal(&h, &head, sizeof(h));
}

TEST(an_invalid_head_is_refused)
{
	uint8_t b[BLOB_HEAD];
	struct blob_head h, bad = head;
	const char *why;

	blob_write(&head, b);
	assert_int_equal(blob_read(b, sizeof(b), blob_size(101) - 4, &h, &why), -EBADMSG);
	assert_int_equal(blob_read(b, sizeof(b), blob_size(101) + 4, &h, &why), -EBADMSG);
	assert_int_equal(blob_read(b, 100, blob_size(101), &h, &why), -EBADMSG);
	b[8] = BLOB_VERSION + 1;
	assert_int_equal(blob_read(b, sizeof(b), blob_size(101), &h, &why), -EPROTO);
	assert_non_null(strstr(why, "version"));
	bad.host = 0;
	blob_write(&bad, b);
	assert_int_equal(blob_read(b, sizeof(b), blob_size(101), &h, &why), -EBADMSG);
	bad = head;
	bad.body_size = UINT64_MAX;
	blob_write(&bad, b);
	assert_int_equal(blob_read(b, sizeof(b), 128, &h, &why), -EBADMSG);
	b[4] = 'X';
	assert_int_equal(blob_read(b, sizeof(b), 128, &h, &why), -EBADMSG);
}

TEST(a_manifest_reads_back)
{
	struct manifest_channel c = { .name = "/a", .type = { "sim/Imu", 5 }, .max_body = 99, .reliable = true };
	struct manifest_service s = { .name = "/s",
				      .type = "sim/SetBool",
				      .request = { "sim/SetBoolRequest", 6 },
				      .response = { "sim/SetBoolResponse", UINT64_MAX } };
	const struct manifest m = {
		.host = "a", .id = 12, .channels = &c, .n_channels = 1, .services = &s, .n_services = 1
	};
	struct manifest *r = NULL;
	char *text = manifest_write(&m), why[200];

	assert_non_null(text);
	assert_int_equal(manifest_read(text, strlen(text), &r, why, sizeof(why)), 0);
	assert_string_equal(r->host, "a");
	assert_int_equal(r->id, 12);
	assert_int_equal(r->n_channels, 1);
	assert_memory_equal(&r->channels[0], &c, sizeof(c));
	assert_memory_equal(&r->services[0], &s, sizeof(s));
	manifest_free(r);
	free(text);
}

TEST(an_invalid_manifest_is_refused_with_the_reason)
{
	static const struct {
		const char *text, *why;
		int r;
	} rows[] = {
		{ "", "not a JSON", -EBADMSG },
		{ "[]", "not a JSON", -EBADMSG },
		{ "{\"host\":\"a\",\"version\":2}", "version 2 of the link", -EPROTO },
		{ "{\"host\":\"a b\",\"version\":1}", "host", -EBADMSG },
		{ "{\"host\":\"a\",\"version\":1,\"id\":\"0000000000000000\"}", "id", -EBADMSG },
		{ "{\"host\":\"a\",\"version\":1,\"id\":\"0000000000000001\",\"channels\":7}", "channels", -EBADMSG },
		{ "{\"host\":\"a\",\"version\":1,\"id\":\"0000000000000001\",\"channels\":[{\"name\":\"x\"}],\"services\":[]}",
		  "type", -EBADMSG },
		{ "{\"host\":\"a\",\"version\":1,\"id\":\"0000000000000001\",\"channels\":[{\"name\":\"/x\",\"type\":\"sim/Imu\","
		  "\"hash\":\"00000000000000aa\",\"max_body\":-1}],\"services\":[]}",
		  "max_body", -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct manifest *m = NULL;
		char why[200];

		assert_int_equal(manifest_read(rows[i].text, strlen(rows[i].text), &m, why, sizeof(why)), rows[i].r);
		if (!strstr(why, rows[i].why))
			fail_msg("row %zu: \"%s\"", i, why);
		manifest_free(m);
	}
}

TEST(a_call_reads_back_and_an_invalid_one_is_refused)
{
	const struct call_msg m = {
		.to = 1, .number = 2, .timeout_dur_ns = 3, .text = "/lamp", .text_len = 5, .body = "abc", .body_len = 3
	};
	static uint8_t b[CALL_MSG_MAX];
	struct call_msg r;
	size_t n = call_msg_write(&m, b);

	assert_int_equal(n, 48 + 3);
	assert_int_equal(call_msg_read(b, n, &r), 0);
	assert_int_equal(r.text_len, 5);
	assert_memory_equal(r.text, "/lamp", 5);
	assert_memory_equal(r.body, "abc", 3);
	assert_int_equal(call_msg_read(b, n - 1, &r), -EBADMSG);
	assert_int_equal(call_msg_read(b, n + 1, &r), -EBADMSG);
	b[28] = 0xff;
	b[31] = 0xff;
	assert_int_equal(call_msg_read(b, n, &r), -EBADMSG);
}

static const char *option_text;

static const char *get_option(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return option_text;
}

static __attribute__((format(printf, 3, 4))) void no_log(void *ctx, int level, const char *fmt, ...)
{
	(void)ctx;
	(void)level;
	(void)fmt;
}

TEST(patterns_include_and_exclude)
{
	const struct sim_bridge_host h = { .option = get_option, .log = no_log };
	struct patterns p;

	option_text = "[\"lidar/*\", \"!/lidar/raw\", \"*imu\"]";
	assert_int_equal(patterns_read(&h, "x", &p), 0);
	assert_true(patterns_match(&p, "/lidar/top"));
	assert_false(patterns_match(&p, "/lidar/raw"));
	assert_true(patterns_match(&p, "/car/imu"));
	assert_false(patterns_match(&p, "/camera"));
	patterns_finish(&p);
	option_text = "{}";
	assert_int_equal(patterns_read(&h, "x", &p), -EINVAL);
	patterns_finish(&p);
	option_text = "[1]";
	assert_int_equal(patterns_read(&h, "x", &p), -EINVAL);
	patterns_finish(&p);
}
