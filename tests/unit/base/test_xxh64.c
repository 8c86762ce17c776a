/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64 against values of the reference implementation, in any pieces. */
#include "tests/support/test.h"

#include <string.h>

#include "xxh64.h"

static const struct {
	const char *text;
	uint64_t value;
} known[] = {
	{ "", UINT64_C(0xef46db3751d8e999) },
	{ "a", UINT64_C(0xd24ec4f1a98c6e5b) },
	{ "abc", UINT64_C(0x44bc2cf5ad770999) },
	{ "Nobody inspects the spammish repetition", UINT64_C(0xfbcea83c8a378bf1) },
	{ "The quick brown fox jumps over the lazy dog, twice: it likes the exercise.", UINT64_C(0x7803a9004eb39fee) },
};

TEST(known_values_come_out)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t len = strlen(known[i].text);

		for (size_t piece = 1; piece <= len + 1; piece++) {
			struct xxh64 h;

			xxh64_init(&h);
			for (size_t at = 0; at < len; at += piece)
				xxh64_add(&h, known[i].text + at, len - at < piece ? len - at : piece);
			assert_true(xxh64_value(&h) == known[i].value);
		}
	}
}
