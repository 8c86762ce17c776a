/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the UDP sockets of this machine have received but not yet read, as reported by the kernel (sock_diag, as `ss
 * -uanm` does): a large message is sent as fast as they are read, and no faster than their buffers allow. It is unknown
 * which of them read our topics: all from port 7400 on, where DDS is, except those of discovery, are considered.
 * Sockets of other network namespaces and machines are not visible. Thread: one at a time.
 */
#ifndef RECEIVERS_H
#define RECEIVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct receivers;

struct receivers_loss { /* losses of one socket, while a message was sent */
	uint16_t port;
	uint32_t buffer;  /* bytes, as in `ss -uanm`: twice the requested size, or net.core.rmem_default */
	uint32_t packets; /* dropped because it was full */
	bool waited;      /* the message had waited for its maximum */
};

/*
 * patience_dur_ns: how long one message may wait in all. -errno: the kernel does not report it. receivers_close()
 * accepts NULL.
 */
int receivers_open(int64_t patience_dur_ns, struct receivers **ret);
void receivers_close(struct receivers *r);

/* Begins a message: packets dropped from now on are attributed to it. fresh: its topic has new readers. */
void receivers_begin(struct receivers *r, bool fresh);

/*
 * Waits until each socket has room for `size` more bytes, or is empty. Returns how many bytes may be sent before the
 * next call: `size` to RECEIVERS_STEP_MAX. A socket for which three messages in a row have waited without its being
 * read is not waited for during the next second: -EAGAIN. -ETIMEDOUT: the message has waited for its maximum. Other
 * -errno: the kernel does not report it (any longer).
 */
#define RECEIVERS_STEP_MAX (1 << 20)
int receivers_wait(struct receivers *r, int size);

/* Whether a socket has dropped packets since receivers_begin(): 1 and the worst of those not yet returned, or 0. */
int receivers_lost(struct receivers *r, struct receivers_loss *ret);

#endif
