/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world with its sessions, without sockets and without a clock: the caller passes the bytes from clients and the
 * time, and sends the bytes for clients. So the server's loop is short, and tests run thousands of clients in virtual
 * time. Thread: one.
 */
#ifndef WORLD_WORLD_H
#define WORLD_WORLD_H

#include "access.h"
#include "barrier.h"
#include "store.h"

struct world;
struct session;

enum world_event { WORLD_CAME, WORLD_LEFT, WORLD_REFUSED, WORLD_LATE, WORLD_IN_TIME, WORLD_PAUSED };

/* Called with lines for the operator's log; name: the client's, printable; "": not known yet. */
typedef void (*world_event_fn)(void *user, enum world_event what, uint32_t connection, const char *name,
			       const char *sentence);

struct world_options {
	struct store_options store;
	struct barrier_options barrier; /* step_dur_ns is ignored: that of store counts */
	uint64_t number;                /* identifies this run (Welcome::world); not 0 */
	uint32_t sessions_max;          /* limit of sessions that take part, and as many again without a Hello */
	uint32_t members_max;
	int64_t radius_mm;    /* default radius of interest; VIEW_ALL */
	const char *token;    /* that each client must send; NULL: none; borrowed */
	struct access access; /* tables are borrowed; zeroed: all may do everything, and no types are defined */
	int64_t hello_dur_ns; /* time-out of the first frame; 0: 5 s */
	int64_t grace_dur_ns; /* how long objects of a client that has lost its connection are kept */
	/* how far after the next tick a stamp may be: later ones are refused (-ERANGE), or clamped */
	int64_t ahead_dur_ns;
	bool clamp; /* clamp stamps that are too far ahead to the latest that is allowed */
	size_t queue_soft,
		/*
		 * limits of the bytes that wait for a client: above soft it is sent no ticks, above hard it is
		 * disconnected; 0: 8 and 32 MiB
		 */
		queue_hard;
	int64_t queue_dur_ns; /* longest time above soft before it is disconnected; 0: 10 s */
	world_event_fn event; /* may be NULL */
	void *user;
};

/* -EINVAL; -ENOMEM. */
int world_create(const struct world_options *o, int64_t now_mono_ns, struct world **ret)
	__attribute__((warn_unused_result));
void world_destroy(struct world *w); /* frees sessions too, without sending them anything */

/*
 * Does all that is due: ticks, the ladder, disconnecting slow clients. Returns when to call again; INT64_MAX: when
 * something has arrived.
 */
int64_t world_turn(struct world *w, int64_t now_mono_ns);
/* Ends all sessions, with a Bye. */
void world_stop(struct world *w);

/* ---- one client ---- */

/* -ENOSPC: too many sessions; -ENOMEM. */
int session_open(struct world *w, int64_t now_mono_ns, struct session **ret) __attribute__((warn_unused_result));
/*
 * Sets the name in the client's certificate, up to 63 characters; shown beside the name in its Hello. Call at most
 * once, before session_input().
 */
void session_set_certificate(struct session *s, const char *name);
/*
 * Handles bytes from the client; keeps no reference to data. A client's error ends its session, with a Bye if it has
 * sent a Hello.
 */
void session_input(struct session *s, const void *data, size_t len, int64_t now_mono_ns);
/* Bytes for the client that are not sent yet; valid until the next call with the session or its world. */
size_t session_output(const struct session *s, const void **ret);
void session_sent(struct session *s, size_t n);
/* True: close the connection when all is sent; input is ignored. */
bool session_ends(const struct session *s);
/* Frees s, as its connection is closed. Its objects are kept for the grace period, unless it sent or was sent a Bye. */
void session_close(struct session *s, int64_t now_mono_ns);

/* ---- datagrams ---- */

struct session_address {
	uint8_t bytes[28]; /* socket address, opaque here */
	uint32_t len;
};

struct datagram_out;

/* The port for clients' datagrams; 0 (the default): no datagrams. */
void world_set_udp(struct world *w, uint16_t port);
/*
 * Handles a datagram from an address. 0; -ENXIO: of no session, or not from its session's address; else as
 * datagram_input(): ignored.
 */
int world_datagram(struct world *w, const void *data, size_t len, const struct session_address *from,
		   int64_t now_mono_ns) __attribute__((warn_unused_result));
/* Datagrams to send to *ret_to, in one call; false: none. Valid until the next call with its world. */
bool session_datagrams(struct session *s, int64_t now_mono_ns, struct datagram_out *ret,
		       const struct session_address **ret_to);

/* ---- information ---- */

struct session_info {
	uint32_t connection; /* 0: no Hello yet */
	const char *name;
	enum barrier_role role; /* requested; barrier.role: present role */
	struct barrier_client barrier;
	uint32_t objects; /* owned */
	uint64_t lag;     /* ticks since the last one it promised; for an observer since the last one it was sent */
	size_t queued;
	uint64_t bytes_in, bytes_out, frames_in, updates, refused, ticks, skipped;
	bool udp;                                             /* ticks are sent as datagrams */
	uint64_t datagrams_in, datagrams_out, datagrams_lost; /* lost: in frames */
};
void session_info(const struct session *s, struct session_info *ret);

struct session_rates {
	/* per second of wall time, over the last one to two seconds */
	double ticks_per_s, bytes_in_per_s, bytes_out_per_s;
};
void session_rates(const struct session *s, int64_t now_mono_ns, struct session_rates *ret);
/* The participating session with the next higher connection number; NULL: none. */
const struct session *world_next(const struct world *w, uint32_t connection);
/*
 * Disconnects a client, with a Bye, and removes its objects. sentence: the reason, printable. -ENOENT: no participant
 * has that number.
 */
int world_kick(struct world *w, uint32_t connection, const char *sentence) __attribute__((warn_unused_result));

struct world_info {
	uint64_t tick, hash; /* of the last tick */
	int64_t time_sim_ns;
	int64_t step_dur_ns;
	uint64_t number;              /* of this run */
	uint32_t pace_permille;       /* 0: as fast as possible */
	uint32_t waited_for;          /* participants that the last tick waited for beyond the first rung */
	uint32_t sessions;            /* connections, including those without a Hello */
	uint32_t clients, regulating; /* participants, and those of them that asked to regulate */
	uint32_t objects;
	struct store_counters counters;
	uint64_t ahead; /* statements whose stamp was too far ahead */
	uint64_t notes, notes_lost;
	uint64_t floods;   /* sessions that ended for exceeding their share */
	uint64_t withheld; /* frames of others that were dropped, as too much waited for a client */
};
void world_info(const struct world *w, struct world_info *ret);

#endif
