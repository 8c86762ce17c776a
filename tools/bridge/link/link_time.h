/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to bridge_link: time across machines: connects the state machines of TIME.md with DDS and a client of this
 * simd.
 *
 * Threads: Cyclone's receive thread reads messages. "link-time" does what is due, and reads when the receive thread
 * could not. At the time host "link-clock" watches the clock page; at a follower "link-drive" drives simd's time source
 * `link` and may block for a step. In lock-step both have "link-gather", which holds the last turn of a step until it
 * may end. `lock` guards the state machines and is held while they send.
 */
#ifndef LINK_TIME_H
#define LINK_TIME_H

#include "link.h"

#include <sim/clock.h>
#include <sim/step.h>

#include "clock_follow.h"
#include "clock_host.h"
#include "exchange.h"
#include "step_follow.h"
#include "step_host.h"

enum link_role { LINK_TIME_OFF, LINK_TIME_GIVE, LINK_TIME_FOLLOW };

#define LINK_WRITERS TIME_HOSTS_MAX
struct link_time_writer { /* cache: the host whose keys a writer of messages has */
	dds_instance_handle_t handle;
	uint64_t id;
};

struct link_time {
	struct sim_bridge *b;
	enum link_role role;
	const char *from; /* name of the time host to follow; "": any */
	bool lockstep;    /* of the time host */
	long lookahead, deadline_ms;
	enum step_late late;
	uint64_t id, life; /* this host's ID, and a random number of this run */

	dds_entity_t topic, writer, reader;
	struct waiter waiter;
	uint64_t sequence;   /* of messages sent; this and the members below: guarded by lock */
	uint64_t through;    /* all messages sent in steps up to this one have arrived everywhere */
	bool reads;          /* link-time runs, so messages may be processed */
	bool large;          /* the last message sent was large */
	int64_t due_mono_ns; /* when link-time wakes up next */
	struct limit lines;
	struct link_time_writer writers[LINK_WRITERS]; /* guarded by lock */
	unsigned next_writer;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic bool stop;
	struct sim_client *client;
	struct sim_step *step; /* takes the last turn of each step; used by link-gather only, once it runs */
	pthread_t clock, gather, drive;
	bool clock_runs, gather_runs, drive_runs;

	struct clock_host *host;
	struct step_host *steps;
	struct time_state told; /* clock state in the last claim that was caused by a change */
	int64_t told_mono_ns;
	int64_t step_sim_ns; /* time of the last step begun; 0: none */
	uint32_t step_generation;
	uint64_t over; /* the last step that may end */
	/* the last step whose messages are to be dispatched when `over` ends; 0: none */
	uint64_t settle;
	struct step_export exports[STEP_EXPORTS_MAX]; /* scratch */

	struct clock_follow *follow;
	struct step_follow *part;
	struct clock_time_host found; /* epoch 0: none */
	char found_name[TIME_NAME_SIZE];
	struct clock_told tell; /* state to pass to simd */
	bool tell_due, lost_due, has_lease;
	struct step_turn turn; /* step to run */
	bool turn_due;
	uint8_t ahead;    /* lookahead of the running step */
	uint64_t running; /* number of the running step; 0: none */
};

/* Reads the options. -EINVAL, logged. */
int link_time_check(struct link_time *t);
int link_time_open(struct link_time *t);
void link_time_close(struct link_time *t);
bool link_time_connect(struct link_time *t, const char *suffix); /* connects a client to this simd; false: try later */
struct time_state link_time_page(const struct sim_clock_page *p, uint32_t *ret_futex);
/* Wakes link-time if something is due earlier than it would wake up. Caller holds lock. */
void link_time_due(struct link_time *t);

/*
 * time_give.c and time_follow.c. got: a message has arrived. tick: does what is due. Caller holds lock, except for open
 * and close.
 */
int link_give_open(struct link_time *t);
void link_give_close(struct link_time *t);
void link_give_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m);
void link_give_tick(struct link_time *t, int64_t now_mono_ns);
int64_t link_give_due(const struct link_time *t); /* when to call link_give_tick() */
int link_follow_open(struct link_time *t);
void link_follow_close(struct link_time *t);
void link_follow_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m);
void link_follow_tick(struct link_time *t, int64_t now_mono_ns);
int64_t link_follow_due(const struct link_time *t);
void link_time_send(void *ctx, const struct time_msg *m); /* `send` of all state machines; ctx: the link_time */
void link_time_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
/* Starts link-gather, once there is a client. Errors are logged. Caller must not hold lock. */
int link_gather_start(struct link_time *t);

/*
 * A turn has begun: sends the messages of the step. True: the turn must end when link_time::over has reached
 * *ret_number. Caller holds lock.
 */
bool link_give_turn(struct link_time *t, const struct sim_step_turn *turn, uint64_t *ret_number);
bool link_follow_turn(struct link_time *t, uint64_t *ret_number);

#endif
