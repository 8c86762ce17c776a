/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input log of sim-world with correct hashes: records as a length (two bytes), a kind, contents; a record with a
 * connection has a small number, as the table of connections is as long as the highest. It is replayed or refused with
 * an error text, and all memory is freed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "tools/world/input_log.h"
#include "tools/world/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	uint8_t bytes[1 << 16];
	size_t len;
	uint64_t chain;
};

static void add(struct file *f, const uint8_t *data, size_t len)
{
	uint8_t *at = f->bytes + f->len;

	memcpy(at, (const uint8_t[]){ (uint8_t)len, (uint8_t)(len >> 8), 0, 0 }, 4);
	memcpy(at + 4, data, len);
	if (len >= 5 && at[4] > INPUT_LOG_BEGIN && at[4] < INPUT_LOG_TICK)
		at[6] = at[7] = at[8] = 0;
	f->chain = input_log_chain(f->chain, at + 4, len);
	for (unsigned i = 0; i < 8; i++)
		at[4 + len + i] = (uint8_t)(f->chain >> 8 * i);
	f->len += len + 12;
}

/* 100 objects, 16 of each; 100 m; 10 ms. */
static const uint8_t begin[41] = { INPUT_LOG_BEGIN,
				   1,
				   0,
				   0,
				   0,
				   0,
				   0,
				   0,
				   0,
				   100,
				   0,
				   0,
				   0,
				   16,
				   0,
				   0,
				   0,
				   0xa0,
				   0x86,
				   1,
				   0,
				   0,
				   0,
				   0,
				   0,
				   0x80,
				   0x96,
				   0x98 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file f;
	struct replay_result r;
	struct mem_stats before, after;
	FILE *in;

	f.len = 8;
	f.chain = 0;
	memcpy(f.bytes, INPUT_LOG_MAGIC, 8);
	add(&f, begin, sizeof(begin));
	while (size > 2) {
		size_t len = (size_t)data[0] | (size_t)(data[1] & 0x3f) << 8;

		data += 2;
		size -= 2;
		len = len < size ? len : size;
		if (f.len + len + 12 > sizeof(f.bytes))
			break;
		add(&f, data, len);
		data += len;
		size -= len;
	}
	in = fmemopen(f.bytes, f.len, "rb");
	if (!in)
		return 0;
	mem_stats(&before);
	err_clear();
	if (replay(in, &r) < 0 && !*err_why())
		abort();
	mem_stats(&after);
	if (before.blocks != after.blocks)
		abort();
	(void)fclose(in);
	return 0;
}
