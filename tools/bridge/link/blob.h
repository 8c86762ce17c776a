/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of what one machine sends another: a head of 128 bytes, the body exactly as in the slot, and up to 3 bytes
 * of padding to a multiple of 4. The head begins with the 4-byte CDR header that DDS requires. Numbers are
 * little-endian, in bodies too.
 *
 *     0  00 01 00 00     16 type_hash         48 body_size
 *     4  "SLNK"          24 host              56 confirm
 *     8  version, flags  32 sequence          64 frame, NUL at its end
 *    12  0               40 stamp_sim_ns     104 exporter, 112 number, 120 step
 *
 * Thread: any; no state.
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
	BLOB_CONFIRM = 1u << 0, /* the receiver must answer with the value of `confirm` */
	/* in lock-step: this is a repetition; a receiver that has the message, or has ended its step, drops it */
	BLOB_AGAIN = 1u << 1,
};

struct blob_head {
	uint64_t type_hash;
	uint64_t host, sequence; /* simd_id of the simd where it was published, and its sequence there; both not 0 */
	int64_t stamp_sim_ns;
	uint64_t body_size;
	uint64_t confirm; /* number to answer with, if BLOB_CONFIRM */
	/*
	 * If sent within a lock-step step, else 0: the sending host's ID for time (TIME.md), a number counted per
	 * channel there, and the step.
	 */
	uint64_t exporter, number, step;
	unsigned flags; /* enum blob_flag */
	char frame[BLOB_FRAME_MAX + 1];
};

/* Size of head, body and padding. */
static inline size_t blob_size(size_t body_size)
{
	return BLOB_HEAD + (body_size + 3) / 4 * 4;
}

void blob_write(const struct blob_head *h, uint8_t ret[BLOB_HEAD]);

/*
 * Reads the head of a blob of `size` bytes, of which the first `have` are given. 0; -EBADMSG: no blob, or the sizes do
 * not match; -EPROTO: another version. *ret_why: the reason, static.
 */
int blob_read(const uint8_t *bytes, size_t have, size_t size, struct blob_head *ret, const char **ret_why);

#endif
