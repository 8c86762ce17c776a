/* SPDX-License-Identifier: Apache-2.0 */
/* --apollo and --definitions: whose messages are written in Apollo's encoding. Thread: main. */
#ifndef SIMCTL_APOLLO_H
#define SIMCTL_APOLLO_H

#include "record/codec_apollo.h"
#include "simctl.h"

/* apollo: whether messages may get that encoding. 0; or, with a sentence, the command's exit code. codec_apollo_finish(), also after an error. */
int ctl_apollo_read(const struct args *a, bool apollo, struct codec_apollo *ret);

#endif
