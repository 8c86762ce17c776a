/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file under Apollo's name is Apollo's to the byte: a descriptor pool refuses any other of that name. The golden lists have the SHA-256 of
 * the FileDescriptorProto of each, of the releases 5.0 and 10.0, without names in JSON and places in the source.
 */
#include "support/test.h"

#include <errno.h>
#include <sha2.h>
#include <string.h>

#include "apollo.h"
#include "apollo_definitions.h"
#include "gen/plain_file.h"
#include "pb_reader.h"

struct set {
	struct pb_reader file[APOLLO_DEFINITIONS_MAX];
	char name[APOLLO_DEFINITIONS_MAX][128];
	unsigned n;
};

static void read_set(const void *data, size_t size, struct set *s)
{
	struct pb_reader r, in;
	int error = 0;

	s->n = 0;
	pb_read_begin(&r, data, size, &error);
	for (; pb_next(&r); s->n++) {
		assert_in_range(s->n, 0, APOLLO_DEFINITIONS_MAX - 1);
		s->file[s->n] = r;
		pb_enter(&r, &in);
		assert_true(pb_next(&in) && in.field == 1 && in.len < 128);
		snprintf(s->name[s->n], 128, "%.*s", (int)in.len, (const char *)in.data);
	}
	assert_int_equal(error, 0);
}

static const struct pb_reader *find(const struct set *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0)
			return &s->file[i];
	fail_msg("no definition of %s", name);
	return NULL;
}

/* All but one are of the list: that of SVL's own message. */
static void hold(const char *golden, const void *data, size_t size)
{
	static struct set s;
	char name[128], want[65], is[SHA256_DIGEST_STRING_LENGTH];
	FILE *f = fopen(golden, "re");
	unsigned n = 0;

	assert_non_null(f);
	read_set(data, size, &s);
	for (; fscanf(f, "%127s %64s", name, want) == 2; n++) {
		const struct pb_reader *file = find(&s, name);

		SHA256Data(file->data, file->len, is);
		if (strcmp(is, want) != 0)
			fail_msg("%s is not that of %s", name, golden);
	}
	fclose(f);
	assert_int_equal(n, s.n - 1);
}

TEST(each_file_of_apollo_10_is_unchanged)
{
	hold("tests/unit/convert/apollo_10.golden", apollo_definitions_10, apollo_definitions_10_size);
}

TEST(each_file_of_apollo_5_is_unchanged)
{
	hold("tests/unit/convert/apollo_5.golden", apollo_definitions_5, apollo_definitions_5_size);
}

/* ---- plain files ---- */

static const uint8_t raw[] = {
	0x0a, 1,  'f',                             /* name */
	0x22, 16, 0x0a, 1, 'M',                    /* a message */
	0x12, 6,  0x18, 1, 0x52, 2, 'j', 's',      /* its field: number, name in JSON */
	0x1a, 3,  0x0a, 1, 'N',                    /* a message within */
	0x3a, 7,  0x18, 2, 0x52, 3, 'x', 'y', 'z', /* an extension */
	0x4a, 2,  0x0a, 0,                         /* places in the source */
	0x62, 1,  's',
};
static const uint8_t plain[] = { 0x0a, 1, 'f',  0x22, 12,  0x0a, 1, 'M',  0x12, 2,    0x18, 1,
				 0x1a, 3, 0x0a, 1,    'N', 0x3a, 2, 0x18, 2,    0x62, 1,    's' };

TEST(a_stripped_file_has_no_json_names_and_no_source_positions)
{
	uint8_t out[sizeof(raw)];

	assert_int_equal(plain_file(raw, sizeof(raw), out), sizeof(plain));
	assert_memory_equal(out, plain, sizeof(plain));
	assert_int_equal(plain_file(plain, sizeof(plain), out), sizeof(plain));
	assert_memory_equal(out, plain, sizeof(plain));
	memcpy(out, raw, sizeof(raw));
	assert_int_equal(plain_file(out, sizeof(raw), out), sizeof(plain));
	assert_memory_equal(out, plain, sizeof(plain));
}

TEST(a_file_that_ends_within_a_field_is_refused)
{
	uint8_t out[sizeof(raw)];

	for (size_t n = 0; n < sizeof(raw); n++) {
		uint8_t *exact = malloc(n + 1); /* reading behind it shows under the address sanitizer */
		long r;

		assert_non_null(exact);
		memcpy(exact, raw, n);
		r = plain_file(exact, n, out);
		assert_true(r == -EBADMSG || r <= (long)n);
		if (n == 1 || n == 6 || n == 22 || n == 31 || n == 37)
			assert_int_equal(r, -EBADMSG);
		free(exact);
	}
}

TEST(a_file_that_nests_a_thousand_deep_is_refused)
{
	uint8_t deep[4000], out[sizeof(deep)];
	size_t at = sizeof(deep);

	for (unsigned i = 0; i < 1000; i++) {
		size_t len = sizeof(deep) - at;

		if (len < 128) {
			deep[--at] = (uint8_t)len;
		} else {
			deep[--at] = (uint8_t)(len >> 7);
			deep[--at] = (uint8_t)(len | 0x80);
		}
		deep[--at] = i < 999 ? 0x1a : 0x22;
	}
	assert_int_equal(plain_file(deep + at, sizeof(deep) - at, out), -EBADMSG);
}
