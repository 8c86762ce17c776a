/* SPDX-License-Identifier: Apache-2.0 */
/* What tls.c, tls_keys.c and tls_why.c share. */
#ifndef LOOP_TLS_PRIVATE_H
#define LOOP_TLS_PRIVATE_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "tls.h"

struct tls_keys {
	SSL_CTX *ctx;
	BIO_METHOD *method;
	bool shows; /* it has a certificate and key */
};

struct tls {
	SSL *ssl;
	enum tls_side side;
	enum tls_state state;
	bool hello;        /* server: the first bytes were a ClientHello */
	const uint8_t *in; /* the caller's input; NULL: none */
	size_t in_len;
	size_t handshake; /* bytes received before it was open */
	uint8_t *out;
	size_t out_len, out_size, sent;
	const char *refused; /* our own reason, not OpenSSL's; NULL: none */
	char host[256];
	char why[256];
	struct tls_peer peer;
};

/* ---- tls.c ---- */

int tls_bio_read(BIO *b, char *to, int size);
int tls_bio_write(BIO *b, const char *from, int len);
long tls_bio_ctrl(BIO *b, int cmd, long num, void *ptr);

/* ---- tls_why.c ---- */

/* Keeps OpenSSL's error as t's reason, and empties its queue. */
void tls_tell_why(struct tls *t);

#endif
