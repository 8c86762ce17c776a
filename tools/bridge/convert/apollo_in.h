/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Apollo's Cyber RT as ours, of recordings as well as from a bridge: the way back of apollo.h, for every message that
 * has one. What a message of Apollo's does not carry is listed in APOLLO.md. Pure functions of their arguments: any thread.
 */
#ifndef APOLLO_IN_H
#define APOLLO_IN_H

#include "apollo.h"
#include "message_in.h"

/*
 * What becomes of a message of Apollo's ("apollo.drivers.Image"): NULL: nothing. apollo_type_sim() has our type. Where there are
 * several, as of a ControlCommand, the first one; apollo_type_named() finds the others.
 */
const struct apollo_type *apollo_in_find(enum apollo_release r, const char *apollo_type);

/* The family of a recorded channel, by the names of the files in its definition (a serialized ProtoDesc); without any it is 10. */
enum apollo_release apollo_release_of(const void *proto_desc, size_t size);

/*
 * Read one message into ret->buf. o: origin, utm_zone, rfu_frames, undulation and is_static are looked at; NULL: none. The stamp is
 * the header's, in ns where a sensor has it so, and the frame the message's own, else the header's, cut to SIM_FRAME_ID_MAX bytes.
 *
 * 0; 1: it says nothing of this type. Errors: -EBADMSG malformed, -ERANGE a value that is not finite or out of range, -EMSGSIZE a name that is
 * too long for ours, -E2BIG; -ENOBUFS: again with more room. why, if it is not empty, has a sentence then.
 */
int apollo_in_read(const struct apollo_type *t, const struct apollo_options *o, const void *data, size_t len,
		   struct message_in *ret, char *why, size_t why_size);

#endif
