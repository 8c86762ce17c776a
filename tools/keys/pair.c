/* SPDX-License-Identifier: Apache-2.0 */
/* Contract in pair.h. */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "timeutil.h"

#define DAY_S (24L * 3600)

void pair_finish(struct pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
	*p = (struct pair){ NULL, NULL };
}

/* ---- files ---- */

static int open_in(int dir, const char *name, const char *end, int flags, mode_t mode)
{
	char file[PAIR_NAME_MAX + 8];
	int fd;

	snprintf(file, sizeof(file), "%s%s", name, end);
	fd = openat(dir, file, flags | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd < 0 ? err_sys(-errno, "%s", file) : fd;
}

bool pair_there(int dir, const char *name, const char *end)
{
	char file[PAIR_NAME_MAX + 8];
	struct stat st;

	snprintf(file, sizeof(file), "%s%s", name, end);
	return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int pair_files(int dir, const char *name)
{
	bool cert = pair_there(dir, name, ".pem"), key = pair_there(dir, name, ".key");

	if (cert != key)
		return err_set(-ENOENT, "%s%s exists without %s%s; remove it, or restore the missing file", name,
			       cert ? ".pem" : ".key", name, cert ? ".key" : ".pem");
	return cert;
}

/* O_EXCL: always creates a new file and never writes to an existing one. */
int pair_put_text(int dir, const char *name, const char *end, mode_t mode, BIO *text)
{
	char *data;
	long len = BIO_get_mem_data(text, &data);
	int fd = open_in(dir, name, end, O_WRONLY | O_CREAT | O_EXCL, mode), r;

	if (fd < 0)
		return fd;
	r = fchmod(fd, mode) < 0 ? -errno : fd_write_all(fd, data, (size_t)len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	fd_close(fd);
	return r < 0 ? err_sys(r, "%s%s", name, end) : 0;
}

void pair_unput(int dir, const char *name, const char *end)
{
	char file[PAIR_NAME_MAX + 8];

	snprintf(file, sizeof(file), "%s%s", name, end);
	(void)unlinkat(dir, file, 0);
}

int pair_put(int dir, const char *name, const struct pair *p)
{
	BIO *key = BIO_new(BIO_s_secmem()), *cert = BIO_new(BIO_s_mem());
	int r = err_nomem();

	if (key && cert && PEM_write_bio_PrivateKey(key, p->key, NULL, NULL, 0, NULL, NULL) == 1 &&
	    PEM_write_bio_X509(cert, p->cert) == 1) {
		r = pair_put_text(dir, name, ".key", 0600, key);
		if (r == 0) {
			r = pair_put_text(dir, name, ".pem", 0644, cert);
			if (r < 0)
				pair_unput(dir, name, ".key");
		}
	}
	BIO_free(key);
	BIO_free(cert);
	return r;
}

int pair_get(int dir, const char *name, struct pair *ret)
{
	int cert_fd = open_in(dir, name, ".pem", O_RDONLY, 0), key_fd = open_in(dir, name, ".key", O_RDONLY, 0);
	FILE *cert = cert_fd < 0 ? NULL : fdopen(cert_fd, "r"), *key = key_fd < 0 ? NULL : fdopen(key_fd, "r");
	struct stat st;
	int r = cert && key && fstat(key_fd, &st) == 0 ? 0 : cert_fd < 0 ? cert_fd : key_fd < 0 ? key_fd : -ENOMEM;

	if (r == 0 && st.st_mode & 077)
		r = err_set(-EPERM,
			    "%s.key: others can read this key (mode %04o); chmod 600, and make new keys if others may "
			    "have read it",
			    name, st.st_mode & 07777u);
	if (r == 0) {
		ret->cert = PEM_read_X509(cert, NULL, NULL, NULL);
		ret->key = PEM_read_PrivateKey(key, NULL, NULL, (void *)(uintptr_t) "");
		if (!ret->cert || !ret->key || X509_check_private_key(ret->cert, ret->key) != 1)
			r = err_set(-EINVAL, "%s.pem and %s.key are not a certificate and its key", name, name);
	}
	if (cert)
		fclose(cert);
	else
		fd_close(cert_fd);
	if (key)
		fclose(key);
	else
		fd_close(key_fd);
	return r;
}

int pair_dir(const char *path)
{
	struct stat st;
	int fd, r = fd_mkdir_p(path, 0700);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(-errno, "%s", path);
	if (fstat(fd, &st) == 0 && !(st.st_mode & 022))
		return fd;
	fd_close(fd);
	return err_set(-EPERM, "%s: others may write there (mode %04o); chmod 700", path, st.st_mode & 07777u);
}

/* ---- certificates ---- */

bool pair_add(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool right;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	right = e && X509_add_ext(cert, e, -1) == 1;
	X509_EXTENSION_free(e);
	return right;
}

/* Sets a random serial number; equal numbers are practically impossible. */
static bool set_number(X509 *cert)
{
	BIGNUM *n = BN_new();
	bool right = n && BN_rand(n, 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		     BN_to_ASN1_INTEGER(n, X509_get_serialNumber(cert));

	BN_free(n);
	return right;
}

static bool set_name(X509 *cert, const char *name)
{
	X509_NAME *subject = X509_get_subject_name(cert);

	return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
					  0) == 1;
}

static bool set_days(X509 *cert, int64_t wall_ns, long days)
{
	time_t from = wall_ns ? (time_t)(wall_ns / NS_PER_S) : time(NULL) - 3600;

	return ASN1_TIME_set(X509_getm_notBefore(cert), from) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), from + days * DAY_S);
}

bool pair_begin(struct pair *p, const char *name, int64_t wall_ns, long days)
{
	p->key = EVP_EC_gen("P-256");
	p->cert = X509_new();
	return p->key && p->cert && X509_set_version(p->cert, X509_VERSION_3) == 1 && set_number(p->cert) &&
	       set_name(p->cert, name) && set_days(p->cert, wall_ns, days) && X509_set_pubkey(p->cert, p->key) == 1;
}

bool pair_sign(struct pair *p, const struct pair *by)
{
	return X509_set_issuer_name(p->cert, X509_get_subject_name(by->cert)) == 1 &&
	       pair_add(p->cert, by->cert, NID_subject_key_identifier, "hash") &&
	       pair_add(p->cert, by->cert, NID_authority_key_identifier, "keyid") &&
	       X509_sign(p->cert, by->key, EVP_sha256()) > 0;
}
