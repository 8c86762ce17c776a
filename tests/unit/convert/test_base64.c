/* SPDX-License-Identifier: Apache-2.0 */
/* base64, of every length and at every alignment, against the words of RFC 4648 and a writer of bit by bit. */
#include "support/test.h"

#include <errno.h>

#include "base64.h"
#include "unit/introspect/random_msg.h"

#define MOST 700u

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

TEST(the_test_vectors_of_the_rfc_are_reproduced)
{
	static const char *const want[] = { "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
	char text[16];
	uint8_t back[16];

	for (size_t n = 0; n <= 6; n++) {
		assert_int_equal(base64_length(n), strlen(want[n]));
		*base64_write(text, "foobar", n) = '\0';
		assert_string_equal(text, want[n]);
		assert_int_equal(base64_read(back, text, strlen(text)), n);
		assert_memory_equal(back, "foobar", n);
	}
}

/* The six bits from bit 6 * i on. */
static char slow(const uint8_t *data, size_t n, size_t i)
{
	unsigned v = 0;

	if (i * 6 >= n * 8)
		return '=';
	for (size_t bit = i * 6; bit < i * 6 + 6; bit++)
		v = v << 1 | (bit < n * 8 ? data[bit / 8] >> (7 - bit % 8) & 1u : 0);
	return alphabet[v];
}

TEST(every_length_is_encoded_at_every_alignment)
{
	uint64_t seed = test_seed(1);
	uint8_t data[MOST + 64], back[MOST + 64];
	char text[MOST * 2];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random_next(&seed);
	for (size_t n = 0; n < MOST / 2; n++) {
		const uint8_t *from = data + n % 40;
		size_t len = base64_length(n);

		memset(text, '#', sizeof(text));
		memset(back, 0xa5, sizeof(back));
		assert_ptr_equal(base64_write(text + n % 33, from, n), text + n % 33 + len);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(text[n % 33 + i], slow(from, n, i));
		assert_int_equal(text[n % 33 + len], '#');
		assert_int_equal(base64_read(back, text + n % 33, len), n);
		assert_memory_equal(back, from, n);
		assert_int_equal(back[len / 4 * 3], 0xa5);
	}
}

/* Every invalid character, at every place of a long text. */
TEST(an_invalid_character_is_refused)
{
	char text[132];
	uint8_t back[100];

	for (size_t i = 0; i < sizeof(text); i++)
		for (unsigned c = 0; c < 256; c++) {
			bool good = c && strchr(alphabet, (int)c);

			memset(text, 'A', sizeof(text));
			text[i] = (char)c;
			if (c == '=' && i == sizeof(text) - 1)
				assert_int_equal(base64_read(back, text, sizeof(text)), 98);
			else
				assert_int_equal(base64_read(back, text, sizeof(text)), good ? 99 : -EBADMSG);
		}
	for (size_t n = 1; n < 4; n++)
		assert_int_equal(base64_read(back, text, n), -EBADMSG);
	assert_int_equal(base64_read(back, "A===", 4), -EBADMSG);
	assert_int_equal(base64_read(back, "AA==AAAA", 8), -EBADMSG);
}
