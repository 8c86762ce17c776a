/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h */
#include "tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "mem.h"
#include "printable.h"
#include "tls_private.h"

#define RECORD     16384u /* plain bytes per record */
#define RECORD_OUT (RECORD + 256u)
#define OWN_MAX    16384u /* TLS's own bytes besides the caller's */
#define NS_PER_S   INT64_C(1000000000)

/* ---- bytes in and out, as OpenSSL asks for them ---- */

/* Reads from the caller's buffer, so received bytes are copied only into OpenSSL's record. */
int tls_bio_read(BIO *b, char *to, int size)
{
	struct tls *t = BIO_get_data(b);
	size_t n = (size_t)size < t->in_len ? (size_t)size : t->in_len;

	BIO_clear_retry_flags(b);
	if (!n) {
		BIO_set_retry_read(b);
		return -1;
	}
	if (t->state == TLS_HANDSHAKE && (t->handshake += n) > TLS_HANDSHAKE_MAX) {
		t->refused = "its handshake is longer than 32 KiB";
		return 0;
	}
	memcpy(to, t->in, n);
	t->in += n;
	t->in_len -= n;
	return (int)n;
}

/* Discards sent bytes before the buffer grows. */
static bool make_room(struct tls *t, size_t len)
{
	size_t need = t->out_len - t->sent + len, size = t->out_size ? t->out_size : 4096;
	uint8_t *out;

	if (t->sent && t->out_len + len > t->out_size) {
		memmove(t->out, t->out + t->sent, t->out_len - t->sent);
		t->out_len -= t->sent;
		t->sent = 0;
	}
	if (need <= t->out_size)
		return true;
	while (size < need)
		size *= 2;
	out = need > TLS_OUT_MAX + OWN_MAX ? NULL : mem_realloc(t->out, size);
	if (!out)
		return false;
	t->out = out;
	t->out_size = size;
	return true;
}

int tls_bio_write(BIO *b, const char *from, int len)
{
	struct tls *t = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	if (!make_room(t, (size_t)len)) {
		t->refused = "it asks, and does not read what it is answered";
		return -1;
	}
	memcpy(t->out + t->out_len, from, (size_t)len);
	t->out_len += (size_t)len;
	return len;
}

long tls_bio_ctrl(BIO *b, int cmd, long num, void *ptr)
{
	(void)b, (void)num, (void)ptr;
	return cmd == BIO_CTRL_FLUSH;
}

/* ---- create and destroy ---- */

/* Expects an address, or a name; a "*" matches only a whole label. */
static bool expect_host(struct tls *t, const char *host)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(t->ssl);

	snprintf(t->host, sizeof(t->host), "%s", host);
	X509_VERIFY_PARAM_set_hostflags(p, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (X509_VERIFY_PARAM_set1_ip_asc(p, host) == 1)
		return true;
	return X509_VERIFY_PARAM_set1_host(p, host, 0) == 1 && SSL_set_tlsext_host_name(t->ssl, host) == 1;
}

static int set_side(struct tls *t, const struct tls_options *o)
{
	BIO *b = BIO_new(o->keys->method);

	t->ssl = b ? SSL_new(o->keys->ctx) : NULL;
	if (!t->ssl) {
		BIO_free(b);
		return err_nomem();
	}
	BIO_set_data(b, t);
	BIO_set_init(b, 1);
	SSL_set_bio(t->ssl, b, b);
	SSL_set_app_data(t->ssl, t);
	if (o->wall_ns)
		X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), o->wall_ns / NS_PER_S);
	if (t->side == TLS_CLIENT) {
		SSL_set_connect_state(t->ssl);
		SSL_set_verify(t->ssl, SSL_VERIFY_PEER, NULL);
		return expect_host(t, o->host) ? 0 : err_nomem();
	}
	SSL_set_accept_state(t->ssl);
	SSL_set_verify(t->ssl, SSL_VERIFY_PEER | (o->any_client ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT), NULL);
	return 0;
}

int tls_create(enum tls_side side, const struct tls_options *o, struct tls **ret)
{
	struct tls *t;
	int r;

	if (side == TLS_SERVER && !o->keys->shows)
		return err_set(-EINVAL, "TLS: a server needs a certificate");
	if (side == TLS_CLIENT && (!o->host || !*o->host || strlen(o->host) >= sizeof(t->host)))
		return err_set(-EINVAL, "TLS: a client needs the name of its server, of 255 characters at most");
	t = MEM_NEW(struct tls);
	if (!t)
		return err_nomem();
	t->side = side;
	r = set_side(t, o);
	if (r == 0 && side == TLS_CLIENT && tls_read(t, NULL, 0) < 0) /* the client sends first */
		r = -EPROTO;
	ERR_clear_error();
	if (r < 0) {
		tls_destroy(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tls_destroy(struct tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	mem_free(t->out);
	mem_free(t);
}

enum tls_state tls_state(const struct tls *t)
{
	return t->state;
}

const char *tls_why(const struct tls *t)
{
	return t->why;
}

/* ---- handshake and end ---- */

/* Input that is not TLS gets no answer: alerts are only for peers that speak TLS. */
static int fail(struct tls *t)
{
	if (t->state != TLS_FAILED)
		tls_tell_why(t);
	if (t->side == TLS_SERVER && !t->hello)
		t->sent = t->out_len = 0;
	t->state = TLS_FAILED;
	t->in_len = 0;
	return err_set(-EPROTO, "TLS: %s", t->why);
}

static int closed(struct tls *t)
{
	t->state = TLS_CLOSED;
	t->in_len = 0;
	return err_set(-EPIPE, "TLS: the other side has ended the connection");
}

/* Maps the failure of an OpenSSL call; 0: more bytes are needed. */
static int ended(struct tls *t, int got)
{
	switch (SSL_get_error(t->ssl, got)) {
	case SSL_ERROR_WANT_READ:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		return closed(t);
	default:
		return fail(t);
	}
}

/* Requires exactly one name, printable and usable in a list. */
static bool name_of(X509 *cert, char name[TLS_NAME_MAX + 1])
{
	X509_NAME *subject = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1), len = 0;
	unsigned char *text = NULL;
	bool right = false;

	if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0)
		len = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
	if (len > 0 && len <= (int)TLS_NAME_MAX && !memchr(text, 0, (size_t)len)) {
		memcpy(name, text, (size_t)len);
		name[len] = 0;
		right = printable_is(name, (size_t)len);
	}
	OPENSSL_free(text);
	return right;
}

static int open_it(struct tls *t)
{
	X509 *cert = SSL_get0_peer_certificate(t->ssl);

	if (cert && (!name_of(cert, t->peer.name) || X509_digest(cert, EVP_sha256(), t->peer.fingerprint, NULL) != 1)) {
		t->refused = "its certificate has no common name of 1 to 63 printable characters";
		return fail(t);
	}
	t->state = TLS_OPEN;
	return 0;
}

static int shake(struct tls *t)
{
	int r = SSL_do_handshake(t->ssl);

	return r == 1 ? open_it(t) : ended(t, r);
}

bool tls_peer(const struct tls *t, struct tls_peer *ret)
{
	if (t->state != TLS_OPEN)
		return false;
	*ret = t->peer;
	return true;
}

/* ---- bytes ---- */

void tls_input(struct tls *t, const void *data, size_t len)
{
	if (t->state == TLS_FAILED || t->state == TLS_CLOSED)
		return;
	t->in = data;
	t->in_len = len;
}

/* Returns a negative errno, with its sentence; 0: it has not ended. */
static int over(struct tls *t)
{
	return t->state == TLS_FAILED ? fail(t) : t->state == TLS_CLOSED ? closed(t) : 0;
}

ssize_t tls_read(struct tls *t, void *buf, size_t size)
{
	size_t got = 0;
	int r = over(t);

	if (r < 0)
		return r;
	ERR_clear_error();
	if (t->state == TLS_HANDSHAKE) {
		r = shake(t);
		if (r < 0 || t->state == TLS_HANDSHAKE)
			return r;
	}
	r = size ? SSL_read_ex(t->ssl, buf, size, &got) : 1;
	return r == 1 ? (ssize_t)got : ended(t, r);
}

/* One record at a time, while there is room for a whole one: then OpenSSL never has to buffer one. */
ssize_t tls_write(struct tls *t, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t left = len, n;
	int r = over(t);

	if (r < 0)
		return r;
	ERR_clear_error();
	while (t->state == TLS_OPEN && left && t->out_len - t->sent + RECORD_OUT <= TLS_OUT_MAX) {
		r = SSL_write_ex(t->ssl, at, left < RECORD ? left : RECORD, &n);
		if (r != 1)
			return ended(t, r);
		at += n;
		left -= n;
	}
	return (ssize_t)(len - left);
}

size_t tls_output(const struct tls *t, const void **ret)
{
	*ret = t->out ? t->out + t->sent : NULL;
	return t->out_len - t->sent;
}

void tls_sent(struct tls *t, size_t n)
{
	t->sent += n;
	if (t->sent == t->out_len)
		t->sent = t->out_len = 0;
}

void tls_close(struct tls *t)
{
	if (t->state != TLS_OPEN)
		return;
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl);
	t->state = TLS_CLOSED;
	ERR_clear_error();
}
