/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts of one simulation tell each other about time: small messages, of which each says from whom, about which time host,
 * and all of what it means, so that one may be lost, come twice or come late. Written little-endian, without padding:
 *
 *     "ST" version kind | from life to epoch (8 each) | what the kind has
 *
 * All times are ns. `mono` is CLOCK_MONOTONIC of the host that is named with it, `sim` is simulated time. Who reads a message owns
 * nothing of it; its lists are the caller's. Thread: any.
 */
#ifndef LINK_TIME_MSG_H
#define LINK_TIME_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIME_MSG_VERSION     1u
#define TIME_NAME_SIZE       40u /* with its NUL */
#define TIME_HOSTS_MAX       128u
#define STEP_EXPORTS_MAX     256u  /* channels on which one host may publish for others in one step */
#define STEP_ALL_EXPORTS_MAX 4096u /* the same of all hosts */
#define STEP_LOOKAHEAD_MAX   8u
#define TIME_MSG_MAX         (64u + 24u * STEP_ALL_EXPORTS_MAX) /* bytes of any message */
#define TIME_MSG_SMALL_MAX   (128u + 16u * STEP_EXPORTS_MAX)    /* of any but COMMIT */
#define TIME_AT_MAX_NS       (INT64_C(1) << 62)

#define TIME_MSG_KINDS(X) \
	X(CLAIM, 1, "claim")   /* time host: I give time, and this is how it stands. Also the sign that it is there */ \
	X(RESIGN, 2, "resign") /* time host: no more */ \
	X(ASK, 3, "ask")       /* follower: what do you have on your clock? */ \
	X(ANSWER, 4, "answer") /* time host */ \
	X(JOIN, 5, "join")     /* follower: steps are to wait for me */ \
	X(WELCOME, 6, "welcome")  /* time host: from this step on */ \
	X(GRANT, 7, "grant")      /* time host: a step begins */ \
	X(DONE, 8, "done")        /* follower: my participants are through with it */ \
	X(COMMIT, 9, "commit")    /* time host: all are, and this is what they have published */ \
	X(LEAVE, 10, "leave")     /* follower: steps are not to wait for me any more */ \
	X(DROPPED, 11, "dropped") /* time host: they do not, see reason */

enum time_msg_kind {
#define X(id, num, name) TIME_##id = num,
	TIME_MSG_KINDS(X)
#undef X
		TIME_MSG_KINDS_END
};

enum step_reason {
	STEP_UNKNOWN = 1,  /* it is no member: it was away, or another run of the time host has begun */
	STEP_TOO_LATE = 2, /* the ladder's end */
	STEP_TOO_MUCH = 3, /* it publishes on more channels than a step has room for */
	STEP_FULL = 4,     /* TIME_HOSTS_MAX take part */
};

enum time_flag { /* of time_state */
		 TIME_IS_PAUSED = 1u << 0,
		 TIME_IS_STEPPING = 1u << 1,
		 TIME_HAS_STARTED = 1u << 2,
		 TIME_HAS_NO_DRIVER = 1u << 3, /* the time host's own driver is not there: time stands */
};

/* A clock page, as far as others need it. */
struct time_state {
	int64_t sim_ns, mono_ns; /* the time at that moment of the time host's clock */
	int64_t rate_e6;         /* millionths; 0: it stands, or is driven */
	int64_t scale_e6;        /* that was asked for */
	uint32_t clock_generation;
	uint32_t flags; /* enum time_flag */
};

/* What a host has published on a channel up to a step. */
struct step_export {
	uint64_t host;    /* of COMMIT; of DONE it is who sends it */
	uint64_t channel; /* a hash of its name */
	uint64_t last;    /* sequence of the last one */
};

struct time_msg {
	uint32_t kind;  /* enum time_msg_kind */
	uint64_t from;  /* host */
	uint64_t life;  /* random per run of it, not 0 */
	uint64_t to;    /* host; 0: all */
	uint64_t epoch; /* the life of the time host that it is about; of CLAIM its own */
	union {
		struct {
			char name[TIME_NAME_SIZE];
			int64_t since_real_ns; /* CLOCK_REALTIME of its first claim: with its id, its place among several */
			bool lockstep;         /* there are grants; time moves by them alone */
			uint8_t lookahead;
			uint64_t number; /* of the last step granted */
			struct time_state at;
		} claim;
		struct {
			uint64_t seq;
			int64_t sent_mono_ns; /* of who asks */
		} ask;
		struct {
			uint64_t seq;
			int64_t sent_mono_ns;               /* as it was asked */
			int64_t came_mono_ns, left_mono_ns; /* of the time host */
		} answer;
		struct {
			char name[TIME_NAME_SIZE];
			uint32_t attempt; /* counts: one that is repeated is the same */
		} join;
		struct {
			uint32_t attempt;
			uint64_t first; /* step */
			int64_t sim_ns; /* before it */
		} welcome;
		struct {
			uint64_t number;
			int64_t sim_ns; /* in it */
			int64_t dur_ns; /* by how much time moves */
			uint32_t clock_generation;
			uint8_t lookahead;
		} grant;
		struct {
			uint64_t number;
			const struct step_export *exports; /* borrowed */
			uint32_t n;
		} done, commit;
		struct {
			uint32_t reason; /* enum step_reason */
		} dropped;
	};
};

const char *time_msg_name(uint32_t kind); /* "?" none */

/*
 * How many bytes it takes, which are written if they are no more than `size`. 0: it has more exports than may be, or an unknown kind.
 */
size_t time_msg_write(const struct time_msg *m, void *to, size_t size) __attribute__((warn_unused_result));
/*
 * Reads one message of exactly `size` bytes; its exports go to `room`, of STEP_ALL_EXPORTS_MAX, and stay there.
 * -EPROTO: another version; -EINVAL: it is none, or says what cannot be.
 */
int time_msg_read(const void *from, size_t size, struct step_export *room, struct time_msg *ret)
	__attribute__((warn_unused_result));

#endif
