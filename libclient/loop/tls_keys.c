/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h: certificates and keys from files, and the settings shared by all connections. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "mem.h"
#include "tls_private.h"

#define PATH_SIZE       4096
#define CERTIFICATE_MAX 16384 /* bytes of a peer's certificate chain */

static int path_of(char path[PATH_SIZE], const char *dir, const char *name, const char *end)
{
	if (snprintf(path, PATH_SIZE, "%s/%s%s", dir, name, end) >= PATH_SIZE)
		return err_set(-ENAMETOOLONG, "%s: the path is too long", dir);
	return 0;
}

/* Encrypted keys are refused: there is no user to ask for a password. */
static int no_password(char *buf, int size, int writing, void *user)
{
	(void)buf, (void)size, (void)writing, (void)user;
	return -1;
}

static int check_mode(FILE *f, const char *path)
{
	struct stat st;

	if (fstat(fileno(f), &st) < 0)
		return err_sys(-errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(-EINVAL, "%s: it is no file", path);
	if (st.st_mode & 077 || (st.st_uid != geteuid() && st.st_uid))
		return err_set(
			-EPERM,
			"%s: others can read this key (mode %04o); chmod 600, and make a new one if they may have",
			path, st.st_mode & 07777u);
	return 0;
}

static int load_key(SSL_CTX *ctx, const char *path)
{
	FILE *f = fopen(path, "re");
	EVP_PKEY *key = NULL;
	int r = f ? check_mode(f, path) : err_sys(-errno, "%s", path);

	if (r < 0)
		goto out;
	key = PEM_read_PrivateKey(f, NULL, no_password, NULL);
	if (!key)
		r = err_set(-EINVAL, "%s: it holds no key in PEM, or one with a password", path);
	else if (SSL_CTX_use_PrivateKey(ctx, key) != 1)
		r = err_set(-EINVAL, "%s: the key is not its certificate's", path);
out:
	EVP_PKEY_free(key);
	if (f)
		fclose(f);
	return r;
}

/* The system's errno is reported first, as OpenSSL gives less detail. */
static int load_certificates(SSL_CTX *ctx, const char *path, bool authority)
{
	int r;

	if (access(path, R_OK) < 0)
		return err_sys(-errno, "%s", path);
	r = authority ? SSL_CTX_load_verify_file(ctx, path) : SSL_CTX_use_certificate_chain_file(ctx, path);
	return r == 1 ? 0 : err_set(-EINVAL, "%s: it holds no certificate in PEM", path);
}

static int load(SSL_CTX *ctx, const char *dir, const char *name)
{
	char path[PATH_SIZE];
	int r = path_of(path, dir, "ca", ".pem");

	if (r == 0)
		r = load_certificates(ctx, path, true);
	if (r == 0 && name)
		r = path_of(path, dir, name, ".pem");
	if (r == 0 && name)
		r = load_certificates(ctx, path, false);
	if (r == 0 && name)
		r = path_of(path, dir, name, ".key");
	if (r == 0 && name)
		r = load_key(ctx, path);
	return r;
}

static int on_client_hello(SSL *ssl, int *alert, void *user)
{
	struct tls *t = SSL_get_app_data(ssl);

	(void)alert, (void)user;
	t->hello = true;
	return SSL_CLIENT_HELLO_SUCCESS;
}

/* 128-bit AES first: it is the fastest, and half of what 100 clients cost. */
static bool set_rules(SSL_CTX *ctx)
{
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_max_cert_list(ctx, CERTIFICATE_MAX);
	SSL_CTX_set_client_hello_cb(ctx, on_client_hello, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
	       SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(ctx, 0) == 1 &&
	       SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
					     "TLS_CHACHA20_POLY1305_SHA256") == 1;
}

static bool set_method(BIO_METHOD *m)
{
	return BIO_meth_set_read(m, tls_bio_read) && BIO_meth_set_write(m, tls_bio_write) &&
	       BIO_meth_set_ctrl(m, tls_bio_ctrl);
}

int tls_keys_load(const char *dir, const char *name, struct tls_keys **ret)
{
	struct tls_keys *k = MEM_NEW(struct tls_keys);
	int r;

	if (!k)
		return err_nomem();
	k->ctx = SSL_CTX_new(TLS_method());
	k->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "bytes");
	k->shows = name;
	r = k->ctx && k->method && set_rules(k->ctx) && set_method(k->method) ? load(k->ctx, dir, name) : err_nomem();
	ERR_clear_error();
	if (r < 0) {
		tls_keys_destroy(k);
		return r;
	}
	*ret = k;
	return 0;
}

void tls_keys_destroy(struct tls_keys *k)
{
	if (!k)
		return;
	SSL_CTX_free(k->ctx);
	BIO_meth_free(k->method);
	mem_free(k);
}
