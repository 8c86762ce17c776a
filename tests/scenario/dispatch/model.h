/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expected behaviour of dispatch, implemented in another way: each message with its state for each bridge. After
 * each step of a test it says which completions must have arrived, with which reason, and which messages must still be
 * held.
 */
#ifndef TESTS_DISPATCH_MODEL_H
#define TESTS_DISPATCH_MODEL_H

#include "scenario/dispatch/world.h"

#include "rnd.h"

#define CHANNELS 3
#define BRIDGES  3
#define CLIENTS  3
#define TOKENS   4
#define MESSAGES 2048

extern const uint32_t windows[CHANNELS];
extern const bool ordered[CHANNELS];
extern const bool carries[CHANNELS][BRIDGES]; /* which bridge has a route from which channel */

enum part { NOT, PENDING, LATE, OVER }; /* of one bridge in one message */

struct msg {
	uint32_t publisher_id, channel, token, life;
	uint64_t sequence;
	int client;            /* -1: died */
	bool offered, patient; /* to the bridges; accepted while the engine ran free */
	enum part part[BRIDGES];
	int64_t deadline_mono_ns[BRIDGES], sent_mono_ns[BRIDGES];
	enum sim_reason reason;
	bool decided, reported;
	bool lost; /* on its way, and not missed yet */
};

struct mbridge {
	enum dispatch_lossless asked;
	bool comes_back, there, connected, broken;
	bool lossless, stalled, waited, answered;
	int64_t deadline_dur_ns, back_mono_ns, busy_mono_ns, answered_mono_ns, head_mono_ns;
	uint64_t last_answered;
};

struct model {
	struct world *w;
	struct rnd rnd;
	struct msg msgs[MESSAGES];
	unsigned n;
	bool paused, freewheel;
	int64_t house_mono_ns;            /* when dispatch looks for lost ones next */
	uint64_t seen[CLIENTS][CHANNELS]; /* newest sequence number that dispatch has seen, or reported missing */
	struct mbridge b[BRIDGES];
	unsigned accepted, completed[SIM_REASON_COUNT];
};

/* ---- its predictions ---- */

bool model_is_open(const struct msg *g, unsigned bridge); /* whether the bridge has not answered */
bool model_unfinished(const struct msg *g);
unsigned model_in_flight(struct model *m, uint32_t channel);
unsigned model_open_at(struct model *m, uint32_t channel, unsigned bridge);
bool model_token_in_use(struct model *m, uint32_t token);
/* The message of a delivery; fails when there is none. */
struct msg *model_msg(struct model *m, const struct held *h);
/* When something of this bridge is due; INT64_MAX: nothing is. */
int64_t model_due(struct model *m, unsigned bridge);

/* ---- its inputs ---- */

void model_publish(struct model *m, int client, const struct test_pub *p, uint32_t token);
void model_lost(struct model *m, int client, const struct test_pub *p, uint32_t token);
/* Messages lost on the channel are reported missing. */
void model_miss(struct model *m, uint32_t channel);
/* Lost ones of dead clients are forgotten, where nothing else of their publisher is left. */
void model_sweep(struct model *m);
/* Ends the part of this bridge. */
void model_settle(struct msg *g, unsigned bridge, enum part end, enum sim_reason reason);
/* Fails the messages that wait for the bridge in simd. */
void model_fail_queued(struct model *m, unsigned bridge, enum sim_reason reason);
void model_backlogs_end(struct model *m, enum sim_reason reason);
void model_away(struct model *m, unsigned bridge);
void model_back(struct model *m, unsigned bridge);
void model_broken(struct model *m, unsigned bridge);
void model_bridge_dies(struct model *m, unsigned bridge);
/* Time has reached model_due(). */
void model_expire(struct model *m, unsigned bridge);
/* After any of these: waiting messages go on. */
void model_flow(struct model *m);

#endif
