/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's control of a world: Varlink on its own Unix stream socket (schemas/wire/io.simd.World.varlink), for
 * this user and root only. Never blocks: per turn one call of a connection is handled, and its answer is sent before
 * the next call is read, so the cost per tick is bounded.
 *
 * Thread: that of the ticks.
 */
#ifndef WORLD_CONTROL_H
#define WORLD_CONTROL_H

#include <stdint.h>

#include "world.h"

#define CONTROL_CONNECTIONS 16u /* beyond this number the connection that was silent longest is closed */

struct control;

/*
 * Borrows w until control_destroy(). Does not listen yet. -ENOMEM, or the system's error, with the reason in err_why().
 */
int control_create(struct world *w, struct control **ret) __attribute__((warn_unused_result));
void control_destroy(struct control *c); /* NULL-safe */

/*
 * Default path: $SIM_WORLD_SOCKET, else `world` in the directory of simd's socket: /run/simd for root and users who may
 * write there, else $XDG_RUNTIME_DIR/simd, which is created. NULL: no such directory. Free with mem_free().
 */
char *control_usual_path(void);
/* -EADDRINUSE: another server listens there; -ENOENT, -EACCES and others, with the reason in err_why(). */
int control_listen(struct control *c, const char *path) __attribute__((warn_unused_result));
/* Serves a connected socket; takes over fd, also on failure. -ENOMEM. */
int control_serve(struct control *c, int fd) __attribute__((warn_unused_result));

int control_fd(const struct control *c); /* readable when control_turn() has work */
void control_turn(struct control *c, int64_t now_mono_ns);

/* ---- control_methods.c ---- */

struct varlink;
struct varlink_msg;

/*
 * Carries out a call, and queues the answer. Negative errno: the peer violates the protocol or does not read, and must
 * be closed.
 */
int control_answer(struct world *w, struct varlink *v, const struct varlink_msg *m, int64_t now_mono_ns);

#endif
