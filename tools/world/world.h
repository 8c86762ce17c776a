/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world with its sessions, without sockets and without a clock: bytes that came from a client go in, bytes for it come out, and whoever
 * calls says what time it is. So the server's loop is short, and a test has thousands of clients in virtual time.
 * Thread: one.
 */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "access.h"
#include "barrier.h"
#include "store.h"

struct world;
struct session;

enum world_event { WORLD_CAME, WORLD_LEFT, WORLD_REFUSED, WORLD_LATE, WORLD_IN_TIME, WORLD_PAUSED };

/* What an operator wants to read, a line each; name: the client's, printable; "": it has not said one. */
typedef void (*world_event_fn)(void *user, enum world_event what, uint32_t connection, const char *name,
			       const char *sentence);

struct world_options {
	struct store_options store;
	struct barrier_options barrier; /* its step is the store's */
	uint64_t number;                /* of this run: Welcome::world; not 0 */
	uint32_t sessions_max;          /* that take part, and as many again that have not said Hello */
	uint32_t members_max;
	int64_t radius_mm;    /* of interest, where a client says none; VIEW_ALL */
	const char *token;    /* that each must say; NULL: none. Kept */
	struct access access; /* its tables are kept; 0: all may do everything, and no types are named */
	int64_t hello_dur_ns; /* for the first frame; 0: 5 s */
	int64_t grace_dur_ns; /* objects of who has lost its connection stay for so long */
	int64_t ahead_dur_ns; /* of what is stamped later than the next tick and this: -ERANGE, or clamped */
	bool clamp;           /* a stamp that is too far ahead becomes the latest that is allowed */
	size_t queue_soft,
		queue_hard;   /* bytes that wait for a client: above soft it is sent no tick; 0: 8 and 32 MiB */
	int64_t queue_dur_ns; /* above soft for so long: it is too slow; 0: 10 s */
	world_event_fn event; /* may be NULL */
	void *user;
};

/* -EINVAL; -ENOMEM. */
int world_create(const struct world_options *o, int64_t now_mono_ns, struct world **ret)
	__attribute__((warn_unused_result));
void world_destroy(struct world *w); /* sessions as well, without a word to them */

/*
 * Everything that is due: ticks, the ladder, who is too slow. Returns when to come again; INT64_MAX: when something has come in.
 */
int64_t world_turn(struct world *w, int64_t now_mono_ns);
/* All are told, and end. */
void world_stop(struct world *w);

/* ---- one client ---- */

/* -ENOSPC as many as may be; -ENOMEM. */
int session_open(struct world *w, int64_t now_mono_ns, struct session **ret) __attribute__((warn_unused_result));
/* Who it has proved to be, up to 63 characters: shown beside what it calls itself. Once, before anything came from it. */
void session_set_certificate(struct session *s, const char *name);
/* What came from it; nothing is kept of data. After an error of its own making it is told, unless no Hello has come from it, and ends. */
void session_input(struct session *s, const void *data, size_t len, int64_t now_mono_ns);
/* What is for it, from the first byte that was not sent; valid until the next call with it or with its world. */
size_t session_output(const struct session *s, const void **ret);
void session_sent(struct session *s, size_t n);
/* When all is sent its connection is to be closed; nothing that comes is looked at. */
bool session_ends(const struct session *s);
/* The connection is gone: so is s. Its objects stay for the grace, unless it said Bye or was told to go. */
void session_close(struct session *s, int64_t now_mono_ns);

/* ---- datagrams ---- */

struct session_address {
	uint8_t bytes[28]; /* a socket's address, as the caller has it */
	uint32_t len;
};

struct datagram_out;

/* Where clients send datagrams to; 0, as it is at first: there are none. */
void world_set_udp(struct world *w, uint16_t port);
/* One that came from there. 0; -ENXIO it is of no session, or not from where its session's come; else as of datagram_input(): it is passed over. */
int world_datagram(struct world *w, const void *data, size_t len, const struct session_address *from,
		   int64_t now_mono_ns) __attribute__((warn_unused_result));
/* What is to go to that address, all at once; false: nothing. Valid until the next call with its world. */
bool session_datagrams(struct session *s, int64_t now_mono_ns, struct datagram_out *ret,
		       const struct session_address **ret_to);

/* ---- what there is ---- */

struct session_info {
	uint32_t connection; /* 0: no Hello yet */
	const char *name;
	enum barrier_role role; /* that it asked for; barrier.role: that it has */
	struct barrier_client barrier;
	uint32_t objects; /* of its own */
	uint64_t lag;     /* ticks since the one that it has promised; of an observer since the one it was sent */
	size_t queued;
	uint64_t bytes_in, bytes_out, frames_in, updates, refused, ticks, skipped;
	bool udp;                                             /* what is said each tick goes by datagrams */
	uint64_t datagrams_in, datagrams_out, datagrams_lost; /* lost: frames */
};
void session_info(const struct session *s, struct session_info *ret);

struct session_rates {
	double ticks_per_s, bytes_in_per_s, bytes_out_per_s; /* of wall time, over the last one to two seconds */
};
void session_rates(const struct session *s, int64_t now_mono_ns, struct session_rates *ret);
/* Of those who take part the one with the next higher connection number; NULL: there is none. */
const struct session *world_next(const struct world *w, uint32_t connection);
/* It is told, and goes, with its objects. sentence: why, printable. -ENOENT: nobody with that number takes part. */
int world_kick(struct world *w, uint32_t connection, const char *sentence) __attribute__((warn_unused_result));

struct world_info {
	uint64_t tick, hash; /* of the last one */
	int64_t time_sim_ns;
	int64_t step_dur_ns;
	uint64_t number;              /* of this run */
	uint32_t pace_permille;       /* 0: as fast as it goes */
	uint32_t waited_for;          /* by the last tick, beyond the first rung */
	uint32_t sessions;            /* connections, those without a Hello too */
	uint32_t clients, regulating; /* who takes part, and of these who has asked to regulate */
	uint32_t objects;
	struct store_counters counters;
	uint64_t ahead; /* statements whose stamp was too far ahead */
	uint64_t notes, notes_lost;
	uint64_t floods;   /* sessions that ended for sending more than their share */
	uint64_t withheld; /* frames of others that were not passed on, as too much waited for a client */
};
void world_info(const struct world *w, struct world_info *ret);

#endif
