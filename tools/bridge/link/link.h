/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside bridge_link: one DDS participant; a writer for each channel that is exported, a reader for each that is imported and listened
 * to. All of it lives from create() to destroy(). Threads: README.md.
 */
#ifndef LINK_H
#define LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include <dds/dds.h>

#include <sim/bridge.h>

#include "blob_type.h"
#include "dds_errno.h"
#include "large.h"
#include "limit.h"
#include "manifest.h"
#include "option.h"
#include "patterns.h"
#include "secure.h"
#include "sockets.h"
#include "waiter.h"

#define LINK_PEERS_MAX    128u
#define LINK_IMPORTS_MAX  256u /* as many as simbridge takes */
#define LINK_EXPORTS_MAX  1024u
#define LINK_TYPES_MAX    1024u
#define LINK_CONFIRMS_MAX 1024u /* messages whose answers are awaited */

struct link_qos {
	bool reliable, keep, keep_all;
	int32_t depth;
};

/* A message on its way out whose task is answered later: when its slot is no longer read, and when all have confirmed it. */
struct link_sending {
	struct sim_bridge *b;
	struct sim_task *task;
	_Atomic int left, result;
};

/* Lock-step: what is sent within its step, before it is dispatched to us. exchange.c */
#define LINK_EARLY_PUBLISHERS_MAX 64u
struct link_kept;
struct link_early {
	pthread_mutex_t lock;       /* a leaf; guards `of` */
	_Atomic bool on;            /* there is a subscriber */
	struct sim_subscriber *sub; /* guarded by sim_bridge::lock, as what follows */
	int64_t since_mono_ns;
	uint64_t number;                    /* of messages sent so */
	struct link_kept *kept, *kept_last; /* again.h */
	_Atomic bool again;                 /* somebody has come since it was sent */
	int told;                           /* of how many readers the log says that they get it so */
	unsigned n;
	struct link_early_publisher {
		uint32_t id;
		uint64_t early, dispatched; /* sequences: up to which it was sent one way, and the other */
	} of[LINK_EARLY_PUBLISHERS_MAX];
};

struct sim_bridge_topic { /* a channel that is exported: out.c */
	struct sim_bridge *bridge;
	const char *name; /* the host's */
	const struct sim_type *type;
	size_t max_body;
	bool reliable, keep, confirm;
	dds_entity_t topic, writer;
	struct large_writer large;
	_Atomic int readers;
	struct link_early early;
	_Atomic bool announced; /* in the manifest: not while all that there is of it comes from other machines */
};

struct link_import { /* a channel that is imported: in.c */
	struct sim_bridge *bridge;
	struct link_import *next;
	char name[SIM_CHANNEL_MAX + 1];
	const struct sim_type *type; /* counted */
	uint64_t max_body;
	bool reliable, keep;
	bool offered;
	int64_t again_mono_ns, pause_dur_ns; /* when to offer it again, that was refused */
	int refused;                         /* what offering it has failed with, which is logged once */
	dds_entity_t topic, reader;          /* 0: nobody listens; guarded by sim_bridge::lock */
	_Atomic uint64_t received, lost;     /* messages; lost: dropped, for whatever reason */
	struct limit lines;                  /* its reader's */
};

struct link_peer {                    /* another host: peers.c */
	dds_instance_handle_t writer; /* of its manifest */
	struct manifest *m;
	bool refused; /* it speaks another version, or is no peer of ours */
};

#define LINK_STRANGERS_MAX 128u
struct link_stranger { /* a participant that is not linked: strangers.c */
	dds_guid_t key;
	int64_t since_mono_ns;
	bool said;
};

struct link_confirm {    /* a message that is not yet confirmed: confirm.c */
	uint64_t number; /* 0: free */
	struct sim_bridge_topic *topic;
	struct link_sending *sending;
	int needed;
	int64_t due_mono_ns;
};

struct link_calls;
struct link_own_service;
struct link_exchange;
struct link_time;

struct sim_bridge {
	const struct sim_bridge_host *host;
	struct sockets_log cyclone_log;
	char name[SIM_HOST_NAME_MAX + 1]; /* of this machine, for people */
	uint64_t id;                      /* simd_id */
	bool imports_any;                 /* the host can take what comes from other machines */
	struct patterns export, import, import_services, reliable, best_effort, keep, confirm;
	long depth, confirm_ms, lease_ms;
	_Atomic int status;
	dds_entity_t domain, participant;
	bool localhost, keyed; /* keyed: DDS Security; each writer is in its host's partition */
	dds_entity_t manifest_topic, manifest_writer, manifest_reader;
	dds_entity_t type_topic, type_writer, type_reader;
	dds_entity_t participants; /* a reader of those that are there */
	dds_entity_t answer_topic, answer_writer, answer_reader;
	struct waiter waiter;
	struct large large;
	uint64_t sequence; /* of what the thread of peers.c writes; its own */

	pthread_mutex_t lock; /* a leaf, but for Cyclone's inside. Guards exports, imports, services, and that: */
	struct sim_bridge_topic *exports[LINK_EXPORTS_MAX];
	unsigned n_exports;
	size_t kept_bytes;       /* of what is kept to be sent again */
	struct limit kept_lines; /* about that */
	struct link_import *imports;
	unsigned n_imports;
	bool changed;                                                 /* the manifest is to be sent again */
	struct manifest_service services[MANIFEST_SERVICES_MAX];      /* of this host */
	struct link_own_service *own_services[MANIFEST_SERVICES_MAX]; /* the same ones' types */
	unsigned n_services;

	struct { /* the thread's, peers.c */
		struct link_peer peers[LINK_PEERS_MAX];
		unsigned n_peers;
		const struct sim_type *types[LINK_TYPES_MAX]; /* of others, counted */
		unsigned n_types;
		uint64_t sent[LINK_TYPES_MAX]; /* hashes of those of ours that have been announced */
		unsigned n_sent;
		struct link_stranger strangers[LINK_STRANGERS_MAX];
		unsigned n_strangers;
		struct limit lines;
	} thr;

	struct {
		pthread_mutex_t lock; /* a leaf */
		struct link_confirm all[LINK_CONFIRMS_MAX];
		uint64_t last;
	} confirms;
	struct link_calls *calls;                /* service.c */
	struct link_exchange *exchange;          /* exchange.h */
	struct link_time *time;                  /* link_time.h */
	_Atomic uint64_t sent, skipped, transit; /* messages; skipped: nobody listens; transit: of other machines */
};

/* Of a name: the same in each run. */
static inline uint64_t link_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h | 1;
}

/* domain.c: domain and participant, and who may reach them. check: the options alone. 0 or negative errno, logged. */
int link_domain_check(struct sim_bridge *b);
int link_domain_open(struct sim_bridge *b);
/* A reader or writer, or a negative DDS code. listener: taken; NULL: none. */
dds_entity_t link_reader(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener);
dds_entity_t link_writer(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener);
/* A blob that is written by the bridge itself, of a body that is copied. 0 or negative errno. */
int link_write(struct sim_bridge *b, dds_entity_t writer, uint64_t sequence, const void *body, size_t size);

/* out.c: channels that are exported; those of struct sim_bridge_ops. */
int link_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void link_close(struct sim_bridge *b, struct sim_bridge_topic *t);
int link_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
/* As large_write_fn. */
int link_send(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
struct blob_head link_head(const struct sim_bridge *b, const struct sim_slot *header, size_t body_size);
void link_sending_end(struct link_sending *s, int result); /* one of the things that it waited for */
/* The name of a channel's topic, and of its type: "simd::0123456789abcdef". */
#define LINK_TOPIC_MAX (SIM_CHANNEL_MAX + 16)
void link_topic_name(const char *channel, uint64_t type_hash, char name[LINK_TOPIC_MAX], char type[32]);

/*
 * in.c: channels that are imported. offer(): by the thread of peers.c, of a type that is known; -EMEDIUMTYPE there is one of another type,
 * which another host has too. listen(): as of struct sim_bridge_ops.
 */
int link_import_offer(struct sim_bridge *b, const struct manifest_channel *c, const struct sim_type *type,
		      const char *host);
void link_import_withdraw(struct sim_bridge *b, const char *channel);
/* Whether it is imported with that type, or about to be: one of another type is refused, and what there is here is our own. */
bool link_import_has(struct sim_bridge *b, const char *channel, const struct sim_type *type);
void link_listen(struct sim_bridge *b, const char *channel, int on);
/* A message that came, and is not to be looked at again: to who listens; counted and named if it is not. 0 or negative errno. */
int link_import_publish(struct link_import *i, struct blob_in *in);
void link_imports_close(struct sim_bridge *b);

/* peers.c: who else there is: a thread that sends and reads manifests and types. changed(): ours is another now. Any thread. */
int link_peers_open(struct sim_bridge *b);
void link_peers_close(struct sim_bridge *b);
void link_changed(struct sim_bridge *b);
void link_strangers_look(
	struct sim_bridge *b); /* strangers.c: warns of machines that are heard and do not become linked */

/*
 * confirm.c: answers of other machines to messages that ask for them. begin() before it is written: its number, 0: too many are
 * awaited. answer(): of a message that came. tick(): overdue ones; when to call it again, from now.
 */
int link_confirm_open(struct sim_bridge *b);
void link_confirm_close(struct sim_bridge *b);
uint64_t link_confirm_begin(struct sim_bridge *b, struct sim_bridge_topic *t, struct link_sending *s, int needed);
void link_confirm_answer(struct sim_bridge *b, const struct blob_head *h, int result);
void link_confirm_lost(struct sim_bridge *b,
		       struct sim_bridge_topic *t); /* a reader of it has gone; all of them at close */
int64_t link_confirm_tick(struct sim_bridge *b);

#endif
