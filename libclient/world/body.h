/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of objects: protobuf whose definition need not be known here, since a difference is one of fields ("Bodies" in
 * schemas/wire/world.md). A body is counted, and never changes. Thread: any; each holder has its own reference.
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

/* A copy. -E2BIG longer than BODY_MAX; -EBADMSG no protobuf; -ENOMEM. Of no bytes: NULL, which all below take for an empty body. */
int body_create(const void *data, size_t len, struct body **ret) __attribute__((warn_unused_result));
struct body *body_ref(struct body *b);
void body_unref(struct body *b);
bool body_equal(const struct body *a, const struct body *b);

/*
 * Appends to out the fields of b that are not as in base. True: that was possible; false: out has nothing more, and the whole body is
 * to be sent. Nothing appended and true: they are equal.
 */
bool body_diff(const struct body *base, const struct body *b, struct wire_buf *out);
/* base with the fields of a difference in place of its own. -EBADMSG either is not in order; -E2BIG; -ENOMEM. */
int body_merge(const struct body *base, const void *diff, size_t len, struct body **ret)
	__attribute__((warn_unused_result));

#endif
