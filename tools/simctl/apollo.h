/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options --apollo and --definitions: which Apollo release's definitions messages are encoded with. Thread: main.
 */
#ifndef SIMCTL_APOLLO_H
#define SIMCTL_APOLLO_H

#include "record/codec_apollo.h"
#include "simctl.h"

/*
 * Reads both options. apollo: whether the output may use Apollo's encoding. Returns 0, or the command's exit code after
 * printing why. The caller calls codec_apollo_finish(), also after an error.
 */
int ctl_apollo_read(const struct args *a, bool apollo, struct codec_apollo *ret);

#endif
