/* SPDX-License-Identifier: Apache-2.0 */
/* Private: the driver lease across restarts of simd. */
#ifndef SRC_DRIVER_H
#define SRC_DRIVER_H

#include "session.h"

/* Acquires the lease again from a new simd. Under setup. */
void driver_register(struct sim_client *c, struct session *s);
/* For sim_disconnect() while the lease is held: releases it, and frees the handle. Under setup. */
void driver_finish(struct sim_client *c);

#endif
