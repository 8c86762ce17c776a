/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of one cell of the world's grid at one tick, and their encoding: complete, or as the difference from an
 * earlier tick (Section and Row in schemas/wire/world.proto). A section is reference-counted and never changes once it
 * is made, so senders read one tick while the next is built. Thread: any; each holder has its own reference.
 */
#ifndef WORLD_SECTION_H
#define WORLD_SECTION_H

#include "body.h"
#include "motion.h"

#define SECTION_OBJECTS_MAX 65536u
#define SECTION_LEVELS      5u

struct section_key {
	int32_t x, y;
	uint32_t level;
};

static inline bool section_key_equal(struct section_key a, struct section_key b)
{
	return a.x == b.x && a.y == b.y && a.level == b.level;
}

struct object_state {
	uint64_t id; /* not 0 */
	uint32_t code, owner;
	struct motion motion;
	struct body *body; /* a reference; NULL: empty */
};

struct section {
	_Atomic uint32_t refs;
	uint32_t count;
	struct section_key key;
	uint64_t tick;
	int64_t time_sim_ns;
	uint64_t hash;                 /* of its objects */
	struct object_state objects[]; /* ascending by id */
};

/*
 * Creates a section of objects that ascend by id; takes their references, also on failure. -E2BIG; -EINVAL they do not
 * ascend; -ENOMEM.
 */
int section_create(struct section_key key, uint64_t tick, int64_t time_sim_ns, const struct object_state *objects,
		   uint32_t count, struct section **ret) __attribute__((warn_unused_result));
struct section *section_ref(struct section *s);
void section_unref(struct section *s);
const struct object_state *section_find(const struct section *s, uint64_t id); /* NULL: not in it */

/* Appends the body of a Section frame. base: an earlier tick of that cell, or NULL. Without memory sets out->failed. */
void section_encode(const struct section *s, const struct section *base, struct wire_buf *out);

/* The head of a frame, read before its base is looked up. */
struct section_head {
	struct section_key key;
	uint64_t tick, base; /* base 0: none */
};

int section_peek(const void *data, size_t len, struct section_head *ret) __attribute__((warn_unused_result));
/*
 * Decodes a frame with its base. -EBADMSG malformed, or not made from such a base; -E2BIG too many objects; -ESTALE its
 * count or hash does not match, so the receiver's state differs from the sender's; -ENOMEM.
 */
int section_decode(const void *data, size_t len, const struct section *base, struct section **ret)
	__attribute__((warn_unused_result));

/* XXH64 of one object's state as the protocol defines it; a section's hash is the sum of them. */
uint64_t object_hash(const struct object_state *o);

#endif
