/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a Section frame of the world's protocol: refused, or a section that, encoded again against the same
 * base, decodes to itself. The first byte chooses the base: none, or one of three that this program has.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/world/random_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define N_BASES 3u
static struct section *bases[N_BASES];

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void make_bases(void)
{
	struct rnd r;

	rnd_seed(&r, 12);
	for (unsigned i = 0; i < N_BASES; i++)
		bases[i] = random_section(&r, i ? bases[i - 1] : NULL);
}

static void again(const struct section *s, const struct section *base)
{
	struct wire_buf frame = { 0 };
	struct section *back = NULL;

	section_encode(s, base, &frame);
	must(!frame.failed && section_decode(frame.data, frame.len, base, &back) == 0 && section_equal(s, back));
	section_unref(back);
	wire_buf_finish(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct section *base;
	struct section_head head;
	struct section *s = NULL;
	uint8_t *frame;
	int r;

	if (!bases[0])
		make_bases();
	if (!size)
		return 0;
	base = data[0] % (N_BASES + 1) ? bases[data[0] % (N_BASES + 1) - 1] : NULL;
	frame = malloc(size); /* of its size: a sanitizer sees an access beyond */
	must(frame != NULL);
	memcpy(frame, data + 1, size - 1);
	r = section_decode(frame, size - 1, base, &s);
	must(r <= 0 && (r != 0 || section_peek(frame, size - 1, &head) == 0));
	if (!r)
		again(s, base);
	section_unref(s);
	free(frame);
	return 0;
}
