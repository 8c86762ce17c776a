/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a channel of a log to another encoding: decodes with codec_in, encodes with codec_out. Thread: one recode
 * may be used by one thread at a time.
 */
#ifndef RECODE_H
#define RECODE_H

#include "codec_out.h"
#include "log.h"

struct recode;

/* The encoding of a channel (enum codec_kind); -ENOTSUP: another encoding. */
int recode_kind_of(const struct log_channel *ch);
/* Names of enum codec_kind: "native", ... NULL, -EINVAL: unknown. */
const char *recode_kind_name(enum codec_kind kind);
int recode_kind_named(const char *name);

/*
 * Keeps no pointer to ch; borrows apollo (see codec_out_create()). Errors, with the reason in why: -ENOTSUP the
 * encoding cannot hold the channel; -ENOMEM.
 */
int recode_create(enum codec_kind kind, const struct codec_apollo *apollo, const struct log_channel *ch,
		  struct recode **ret, char *why, size_t why_size);
void recode_destroy(struct recode *r); /* NULL-safe */

/* For log_writer_add_channel(), with the source's topic, except for Apollo's encoding. Borrows from r. */
const struct log_channel *recode_channel(const struct recode *r);
/* Uses this topic, which is borrowed, instead of the encoding's. */
void recode_set_topic(struct recode *r, const char *topic);

/*
 * Converts a message. 0: as pieces, at most IOV_BUF_PIECES, valid until the next call. Errors, with the reason in why:
 * -EBADMSG malformed, or nothing in it that the encoding can hold, -ERANGE, ..., -ENOMEM.
 */
int recode_message(struct recode *r, const struct log_message *m, struct iovec *ret, unsigned *ret_n, char *why,
		   size_t why_size);
/* codec_in_loss(), then codec_in_note(). */
const char *recode_note(struct recode *r);
/* Sequence of the last message for the log: seq of its header, as in ROS 1, else the one in its log. */
uint32_t recode_sequence(const struct recode *r);

#endif
