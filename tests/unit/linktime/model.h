/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many hosts in virtual time, each with the state machines of tools/bridge/link and a clock of its own, over a network that
 * delays, loses, repeats and parts. The daemon is modelled by what its contract says: a step takes its participants a while; time
 * of a follower moves by exactly what it is granted; a followed clock is slewed as the daemon's own code slews it.
 *
 * It holds them to what must always be, and fails the test otherwise:
 *   - a follower is granted steps without gap or repetition while it takes part, each from where it is
 *   - no step ends before all that take part are through with the one `lookahead` before it
 *   - what commits say of exports is what the hosts have said
 *   - a followed clock is off by no more than the bound that it states
 *   - a time host is refused by the name of the other
 *
 * Thread: the test's.
 */
#ifndef LINKTIME_MODEL_H
#define LINKTIME_MODEL_H

#include "support/test.h"

#include "exec.h"
#include "rnd.h"
#include "timeutil.h"
#include "time/slew.h"
#include "tools/bridge/link/clock_follow.h"
#include "tools/bridge/link/clock_host.h"
#include "tools/bridge/link/step_follow.h"
#include "tools/bridge/link/step_host.h"

#define MODEL_HOSTS 128u

struct model_options {
	uint64_t seed;
	uint32_t hosts; /* the first one gives time */
	bool lockstep;
	uint8_t lookahead;
	enum step_late late;
	int64_t deadline_dur_ns; /* 0: 2 s */
	int64_t step_dur_ns;     /* 0: 10 ms */
	int64_t work_dur_ns;     /* that participants take for a step, up to; 0: nothing */
	int64_t end_dur_ns;      /* that a follower's dispatch takes for the end of one */
	int64_t pace_dur_ns;     /* from step to step, at least; 0: as fast as it goes */
	int64_t delay_dur_ns, jitter_dur_ns;
	int64_t asymmetry_dur_ns; /* longer on the way to the time host */
	double loss, repeat;
	bool reorders;    /* what one host sends to another overtakes itself; a reliable topic of DDS does not */
	int32_t drift_e6; /* clocks part by up to that each way */
};

struct model;

struct follower_log {
	uint64_t steps; /* that have ended here, with the others */
	uint64_t alone; /* without */
	uint64_t joins, outs, losts, founds, jumps;
	char why[160]; /* of the last loss */
	enum step_reason reason;
};

struct node {
	struct model *m;
	uint32_t i;
	uint64_t id, life;
	char name[16];
	bool up, gives, stopped; /* stopped: it does nothing, but is there (SIGSTOP) */
	uint32_t group;          /* those of one group hear each other */
	int64_t clock_off_ns;
	int32_t drift_e6;
	struct clock_host *host;
	struct clock_follow *follow;
	struct step_host *steps;
	struct step_follow *part;
	struct exec_timer tick, work, end, next;
	/* the time host's own clock */
	struct time_state clock;
	bool paused;
	enum clock_host_state claim_state;
	char refused_by[TIME_NAME_SIZE];
	/* lock-step here */
	int64_t sim_ns;
	uint64_t running, ended, first; /* steps */
	bool in;
	uint64_t sent_last; /* the last message that it has published */
	bool off_step;      /* its own end is due */
	/* a followed clock */
	bool told;
	int64_t base_sim_ns, base_mono_ns, rate_e6, then_rate_e6, then_mono_ns; /* then: from when on */
	int64_t error_dur_ns, told_mono_ns, told_diff_ns;
	struct clock_told last;
	struct follower_log log;
};

struct model {
	struct model_options o;
	struct exec *x;
	struct rnd rnd;
	struct node node[MODEL_HOSTS];
	uint64_t sent[TIME_MSG_KINDS_END], bytes[TIME_MSG_KINDS_END], delivered;
	uint64_t lost, committed, exports;
	/* faults: called before the n-th message is delivered; NULL: none */
	void (*at_message)(struct model *m, uint64_t n, const struct time_msg *msg);
	void *at_ctx;
	/* the time host's steps, as it began them */
	uint64_t granted;
	uint64_t late_reports, drops;
	int64_t begun_mono_ns;
	int64_t *step_took; /* how long each step took, if not NULL; of took_max */
	uint64_t n_took, took_max;
	int64_t last_ns[MODEL_HOSTS][MODEL_HOSTS]; /* when the last one arrives, by from and to */
	uint64_t steps_max;                        /* the time host begins no more */
};

void model_begin(struct model *m, const struct model_options *o);
void model_end(struct model *m);
void model_run(struct model *m, int64_t dur_ns);
/* Until fn is true, for max_dur_ns of virtual time; false: it was not. */
bool model_until(struct model *m, bool (*fn)(struct model *m), int64_t max_dur_ns);

void model_crash(struct model *m, uint32_t i); /* at once, without a word */
void model_start(struct model *m, uint32_t i); /* afresh */
void model_leave(struct model *m, uint32_t i); /* in order; it stays away */
void model_part(struct model *m, uint32_t i, uint32_t group);
void model_heal(struct model *m);
void model_pause(struct model *m, bool paused);
void model_scale(struct model *m, int64_t scale_e6);

int64_t model_local(const struct node *n, int64_t mono_ns); /* its clock at that virtual moment */
int64_t model_now(const struct node *n);
int64_t model_sim(const struct node *n);   /* simulated time there, of its own clock */
int64_t model_error(const struct node *n); /* that minus the time host's, now */
int64_t model_bound(const struct node *n); /* the bound that it states */
/* All that are up and can hear the time host take part and are within `steps` of it. */
bool model_all_in(struct model *m, uint64_t steps);

#endif
