/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages about time between the hosts of one simulation. Each names its sender and the time host it is about, and
 * is complete by itself, so that messages may be lost, repeated or overtaken. Format, little-endian, without padding:
 *
 *     "ST" version kind | from life to epoch (8 each) | members of the kind
 *
 * Times are in ns: `mono` is CLOCK_MONOTONIC of the host named in the comment, `sim` is simulated time. The lists of a
 * message that was read are in the caller's buffer. Thread: any.
 */
#ifndef LINK_TIME_MSG_H
#define LINK_TIME_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIME_MSG_VERSION     1u
#define TIME_NAME_SIZE       40u /* with NUL */
#define TIME_HOSTS_MAX       128u
#define STEP_EXPORTS_MAX     256u  /* channels on which one host may publish for others in one step */
#define STEP_ALL_EXPORTS_MAX 4096u /* by all hosts together */
#define STEP_LOOKAHEAD_MAX   8u
#define TIME_MSG_MAX         (64u + 24u * STEP_ALL_EXPORTS_MAX) /* bytes of any message */
#define TIME_MSG_SMALL_MAX   (128u + 16u * STEP_EXPORTS_MAX)    /* of any kind but COMMIT */
#define TIME_AT_MAX_NS       (INT64_C(1) << 62)

#define TIME_MSG_KINDS(X) \
	X(CLAIM, 1, "claim")      /* time host: gives time; has the state of its clock. Also shows that it is alive */ \
	X(RESIGN, 2, "resign")    /* time host: no longer gives time */ \
	X(ASK, 3, "ask")          /* follower: asks for the time host's CLOCK_MONOTONIC */ \
	X(ANSWER, 4, "answer")    /* time host: answers ASK */ \
	X(JOIN, 5, "join")        /* follower: asks to take part in steps */ \
	X(WELCOME, 6, "welcome")  /* time host: answers JOIN, with the first step */ \
	X(GRANT, 7, "grant")      /* time host: a step begins */ \
	X(DONE, 8, "done")        /* follower: its participants have finished the step */ \
	X(COMMIT, 9, "commit")    /* time host: all hosts have; lists what they published */ \
	X(LEAVE, 10, "leave")     /* follower: no longer takes part */ \
	X(DROPPED, 11, "dropped") /* time host: a host does not take part, see reason */

enum time_msg_kind {
#define X(id, num, name) TIME_##id = num,
	TIME_MSG_KINDS(X)
#undef X
		TIME_MSG_KINDS_END
};

enum step_reason {
	STEP_UNKNOWN = 1,  /* it is not a member: it was away, or the time host was restarted */
	STEP_TOO_LATE = 2, /* it did not answer within the deadline */
	STEP_TOO_MUCH = 3, /* it publishes on more channels than a step has room for */
	STEP_FULL = 4,     /* TIME_HOSTS_MAX hosts take part */
};

enum time_flag { /* of time_state */
		 TIME_IS_PAUSED = 1u << 0,
		 TIME_IS_STEPPING = 1u << 1,
		 TIME_HAS_STARTED = 1u << 2,
		 TIME_HAS_NO_DRIVER = 1u << 3, /* the time host has no driver: time stands */
};

/* The state of the time host's clock page. */
struct time_state {
	int64_t sim_ns, mono_ns; /* the simulated time at that moment of the time host's CLOCK_MONOTONIC */
	int64_t rate_e6;         /* ppm; 0: time stands or is driven */
	int64_t scale_e6;        /* as set by the user */
	uint32_t clock_generation;
	uint32_t flags; /* enum time_flag */
};

/* What a host has published on a channel up to and including a step. */
struct step_export {
	uint64_t host;    /* in COMMIT; in DONE it is the sender */
	uint64_t channel; /* link_hash() of its name */
	uint64_t last;    /* number of the last message */
};

struct time_msg {
	uint32_t kind;  /* enum time_msg_kind */
	uint64_t from;  /* host ID */
	uint64_t life;  /* random for each run of the host, not 0 */
	uint64_t to;    /* host ID; 0: all */
	uint64_t epoch; /* life of the time host that the message is about; in CLAIM the sender's */
	union {
		struct {
			char name[TIME_NAME_SIZE];
			/* CLOCK_REALTIME of its first claim, which gives priority if several claim */
			int64_t since_real_ns;
			bool lockstep; /* grants are sent; time advances only by them */
			uint8_t lookahead;
			uint64_t number; /* the last step granted */
			struct time_state at;
		} claim;
		struct {
			uint64_t seq;
			int64_t sent_mono_ns; /* of the asking host */
		} ask;
		struct {
			uint64_t seq;
			int64_t sent_mono_ns;               /* from the ASK */
			int64_t came_mono_ns, left_mono_ns; /* of the time host */
		} answer;
		struct {
			char name[TIME_NAME_SIZE];
			uint32_t attempt; /* a repeated JOIN has the same number */
		} join;
		struct {
			uint32_t attempt;
			uint64_t first; /* step */
			int64_t sim_ns; /* time before that step */
		} welcome;
		struct {
			uint64_t number;
			int64_t sim_ns; /* time after the step */
			int64_t dur_ns; /* by how much time advances */
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

const char *time_msg_name(uint32_t kind); /* "?": unknown kind */

/* Returns the bytes of the message, which are written if there is room. 0: too many exports, or an unknown kind. */
size_t time_msg_write(const struct time_msg *m, void *to, size_t size) __attribute__((warn_unused_result));
/*
 * Reads one untrusted message of exactly `size` bytes; its exports are stored in `room`, which has
 * STEP_ALL_EXPORTS_MAX. -EPROTO: another version; -EINVAL: not a valid message.
 */
int time_msg_read(const void *from, size_t size, struct step_export *room, struct time_msg *ret)
	__attribute__((warn_unused_result));

#endif
