/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch itself, without devices and clock: frames of Ethernet in, frames out. It learns behind which port an address is,
 * floods what it does not know, multicast and broadcast, and keeps ports apart while they are in different parts. A frame goes
 * through the sender's path into the switch, there it is decided who gets it, then through a path to each of these.
 *
 * Thread: the owner's. Errors: negative errno, sentence in err_why().
 */
#ifndef TEST_SUPPORT_SWITCH_CORE_H
#define TEST_SUPPORT_SWITCH_CORE_H

#include "switch_path.h"

#define SWITCH_PORTS_MAX      16
#define SWITCH_ADDRESSES_MAX  256 /* learned; what comes from further ones is carried, what goes to them flooded */
#define SWITCH_PARTITIONS_MAX 64

enum switch_direction {
	SWITCH_IN,  /* from the port's namespace into the switch */
	SWITCH_OUT, /* from the switch into the namespace */
};

struct switch_core;

int switch_core_create(uint64_t seed, struct switch_core **ret); /* -ENOMEM */
void switch_core_destroy(struct switch_core *c);                 /* tolerates NULL */

/* Returns the number of the new port, from 0; -ENOSPC: SWITCH_PORTS_MAX; -ENOMEM. */
int switch_core_add_port(struct switch_core *c);

/* As switch_path_set(). -ENOENT: there is no such port. */
int switch_core_set(struct switch_core *c, unsigned port, enum switch_direction d, const struct switch_rules *rules);

/*
 * From from_mono_ns until until_mono_ns (INT64_MAX: for ever) nothing passes between the ports whose bits are set in `ports` and
 * the others. Several may hold at once; one that is over gives its place back. -EINVAL: it ends before it begins; -ENOSPC:
 * SWITCH_PARTITIONS_MAX.
 */
int switch_core_part(struct switch_core *c, uint32_t ports, int64_t from_mono_ns, int64_t until_mono_ns);
void switch_core_heal(struct switch_core *c); /* ends all of them, also those to come */

/* A frame from a port's namespace. Shorter than an Ethernet header: ignored; longer than SWITCH_FRAME_MAX: dropped (over_frames). */
void switch_core_push(struct switch_core *c, unsigned port, int64_t now_mono_ns, const void *frame, size_t len);

/* When switch_core_pop() must be called next; INT64_MAX: nothing waits. */
int64_t switch_core_next(const struct switch_core *c);

/*
 * Everything that is due by now goes one step further; the next frame for a namespace is returned. Returns its port, or -EAGAIN
 * (without a sentence) when there is none. ret_frame: borrowed until the next call on c.
 */
int switch_core_pop(struct switch_core *c, int64_t now_mono_ns, const void **ret_frame, size_t *ret_len);

/* -ENOENT: there is no such port. */
int switch_core_counts(const struct switch_core *c, unsigned port, enum switch_direction d, struct switch_counts *ret);
/* Frames that a partition has stopped on the way to this port. */
uint64_t switch_core_parted(const struct switch_core *c, unsigned port);

#endif
