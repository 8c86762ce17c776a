/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What travels between two machines: 128 bytes of head, then the body as it lies in a slot, then up to 3 bytes up to a multiple of 4. The
 * head begins with the 4 bytes of CDR that DDS asks for. All numbers little-endian; bodies are those of a little-endian machine.
 *
 *     0  00 01 00 00     16 type_hash         48 body_size
 *     4  "SLNK"          24 host              56 confirm
 *     8  version, flags  32 sequence          64 frame, NUL at its end
 *    12  0               40 stamp_sim_ns     104 exporter, 112 number, 120 step
 *
 * Thread: any; nothing is kept.
 */
#ifndef BLOB_H
#define BLOB_H

#include <stddef.h>
#include <stdint.h>

#define BLOB_HEAD      128u
#define BLOB_VERSION   1u
#define BLOB_FRAME_MAX 39u
#define BLOB_BODY_MAX  (UINT32_C(1) << 31)

enum blob_flag {
	BLOB_CONFIRM = 1u << 0, /* who has published it answers with its `confirm` */
	BLOB_AGAIN = 1u << 1,   /* of a step: it was sent before; who has it, or is through with the step, drops it */
};

struct blob_head {
	uint64_t type_hash;
	uint64_t host, sequence; /* simd_id of the simd where it was published, and its sequence there; neither is 0 */
	int64_t stamp_sim_ns;
	uint64_t body_size;
	uint64_t confirm; /* number of the answer that is awaited, with BLOB_CONFIRM */
	/* Of a message that was sent within a step of lock-step; else 0: its host (TIME.md), its number there on the channel, the step. */
	uint64_t exporter, number, step;
	unsigned flags; /* enum blob_flag */
	char frame[BLOB_FRAME_MAX + 1];
};

/* Bytes of the whole. */
static inline size_t blob_size(size_t body_size)
{
	return BLOB_HEAD + (body_size + 3) / 4 * 4;
}

void blob_write(const struct blob_head *h, uint8_t ret[BLOB_HEAD]);

/*
 * Read the head of a blob of `size` bytes, of which the first `have` are there. 0; -EBADMSG it is none, or its sizes do not agree;
 * -EPROTO of another version. *ret_why: in words, static.
 */
int blob_read(const uint8_t *bytes, size_t have, size_t size, struct blob_head *ret, const char **ret_why);

#endif
