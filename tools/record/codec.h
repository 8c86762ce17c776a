/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between channels of simd and channels of a log: bytes of an encoding become a message of ours.
 * Thread: one codec is one thread's at a time.
 */
#ifndef CODEC_H
#define CODEC_H

#include <sim/message.h>

#include "convert/message_in.h"
#include "log.h"

struct codec_in; /* one channel of a log on its way into simd */
/* -ENOTSUP: nothing of ours is made of it, with a sentence; -ENOMEM. Keeps nothing of ch. */
int codec_in_create(const struct log_channel *ch, struct codec_in **ret, char *why, size_t why_size);
void codec_in_destroy(struct codec_in *c);                      /* NULL is fine */
const struct sim_type *codec_in_type(const struct codec_in *c); /* while c is there */
/*
 * -ENOBUFS: call again with more room; -EBADMSG and what else a malformed message is. Stamp: of the message's header, else the log's
 * publish time. Straight into ret->buf, which is aligned to 64.
 */
int codec_in_decode(struct codec_in *c, const struct log_message *m, struct message_in *ret);

#endif
