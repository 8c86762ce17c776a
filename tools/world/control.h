/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator asks of a world, and tells it: Varlink over a Unix stream socket of its own (schemas/wire/io.simd.World.varlink), for this user and root
 * alone. Nothing here blocks: one call of a connection runs a turn, its answer is sent before the next one is read, so what it costs a tick is bounded.
 *
 * Thread: that of the ticks.
 */
#ifndef WORLD_CONTROL_H
#define WORLD_CONTROL_H

#include <stdint.h>

#include "world.h"

#define CONTROL_CONNECTIONS 16u /* beyond them whoever was silent longest is closed */

struct control;

/* w: kept until destroy. Nothing is listened to yet. -ENOMEM, or what the system refused; with a sentence. */
int control_create(struct world *w, struct control **ret) __attribute__((warn_unused_result));
void control_destroy(struct control *c); /* NULL is fine */

/*
 * Where nothing else is said: $SIM_WORLD_SOCKET, or `world` where simd's own socket would be: /run/simd for root and who may write there,
 * else $XDG_RUNTIME_DIR/simd, which is made. NULL: there is no such place. returns: mem_free().
 */
char *control_usual_path(void);
/* -EADDRINUSE: a server answers there; -ENOENT, -EACCES ... with a sentence. */
int control_listen(struct control *c, const char *path) __attribute__((warn_unused_result));
/* Serves a connected socket; takes fd, also on failure. -ENOMEM. */
int control_serve(struct control *c, int fd) __attribute__((warn_unused_result));

int control_fd(const struct control *c); /* readable: control_turn() has something to do */
void control_turn(struct control *c, int64_t now_mono_ns);

/* ---- control_methods.c ---- */

struct varlink;
struct varlink_msg;

/* Does what a message asks, and queues the answer. Negative: its sender breaks the protocol, or does not read: to be closed. */
int control_answer(struct world *w, struct varlink *v, const struct varlink_msg *m, int64_t now_mono_ns);

#endif
