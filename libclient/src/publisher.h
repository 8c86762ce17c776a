/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private: a publisher, its registration with one run of simd, and its loans. See completion.h for its completion
 * records.
 */
#ifndef SRC_PUBLISHER_H
#define SRC_PUBLISHER_H

#include <sim/publisher.h>

#include "client.h"
#include "completion.h"
#include "attachment.h"
#include "session.h"

enum reg_state {
	REG_NEW, /* not proved yet */
	REG_UP,
	REG_LOST,   /* simd is gone: local subscribers still get messages */
	REG_STALE,  /* the data plane is gone */
	REG_FAILED, /* simd refused it: pub_reg::error */
};

/*
 * A publisher's registration with one run of simd, over one port. Recovery makes a new one and posts it to the
 * publisher, whose thread adopts it at its next call; only then is the old one freed.
 */
struct pub_reg {
	struct list hash;       /* client::regs; guarded by lock */
	_Atomic uint32_t state; /* enum reg_state */
	int error;
	struct sim_publisher *pub;
	struct session *session;      /* referenced */
	struct pub_port *port;        /* referenced */
	struct wire_channel *channel; /* NULL: simd does not subscribe; the next four are unset too */
	const struct wire_channel_info *info;
	_Atomic uint64_t *rung; /* the word with the channel's bit */
	uint64_t rung_bit;
	struct bell *bell;
	uint32_t cells; /* cells of the channel */
	struct wire_counters *counters;
	uint32_t publisher_id, channel_id;
	_Atomic bool proved;
	int64_t probe_due_mono_ns, probe_pause_dur_ns; /* under setup */
	int64_t unsure_until_mono_ns;                  /* until then some subscribers may not be back; 0: all are */
	char name[SIM_CHANNEL_MAX + 1];                /* full */
};

struct loan {
	struct sim_slot *slot;
	struct pub_port *port;
	bool owned; /* the port is referenced by the loan; else by the registration */
};

struct sim_publisher {
	struct handle h;
	_Atomic(struct pub_reg *) next; /* posted by recovery */
	_Atomic bool attention;         /* next is set, or there is an orphan */
	struct pub_reg *reg;            /* never NULL once advertised */
	struct pub_reg *newest;         /* next or reg, whichever is newer; under setup */
	struct pub_reg *proving;        /* made by recovery, not posted yet; under setup */
	struct sim_client *c;
	const struct sim_type *type; /* referenced */
	size_t max_body;
	unsigned flags;
	uint64_t sequence;          /* of the newest message */
	_Atomic uint32_t loans_max; /* granted by simd */
	uint32_t n_loans, n_kept;   /* kept: published in a turn, to be sent at its end; see step.h */
	struct loan loans[IPC_LOANS_MAX];
	/* slots of calls that were refused while another thread was inside */
	_Atomic(struct sim_slot *) orphans[IPC_LOANS_MAX];
	struct records records;
	struct list link;                  /* client::pubs or ::zombies */
	char channel[SIM_CHANNEL_MAX + 1]; /* as the program gave it */
	char frame_id[SIM_FRAME_ID_MAX + 1];
	char host[SIM_HOST_NAME_MAX + 1]; /* "": messages of this machine */
	struct sim_slot header;           /* template for each loan */
	struct sim_slot *latched;         /* SIM_PUB_LATCH: a copy of the newest message; NULL: none */
	struct {                          /* this client's own subscriptions of the channel */
		uint32_t seq, n;          /* client::subs_seq when they were counted */
		uint64_t serial;          /* session::serial of that count; 0: not counted yet */
	} own;
};

/* Enters, after adopting what recovery posted. As handle_enter(). */
int publisher_enter(struct sim_publisher *p);
void publisher_attend(struct sim_publisher *p) __attribute__((cold));

/* Call it after publishing: marks the channel for dispatch; session_doorbell() must follow. */
static inline void pub_reg_rung(const struct pub_reg *reg)
{
	wire_rung_set(reg->rung, reg->rung_bit);
}

/* Raises max_body to body_size by a call to simd. Inside. */
int publisher_enlarge(struct sim_publisher *p, size_t body_size) __attribute__((cold));
/* Loans a slot and fills its header. Inside. */
int publisher_loan(struct sim_publisher *p, size_t body_size, struct sim_slot **ret);
int publisher_loan_index(const struct sim_publisher *p, const struct sim_slot *slot); /* -1: not a loan of p */
void publisher_unloan(struct sim_publisher *p, int i);
/* Takes a reference to the port of loan i, for a slot that outlives the loan. */
struct pub_port *publisher_loan_port(struct sim_publisher *p, int i);
/* Removes loan i: its slot is no longer the caller's. */
void publisher_forget_loan(struct sim_publisher *p, int i);

/* Keeps a copy of a latching publisher's message for the next port, whose history is empty. Inside. */
void publisher_keep_latched(struct sim_publisher *p, const struct sim_slot *slot) __attribute__((cold));

/*
 * Reports to simd that all messages up to the newest have been published, unless some are kept back: simd finds lost
 * ones by it.
 */
void publisher_progress(const struct sim_publisher *p);

/* ---- for recovery; under setup ---- */

/*
 * Registers with a session and creates or shares the port. prior: registration whose port is shared; NULL: a new port.
 */
int pub_reg_create(struct sim_publisher *p, struct session *s, struct attachment *l, struct pub_reg *prior,
		   struct pub_reg **ret);
void pub_reg_destroy(struct pub_reg *reg);                                 /* NULL is fine */
struct pub_reg *pub_reg_find(struct sim_client *c, uint32_t publisher_id); /* under lock */
/* Sends one probe, if a subscriber is connected. True: proved. */
bool pub_reg_probe(struct pub_reg *reg);
/* Posts a proved registration to its publisher. */
void publisher_post(struct sim_publisher *p, struct pub_reg *reg);
/* Tries to adopt on behalf of an idle publisher. False: its thread is inside. */
bool publisher_settle(struct sim_publisher *p);
/* Frees a destroyed publisher without outstanding messages. */
void publisher_free(struct sim_publisher *p);

#endif
