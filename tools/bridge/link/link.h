/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to bridge_link: one DDS participant; a writer for each exported channel, a reader for each imported channel
 * with a listener. The participant exists from create() to destroy(). Threads: README.md.
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
#define LINK_IMPORTS_MAX  256u /* the limit of simbridge */
#define LINK_EXPORTS_MAX  1024u
#define LINK_TYPES_MAX    1024u
#define LINK_CONFIRMS_MAX 1024u /* messages waiting for answers */

struct link_qos {
	bool reliable, keep, keep_all;
	int32_t depth;
};

/* A message whose task is answered later: when its slot is no longer read, and all machines have confirmed it. */
struct link_sending {
	struct sim_bridge *b;
	struct sim_task *task;
	_Atomic int left, result;
};

/* Lock-step: for sending messages within their step, before they are dispatched to us (exchange.c). */
#define LINK_EARLY_PUBLISHERS_MAX 64u
struct link_kept;
struct link_early {
	pthread_mutex_t lock;       /* a leaf; guards `of` */
	_Atomic bool on;            /* sub exists */
	struct sim_subscriber *sub; /* this and the following: guarded by sim_bridge::lock */
	int64_t since_mono_ns;
	uint64_t number;                    /* counts messages sent this way */
	struct link_kept *kept, *kept_last; /* see again.h */
	_Atomic bool again;                 /* a reader has appeared since link_again_send() */
	int told;                           /* number of readers in the last log message about it */
	unsigned n;
	struct link_early_publisher {
		uint32_t id;
		/* last sequence sent within a step, and last sequence sent when dispatched */
		uint64_t early, dispatched;
	} of[LINK_EARLY_PUBLISHERS_MAX];
};

struct sim_bridge_topic { /* an exported channel: out.c */
	struct sim_bridge *bridge;
	const char *name; /* borrowed from the host */
	const struct sim_type *type;
	size_t max_body;
	bool reliable, keep, confirm;
	dds_entity_t topic, writer;
	struct large_writer large;
	_Atomic int readers;
	struct link_early early;
	_Atomic bool announced; /* listed in the manifest; false while all its messages are from other machines */
};

struct link_import { /* an imported channel: in.c */
	struct sim_bridge *bridge;
	struct link_import *next;
	char name[SIM_CHANNEL_MAX + 1];
	const struct sim_type *type; /* reference-counted */
	uint64_t max_body;
	bool reliable, keep;
	bool offered;
	int64_t again_mono_ns, pause_dur_ns; /* after a refusal: when to offer it again */
	int refused;                         /* error of the last offer, logged when it changes */
	dds_entity_t topic, reader;          /* 0: no listener; guarded by sim_bridge::lock */
	_Atomic uint64_t received, lost;     /* counts of messages; lost: dropped for any reason */
	struct limit lines;                  /* for log messages about it */
};

struct link_peer {                    /* another host: peers.c */
	dds_instance_handle_t writer; /* the one that writes its manifest */
	struct manifest *m;
	bool refused; /* has another version, or is not allowed to link */
};

#define LINK_STRANGERS_MAX 128u
struct link_stranger { /* a participant that is not linked: strangers.c */
	dds_guid_t key;
	int64_t since_mono_ns;
	bool said;
};

struct link_confirm {    /* a message waiting for confirmation: confirm.c */
	uint64_t number; /* 0: unused */
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
	char name[SIM_HOST_NAME_MAX + 1]; /* of this machine */
	uint64_t id;                      /* simd_id */
	bool imports_any;                 /* the host supports channels of other machines */
	struct patterns export, import, import_services, reliable, best_effort, keep, confirm;
	long depth, confirm_ms, lease_ms;
	_Atomic int status;
	dds_entity_t domain, participant;
	bool localhost, keyed; /* keyed: DDS Security is on; each writer is in the partition of its host */
	dds_entity_t manifest_topic, manifest_writer, manifest_reader;
	dds_entity_t type_topic, type_writer, type_reader;
	dds_entity_t participants; /* reader of DDS's built-in topic of participants */
	dds_entity_t answer_topic, answer_writer, answer_reader;
	struct waiter waiter;
	struct large large;
	uint64_t sequence; /* of messages from the thread of peers.c; used by it only */

	/*
	 * guards exports, imports, services and the members up to n_services; only locks of Cyclone are taken under it
	 */
	pthread_mutex_t lock;
	struct sim_bridge_topic *exports[LINK_EXPORTS_MAX];
	unsigned n_exports;
	size_t kept_bytes;       /* total size of the copies in again.c */
	struct limit kept_lines; /* for log messages about them */
	struct link_import *imports;
	unsigned n_imports;
	bool changed;                                                 /* the manifest must be sent again */
	struct manifest_service services[MANIFEST_SERVICES_MAX];      /* services of this host */
	struct link_own_service *own_services[MANIFEST_SERVICES_MAX]; /* the types of those services */
	unsigned n_services;

	struct { /* used by the thread of peers.c only */
		struct link_peer peers[LINK_PEERS_MAX];
		unsigned n_peers;
		const struct sim_type *types[LINK_TYPES_MAX]; /* of other machines, reference-counted */
		unsigned n_types;
		uint64_t sent[LINK_TYPES_MAX]; /* hashes of our types that were sent */
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
	struct link_calls *calls;       /* service.c */
	struct link_exchange *exchange; /* exchange.h */
	struct link_time *time;         /* link_time.h */
	/* counts of messages; skipped: no reader; transit: from other machines, not sent on */
	_Atomic uint64_t sent, skipped, transit;
};

/* FNV-1a, never 0: the same on all machines. */
static inline uint64_t link_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h | 1;
}

/* domain.c: opens domain and participant. check: reads only the options. 0 or -ERR, logged. */
int link_domain_check(struct sim_bridge *b);
int link_domain_open(struct sim_bridge *b);
/* Creates a reader or writer; returns a negative DDS code on error. listener: ownership is taken; may be NULL. */
dds_entity_t link_reader(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener);
dds_entity_t link_writer(struct sim_bridge *b, dds_entity_t topic, const struct link_qos *q, dds_listener_t *listener);
/* Writes a blob of the bridge itself; the body is copied. 0 or -ERR. */
int link_write(struct sim_bridge *b, dds_entity_t writer, uint64_t sequence, const void *body, size_t size);

/* out.c: exported channels; as in struct sim_bridge_ops. */
int link_open(struct sim_bridge *b, const struct sim_bridge_channel *ch, struct sim_bridge_topic **ret);
void link_close(struct sim_bridge *b, struct sim_bridge_topic *t);
int link_publish(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
/* A large_write_fn. */
int link_send(struct sim_bridge *b, struct sim_bridge_topic *t, const struct sim_message *m, struct sim_task *task);
struct blob_head link_head(const struct sim_bridge *b, const struct sim_slot *header, size_t body_size);
void link_sending_end(struct link_sending *s, int result); /* one of the conditions it waited for is met */
/* Names of a channel's DDS topic and of its DDS type, such as "simd::0123456789abcdef". */
#define LINK_TOPIC_MAX (SIM_CHANNEL_MAX + 16)
void link_topic_name(const char *channel, uint64_t type_hash, char name[LINK_TOPIC_MAX], char type[32]);

/*
 * in.c: imported channels. offer: called by the thread of peers.c with a known type; -EMEDIUMTYPE: the channel is
 * already imported with another type. listen: as in struct sim_bridge_ops.
 */
int link_import_offer(struct sim_bridge *b, const struct manifest_channel *c, const struct sim_type *type,
		      const char *host);
void link_import_withdraw(struct sim_bridge *b, const char *channel);
/* Whether the channel is imported, or being offered, with this type. If not, a channel of that name here is our own. */
bool link_import_has(struct sim_bridge *b, const char *channel, const struct sim_type *type);
void link_listen(struct sim_bridge *b, const char *channel, int on);
/* Publishes a message, or drops, counts and logs it. 0 or -ERR. */
int link_import_publish(struct link_import *i, struct blob_in *in);
void link_imports_close(struct sim_bridge *b);

/* peers.c: a thread that sends and receives manifests and types. changed: our manifest has changed; any thread. */
int link_peers_open(struct sim_bridge *b);
void link_peers_close(struct sim_bridge *b);
void link_changed(struct sim_bridge *b);
void link_strangers_look(
	struct sim_bridge *b); /* strangers.c: logs warnings about machines that are seen but cannot link */

/*
 * confirm.c: answers of other machines to messages that ask for confirmation. begin: before writing the message;
 * returns its number, 0: too many are waiting. answer: an answer was received. tick: ends overdue ones; returns in how
 * many ns to call it again.
 */
int link_confirm_open(struct sim_bridge *b);
void link_confirm_close(struct sim_bridge *b);
uint64_t link_confirm_begin(struct sim_bridge *b, struct sim_bridge_topic *t, struct link_sending *s, int needed);
void link_confirm_answer(struct sim_bridge *b, const struct blob_head *h, int result);
void link_confirm_lost(struct sim_bridge *b,
		       /* a reader of the topic is lost, or the topic is closed: all its messages fail */
		       struct sim_bridge_topic *t);
int64_t link_confirm_tick(struct sim_bridge *b);

#endif
