/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of this simd and of others: the state machines of TIME.md between DDS and a client of this simd. Inside of bridge_link.
 *
 * Threads: Cyclone's receive thread reads what hosts say, "link-time" looks when something is due, and reads while the other cannot;
 * giving time "link-clock" watches the clock page, and following "link-drive" drives `link`, which may block on a step; both have
 * "link-gather" in lock-step, which holds the last turn of a step until it may end. `lock` guards the machines; what they have to send is sent under it.
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
struct link_time_writer { /* of messages of another host, and whose keys it has */
	dds_instance_handle_t handle;
	uint64_t id;
};

struct link_time {
	struct sim_bridge *b;
	enum link_role role;
	const char *from; /* the time host that is followed; "": any */
	bool lockstep;    /* of who gives */
	long lookahead, deadline_ms;
	enum step_late late;
	uint64_t id, life; /* of this host among the others */

	dds_entity_t topic, writer, reader;
	struct waiter waiter;
	uint64_t sequence;   /* of messages; guarded by lock, as the next ones */
	uint64_t through;    /* of what was sent in the steps up to this one all have had all */
	bool reads;          /* link-time is there: what comes may be read */
	bool large;          /* the last message that was sent */
	int64_t due_mono_ns; /* when link-time looks again */
	struct limit lines;
	struct link_time_writer writers[LINK_WRITERS]; /* guarded by lock */
	unsigned next_writer;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic bool stop;
	struct sim_client *client;
	struct sim_step *step; /* the last turn; its thread's, once that runs */
	pthread_t clock, gather, drive;
	bool clock_runs, gather_runs, drive_runs;

	struct clock_host *host;
	struct step_host *steps;
	struct time_state told; /* of our clock, as it was told last */
	int64_t told_mono_ns;
	int64_t step_sim_ns; /* of the step that began last; 0: none */
	uint32_t step_generation;
	uint64_t over;                                /* the last step that may end */
	uint64_t settle;                              /* the last step whose messages are dispatched with it; 0: none */
	struct step_export exports[STEP_EXPORTS_MAX]; /* for a moment */

	struct clock_follow *follow;
	struct step_follow *part;
	struct clock_time_host found; /* name: none */
	char found_name[TIME_NAME_SIZE];
	struct clock_told tell; /* to be told to simd */
	bool tell_due, lost_due, has_lease;
	struct step_turn turn; /* to be advanced */
	bool turn_due;
	uint8_t ahead;    /* the lookahead of the step that runs */
	uint64_t running; /* the step that runs here; 0: none */
};

/* The options of link.c's table. -EINVAL, with an error in the log. */
int link_time_check(struct link_time *t);
int link_time_open(struct link_time *t);
void link_time_close(struct link_time *t);
bool link_time_connect(struct link_time *t, const char *suffix); /* a client of this simd; false: not now */
struct time_state link_time_page(const struct sim_clock_page *p, uint32_t *ret_futex);
/* lock is held: link-time is woken if something is due now before it looks again. */
void link_time_due(struct link_time *t);

/* time_give.c and time_follow.c: what hosts say, what is due; under the lock, but open and close. */
int link_give_open(struct link_time *t);
void link_give_close(struct link_time *t);
void link_give_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m);
void link_give_tick(struct link_time *t, int64_t now_mono_ns);
int64_t link_give_due(const struct link_time *t); /* when it is to be called again */
int link_follow_open(struct link_time *t);
void link_follow_close(struct link_time *t);
void link_follow_got(struct link_time *t, int64_t now_mono_ns, const struct time_msg *m);
void link_follow_tick(struct link_time *t, int64_t now_mono_ns);
int64_t link_follow_due(const struct link_time *t);
void link_time_send(void *ctx, const struct time_msg *m); /* `send` of all machines; ctx: the link_time */
void link_time_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n);
/* The thread of the last turn, once there is a client. Not with the lock. Errors are logged. */
int link_gather_start(struct link_time *t);

/* A turn has come, with the lock. True: it ends when link_time::over has reached *ret_number. */
bool link_give_turn(struct link_time *t, const struct sim_step_turn *turn, uint64_t *ret_number);
bool link_follow_turn(struct link_time *t, uint64_t *ret_number);

#endif
