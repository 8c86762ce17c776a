/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS 1.3 of one connection, at either side, without a socket: the peer's bytes go in, plain bytes come out; plain
 * bytes go in, bytes to send come out. TLS 1.3 alone; no renegotiation, no early data, no tickets, no resumption.
 *
 *     receive: tls_input(t, bytes, n); while ((r = tls_read(t, buf, size)) > 0) ...;
 *     send:    n = tls_write(t, plain, len); then all of tls_output() to the socket, tls_sent(t, so many);
 * After each of tls_create(), tls_read() and tls_close() there may be bytes to send: a handshake's answer, or an alert.
 *
 * A client is open before the server has looked at its certificate: a later tls_read() reports that the certificate was
 * refused.
 * Bounds: what waits to be sent is TLS_OUT_MAX of the caller's and 16 KiB of TLS's own; of what came one record, in
 * OpenSSL; before the handshake is done a peer may send TLS_HANDSHAKE_MAX.
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
#define TLS_NAME_MAX      63u /* bytes of a certificate's common name */

struct tls_keys;
struct tls;

/*
 * What many connections share: the authority that is trusted, DIR/ca.pem, and what this side shows, DIR/NAME.pem with
 * DIR/NAME.key. name NULL: it shows nothing, as a client with a token. -ENOENT and so on: a file cannot be read;
 * -EPERM: others than its owner can read the key; -EINVAL: a file holds no certificate or key, or not the same one's.
 */
int tls_keys_load(const char *dir, const char *name, struct tls_keys **ret) __attribute__((warn_unused_result));
void tls_keys_destroy(struct tls_keys *k); /* NULL is fine; call it after all connections */

enum tls_side { TLS_SERVER, TLS_CLIENT };

struct tls_options {
	const struct tls_keys *keys; /* kept until destroy */
	const char *host; /* client: name or address that the server's certificate has to contain. Borrowed */
	/* server: a client needs no certificate; but a certificate that it presents has to be valid */
	bool any_client;
	int64_t wall_ns; /* time at which certificates have to be valid; 0: now */
};

/* -EINVAL: a server's keys without a certificate, or a client without host; -ENOMEM. */
int tls_create(enum tls_side side, const struct tls_options *o, struct tls **ret) __attribute__((warn_unused_result));
void tls_destroy(struct tls *t); /* NULL is fine */

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED, TLS_FAILED };
enum tls_state tls_state(const struct tls *t);
/* Why the connection failed; "" if it has not. */
const char *tls_why(const struct tls *t);

/* ---- from the peer ---- */

/* Borrows data until tls_read() has returned 0 or less, and uses all of it. All earlier input must be used. */
void tls_input(struct tls *t, const void *data, size_t len);
/*
 * Returns bytes in buf; 0: all input is used. -EPIPE: the peer has closed TLS properly; -EPROTO: the connection has
 * failed.
 */
ssize_t tls_read(struct tls *t, void *buf, size_t size);

/* ---- to the peer ---- */

/*
 * Returns how many bytes are taken, as there is room: 0 before the connection is open. -EPIPE: closed; -EPROTO: failed.
 */
ssize_t tls_write(struct tls *t, const void *data, size_t len);
/* Returns the bytes to send, from the first unsent one; valid until the next call with t. */
size_t tls_output(const struct tls *t, const void **ret);
void tls_sent(struct tls *t, size_t n);
/* Tells the peer that nothing follows. */
void tls_close(struct tls *t);

/* ---- identity of the peer ---- */

struct tls_peer {
	char name[TLS_NAME_MAX + 1]; /* the common name of its certificate; "": it has presented none */
	uint8_t fingerprint[32];     /* SHA-256 of the certificate */
};
/* Returns false if the connection is not open. */
bool tls_peer(const struct tls *t, struct tls_peer *ret);

#endif
