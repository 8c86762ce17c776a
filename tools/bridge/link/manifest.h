/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest: what a host tells the others about itself, as JSON: its name, the channels it exports and the services it
 * offers, with types by name and hash. A received manifest is untrusted until manifest_read() has checked it. Thread:
 * any; no state.
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
	char name[SIM_CHANNEL_MAX + 1]; /* full name */
	struct manifest_type type;
	uint64_t max_body; /* 0: unknown */
	bool reliable;     /* no message is lost within the history */
	bool keep;         /* later subscribers get the last messages */
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

/* Whether it has 1 to SIM_HOST_NAME_MAX letters, digits, '_', '.' and '-'. */
bool manifest_host_ok(const char *name);

/* Returns text to free(); NULL: out of memory. */
char *manifest_write(const struct manifest *m);

/*
 * *ret: free it with manifest_free(). -EBADMSG: not a manifest; -E2BIG: too many entries; -EPROTO: another version,
 * with only the host's name in *ret; -ENOMEM. The reason is in why.
 */
int manifest_read(const char *text, size_t len, struct manifest **ret, char *why, size_t why_size);
void manifest_free(struct manifest *m); /* m may be NULL */

#endif
