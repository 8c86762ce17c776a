/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of one port of a network switch: a queue that loses, delays, reorders and duplicates frames and lets so many bytes
 * a second through. Pure: no sockets, no clock, the caller's time.
 *
 * Each frame takes the same four random numbers whatever the rules are. So what becomes of the n-th frame depends on the seed, on n and on
 * the rule in question alone, not on the others.
 *
 * Order is kept, under jitter too; only frames that `reorder` chooses are held back, and others overtake them.
 *
 * Thread: the owner's. Errors: negative errno, sentence in err_why().
 */
#ifndef TEST_SUPPORT_SWITCH_PATH_H
#define TEST_SUPPORT_SWITCH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWITCH_FRAME_MAX   1514             /* bytes: MTU 1500 and the Ethernet header */
#define SWITCH_FRAMES_MAX  4096             /* that wait in one path; more are dropped */
#define SWITCH_LATE_DUR_NS INT64_C(5000000) /* later than this behind its time a frame counts as late */

/* All zero: frames pass at once and unharmed. */
struct switch_rules {
	int64_t delay_dur_ns;  /* each frame takes at least this long */
	int64_t jitter_dur_ns; /* and up to this much longer, evenly distributed */
	double loss;           /* probabilities, 0 ..= 1, of each frame by itself */
	double duplicate;
	double reorder;
	int64_t hold_dur_ns;    /* what is reordered is held back for this long beyond its time; > 0 with reorder */
	int64_t rate_bytes_s;   /* 0: any */
	int64_t burst_bytes;    /* so many pass at once; with a rate SWITCH_FRAME_MAX or more */
	int64_t backlog_dur_ns; /* what the rate would let wait longer is dropped */
};

struct switch_counts {
	uint64_t in, out;     /* frames; with duplicates out can be more than in */
	uint64_t bytes;       /* of those that came in */
	uint64_t lost;        /* by the rule */
	uint64_t duplicated;  /* copies made */
	uint64_t held;        /* chosen by `reorder` */
	uint64_t reordered;   /* came out behind a later one */
	uint64_t over_rate;   /* dropped: the backlog of the rate is full */
	uint64_t over_frames; /* dropped: SWITCH_FRAMES_MAX wait, or no memory */
	uint64_t late; /* taken out more than SWITCH_LATE_DUR_NS behind their time: the machine was busy, not the rules */
};

struct switch_path;

int switch_path_create(uint64_t seed, struct switch_path **ret); /* -ENOMEM */
void switch_path_destroy(struct switch_path *p);                 /* tolerates NULL */

/*
 * From the next frame on. Borrows rules. -EINVAL: a probability or a time is out of range, a rate has no burst, or a `reorder`
 * no hold; then the old ones stay. What already waits keeps its time.
 */
int switch_path_set(struct switch_path *p, const struct switch_rules *rules);

/* A frame comes in; it is copied. now_mono_ns never goes back. Longer than SWITCH_FRAME_MAX: dropped (over_frames). */
void switch_path_push(struct switch_path *p, int64_t now_mono_ns, const void *frame, size_t len);

/* When switch_path_pop() has something next; INT64_MAX: nothing waits. */
int64_t switch_path_next(const struct switch_path *p);

/* The next frame that is due. False: none. ret_frame: borrowed until the next call on p. */
bool switch_path_pop(struct switch_path *p, int64_t now_mono_ns, const void **ret_frame, size_t *ret_len);

const struct switch_counts *switch_path_counts(const struct switch_path *p); /* kept by p */

#endif
