/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of objects: protobuf whose definition need not be known here, since differences work by field ("Bodies" in
 * schemas/wire/world.md). A body is reference-counted and never changes. Thread: any; each holder has its own
 * reference.
 */
#ifndef WORLD_BODY_H
#define WORLD_BODY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

#define BODY_MAX 32768u /* bytes */

struct body {
	_Atomic uint32_t refs;
	uint32_t len;
	uint8_t data[];
};

/*
 * Creates a body with a copy of data. -E2BIG longer than BODY_MAX; -EBADMSG not protobuf; -ENOMEM. For len 0: NULL,
 * which all functions below take for an empty body.
 */
int body_create(const void *data, size_t len, struct body **ret) __attribute__((warn_unused_result));
struct body *body_ref(struct body *b);
void body_unref(struct body *b);
bool body_equal(const struct body *a, const struct body *b);

/*
 * Appends to out the fields of b that differ from base. Returns true: done (if nothing was appended they are equal);
 * false: not possible, nothing was appended, and the whole body must be sent.
 */
bool body_diff(const struct body *base, const struct body *b, struct wire_buf *out);
/* Applies a difference to base. -EBADMSG one of them is malformed; -E2BIG; -ENOMEM. */
int body_merge(const struct body *base, const void *diff, size_t len, struct body **ret)
	__attribute__((warn_unused_result));

#endif
