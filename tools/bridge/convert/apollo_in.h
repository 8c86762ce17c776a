/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Apollo's Cyber RT as bodies of our types, from a bridge or a recording: the inverse of apollo.h, for each
 * message that has one. APOLLO.md lists what a message of Apollo's does not carry. Pure functions of their arguments:
 * any thread.
 */
#ifndef APOLLO_IN_H
#define APOLLO_IN_H

#include "apollo.h"
#include "message_in.h"

/*
 * The default conversion of a message of Apollo's ("apollo.drivers.Image"); NULL: there is none. apollo_type_sim()
 * gives our type. If there are several, as for a ControlCommand, apollo_type_named() finds the others.
 */
const struct apollo_type *apollo_in_find(enum apollo_release r, const char *apollo_type);

/*
 * The family of a recorded channel, from the file names in its definition (a serialized ProtoDesc); 10 if there is
 * none.
 */
enum apollo_release apollo_release_of(const void *proto_desc, size_t size);

/*
 * Reads one message into ret->buf. o: origin, utm_zone, rfu_frames, undulation and is_static are used; NULL: none. The
 * stamp is the header's, in ns where a sensor has it so; the frame is the message's own, else the header's, cut to
 * SIM_FRAME_ID_MAX bytes.
 *
 * 0; 1: it contains nothing of this type. Errors: -EBADMSG malformed, -ERANGE a value that is not finite or out of
 * range, -EMSGSIZE a name too long for ours, -E2BIG; -ENOBUFS: call again with more room. why, unless
 * why_size is 0, then contains a reason or "".
 */
int apollo_in_read(const struct apollo_type *t, const struct apollo_options *o, const void *data, size_t len,
		   struct message_in *ret, char *why, size_t why_size);

#endif
