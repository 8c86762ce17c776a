/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rig of config/rigs as a user has it: simd runs it, a simulator publishes on each of its channels, and a vehicle
 * receives the commands. topics_*.json has the messages sent, what the other side must see of them, and the messages
 * that come back: "S" is the stamp of 1640995200.125 s. The test is the other side.
 */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include <jansson.h>

#include "peer.h"
#include "stack.h"

#define RIG_ROWS_MAX 64

/* config/rigs/name.json with tests/system/stack/topics_rows.json, until its first bridge is connected; connection: of that, NULL: the rig's. */
int rig_start(const char *name, const char *rows, const char *connection);
int rig_stop(void **state);
bool rig_is(const char *name); /* running; NULL: any */

extern pid_t rig_simd;
extern char *rig_bridge; /* the first one's name */

/* Rows of the table: "channels", "topics" or "commands". */
size_t rig_count(const char *rows);
json_t *rig_row(const char *rows, size_t i);
json_t *rig_row_of(const char *rows, const char *topic); /* NULL: none */
const char *rig_text(json_t *row, const char *key);      /* "": it has none */

/* For peer_fork(): everything again and again, until told to stop; the commands, each once: `ready` for them, `received` counts them. */
int rig_simulate(struct peer *p);
int rig_drive(struct peer *p);

#endif
