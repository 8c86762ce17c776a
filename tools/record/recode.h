/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of a log in another encoding: decoded by codec_in, encoded by codec_out. Thread: one recode is one thread's. */
#ifndef RECODE_H
#define RECODE_H

#include "codec_out.h"
#include "log.h"

struct recode;

/* The encoding of a channel; -ENOTSUP: none of them. */
int recode_kind_of(const struct log_channel *ch);
/* "native", ...: those of enum codec_kind. NULL, -EINVAL: no such. */
const char *recode_kind_name(enum codec_kind kind);
int recode_kind_named(const char *name);

/*
 * Keeps nothing of ch; borrows apollo (codec_out_create()). Errors, with a sentence: -ENOTSUP what it holds cannot be said in that
 * encoding; -ENOMEM.
 */
int recode_create(enum codec_kind kind, const struct codec_apollo *apollo, const struct log_channel *ch,
		  struct recode **ret, char *why, size_t why_size);
void recode_destroy(struct recode *r); /* NULL is fine */

/* As log_writer_add_channel() takes it, with the topic of the source but for Apollo's. Borrows from r. */
const struct log_channel *recode_channel(const struct recode *r);
/* Keep this topic, which it borrows, whatever the encoding has for it. */
void recode_set_topic(struct recode *r, const char *topic);

/*
 * 0: the message as pieces, at most IOV_BUF_PIECES of them, until the next call. Errors, with a sentence: -EBADMSG it is malformed or holds
 * nothing that the encoding can say, -ERANGE, ..., -ENOMEM.
 */
int recode_message(struct recode *r, const struct log_message *m, struct iovec *ret, unsigned *ret_n, char *why,
		   size_t why_size);
/* As codec_in_note(), behind codec_in_loss(). */
const char *recode_note(struct recode *r);
/* Of that message, for the log: the seq of its header, as of ROS 1, else the one that it had in its log. */
uint32_t recode_sequence(const struct recode *r);

#endif
