/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 of one connection, at either side, without a socket: bytes of the peer go in, what they say comes out; plain bytes go in,
 * what is to be sent comes out. TLS 1.3 alone; no renegotiation, no early data, no tickets, no resumption.
 *
 *     receive: tls_input(t, bytes, n); while ((r = tls_read(t, buf, size)) > 0) ...;
 *     send:    n = tls_write(t, plain, len); then all of tls_output() to the socket, tls_sent(t, so many);
 * After each of tls_create(), tls_read() and tls_close() there may be something to send, the answer of a handshake or why it failed.
 *
 * A client is open before the server has looked at its certificate: that it was refused comes with a tls_read() later.
 * Bounds: what waits to be sent is TLS_OUT_MAX of the caller's and 16 KiB of TLS's own; of what came one record, in OpenSSL; before the
 * handshake is done a peer may send TLS_HANDSHAKE_MAX.
 * Errors: negative errno, with a sentence in err_why(). Thread: the owner's; keys may be shared.
 */
#ifndef LOOP_TLS_H
#define LOOP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TLS_OUT_MAX       ((size_t)256 << 10)
#define TLS_HANDSHAKE_MAX ((size_t)32 << 10)
#define TLS_NAME_MAX      63u /* of a certificate's common name */

struct tls_keys;
struct tls;

/*
 * What many connections share: the authority that is trusted, DIR/ca.pem, and what this side shows, DIR/NAME.pem with DIR/NAME.key.
 * name NULL: it shows nothing, as a client with a token. -ENOENT and so on: a file cannot be read; -EPERM: others than its owner can read the
 * key; -EINVAL: a file holds no certificate or key, or not the same one's.
 */
int tls_keys_load(const char *dir, const char *name, struct tls_keys **ret) __attribute__((warn_unused_result));
void tls_keys_destroy(struct tls_keys *k); /* tolerates NULL; after all connections */

enum tls_side { TLS_SERVER, TLS_CLIENT };

struct tls_options {
	const struct tls_keys *keys; /* kept until destroy */
	const char *host; /* client: that the server's certificate has to name, a name or an address. Borrowed */
	bool any_client;  /* server: a client needs no certificate; one that it shows has to be right */
	int64_t wall_ns;  /* at which certificates have to be valid; 0: now */
};

/* -EINVAL: a server's keys without a certificate, or a client without host; -ENOMEM. */
int tls_create(enum tls_side side, const struct tls_options *o, struct tls **ret) __attribute__((warn_unused_result));
void tls_destroy(struct tls *t); /* tolerates NULL */

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };
enum tls_state tls_state(const struct tls *t);
/* Why it failed; "" as long as it has not. */
const char *tls_why(const struct tls *t);

/* ---- from the peer ---- */

/* data stays the caller's, and as it is, until tls_read() has returned 0 or less. All of what was there before is used. */
void tls_input(struct tls *t, const void *data, size_t len);
/*
 * Bytes in buf; 0: all that came is used. -EPIPE: the peer has ended it properly; -EPROTO: it has failed.
 */
ssize_t tls_read(struct tls *t, void *buf, size_t size);

/* ---- to the peer ---- */

/* How many of them are taken, as there is room: 0 before it is open. -EPIPE: it has ended; -EPROTO: it has failed. */
ssize_t tls_write(struct tls *t, const void *data, size_t len);
/* What is to be sent, from the first byte that was not; valid until the next call with t. */
size_t tls_output(const struct tls *t, const void **ret);
void tls_sent(struct tls *t, size_t n);
/* Says that nothing will follow. */
void tls_close(struct tls *t);

/* ---- who it is ---- */

struct tls_peer {
	char name[TLS_NAME_MAX + 1]; /* the common name of its certificate; "": it has shown none */
	uint8_t fingerprint[32];     /* SHA-256 of the certificate */
};
/* False: it is not open. */
bool tls_peer(const struct tls *t, struct tls_peer *ret);

#endif
