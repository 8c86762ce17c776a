/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that Cyclone needs from a type without keys whose samples are bytes: readers use dds_takecdr(), so samples
 * are never deserialised. A plug-in puts them into its own tables of operations. Thread: Cyclone's, any.
 */
#ifndef DDS_KEYLESS_H
#define DDS_KEYLESS_H

#include <dds/ddsi/ddsi_keyhash.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_sertype.h>
#include <dds/ddsi/q_radmin.h>

/* All samples belong to one instance. */
bool keyless_eqkey(const struct ddsi_serdata *a, const struct ddsi_serdata *b);
void keyless_keyhash(const struct ddsi_serdata *d, struct ddsi_keyhash *buf, bool force_md5);
bool keyless_to_sample(const struct ddsi_serdata *d, void *sample, void **bufptr, void *buflim);
bool keyless_untyped_to_sample(const struct ddsi_sertype *t, const struct ddsi_serdata *d, void *sample, void **bufptr,
			       void *buflim);
void keyless_zero(const struct ddsi_sertype *t, void *samples, size_t count);
void keyless_realloc(void **ptrs, const struct ddsi_sertype *t, void *old, size_t oldcount, size_t count);
void keyless_free_samples(const struct ddsi_sertype *t, void **ptrs, size_t count, dds_free_op_t op);
uint32_t keyless_hash(const struct ddsi_sertype *t);

#define KEYLESS_DATA_OPS \
	.eqkey = keyless_eqkey, .get_keyhash = keyless_keyhash, .to_sample = keyless_to_sample, \
	.untyped_to_sample = keyless_untyped_to_sample
#define KEYLESS_TYPE_OPS \
	.version = ddsi_sertype_v0, .zero_samples = keyless_zero, .realloc_samples = keyless_realloc, \
	.free_samples = keyless_free_samples, .hash = keyless_hash

/* Copies bytes from..to of the received fragments, which may overlap. False: a fragment is missing. */
bool keyless_gather(const struct nn_rdata *chain, size_t from, size_t to, uint8_t *ret);

#endif
