/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a packed message: refused, or unpacked into a message that packs into the same bytes again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The ranges stand behind the header, each as three numbers of 32 bits, little-endian as this machine. */
static unsigned ranges_of(const uint8_t *data, struct pack_range *ret)
{
	memcpy(ret, data + 8, 12u * data[1]);
	return data[1];
}

static void pack_again(const uint8_t *data, size_t size, uint8_t *message, size_t n)
{
	struct pack_range ranges[PACK_RANGES_MAX];
	const struct iovec piece = { message, n };
	uint8_t *packed = malloc(PACK_HEAD_MAX + n), *back = malloc(n + 1);
	int64_t len = packed && back ? pack_encode(packed, &piece, 1, ranges, ranges_of(data, ranges)) : -1;

	if (len != (int64_t)size || pack_size(packed, size) != (int64_t)n || pack_decode(back, packed, size) != 0 ||
	    memcmp(back, message, n))
		abort();
	free(packed);
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t n = pack_size(data, size);
	uint8_t *message;

	if (n > (int64_t)size)
		abort();
	message = malloc(n > 0 ? (size_t)n : 1); /* of exactly its size: a sanitizer sees an access beyond */
	if (!message || (pack_decode(message, data, size) == 0) != (n >= 0))
		abort();
	if (n >= 0)
		pack_again(data, size, message, (size_t)n);
	free(message);
	return 0;
}
