/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the UDP sockets of this machine have received and not read yet, as the kernel reports (sock_diag, as `ss -uanm`
 * does): a large message is sent as fast as they are read, and not faster than their buffers hold. Which of them read our topics is not
 * known: all from port 7400 on count, where DDS lives, but for those of its discovery. Sockets of other network namespaces and other
 * machines are not seen.
 * Thread: one at a time.
 */
#ifndef RECEIVERS_H
#define RECEIVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct receivers;

struct receivers_loss { /* of one socket, while a message was sent */
	uint16_t port;
	uint32_t buffer;  /* bytes, as `ss -uanm` shows it: twice what was asked for, or net.core.rmem_default */
	uint32_t packets; /* that were dropped, as it was full */
	bool waited;      /* the message had waited as long as it may */
};

/* patience_dur_ns: how long one message may wait in all. -errno: the kernel does not report it. close() accepts NULL. */
int receivers_open(int64_t patience_dur_ns, struct receivers **ret);
void receivers_close(struct receivers *r);

/* A message begins: what is dropped from now on belongs to it. fresh: its topic has readers that it did not have before. */
void receivers_begin(struct receivers *r, bool fresh);

/*
 * Until each socket has room for `size` bytes more, or is empty. Returns how many may be sent before the next call: `size` to
 * RECEIVERS_STEP_MAX. A socket that three messages in a row have waited for, and that was not read meanwhile, is not waited for in
 * the next second: -EAGAIN. -ETIMEDOUT: the message has waited as long as it may. Other -errno: the kernel does not report it (any more).
 */
#define RECEIVERS_STEP_MAX (1 << 20)
int receivers_wait(struct receivers *r, int size);

/* Whether a socket has dropped packets since begin(): 1 and the worst of those that were not returned before, or 0. */
int receivers_lost(struct receivers *r, struct receivers_loss *ret);

#endif
