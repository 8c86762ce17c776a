/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host tells the others of itself: its name, the channels that it exports and the services that it offers, as JSON; types by
 * name and hash. All of it is what a stranger says until read() has looked at it. Thread: any; nothing is kept.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sim/publisher.h>
#include <sim/slot.h>

#define MANIFEST_VERSION      1
#define MANIFEST_CHANNELS_MAX 1024u
#define MANIFEST_SERVICES_MAX 64u
#define MANIFEST_TEXT_MAX     (512u << 10)

struct manifest_type {
	char name[SIM_TYPE_NAME_MAX + 1];
	uint64_t hash;
};

struct manifest_channel {
	char name[SIM_CHANNEL_MAX + 1]; /* full */
	struct manifest_type type;
	uint64_t max_body; /* 0: not known */
	bool reliable;     /* nothing is lost within its history */
	bool keep;         /* the last messages are for subscribers that come later, too */
};

struct manifest_service {
	char name[SIM_CHANNEL_MAX + 1];
	char type[SIM_TYPE_NAME_MAX + 1];
	struct manifest_type request, response;
};

struct manifest {
	char host[SIM_HOST_NAME_MAX + 1];
	uint64_t id; /* simd_id, not 0 */
	struct manifest_channel *channels;
	unsigned n_channels;
	struct manifest_service *services;
	unsigned n_services;
};

/* Letters, digits, '_', '.' and '-', 1 to SIM_HOST_NAME_MAX. */
bool manifest_host_ok(const char *name);

/* returns: free(); NULL: no memory. */
char *manifest_write(const struct manifest *m);

/*
 * returns: manifest_free(). -EBADMSG it is none; -E2BIG more than there may be; -EPROTO of another version: *ret then has its host's
 * name and no more; -ENOMEM. why: a sentence.
 */
int manifest_read(const char *text, size_t len, struct manifest **ret, char *why, size_t why_size);
void manifest_free(struct manifest *m); /* NULL is fine */

#endif
