/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h */
#include "keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "timeutil.h"

#define NAME_MAX_LEN     63u
#define HOST_MAX_LEN     253u
#define DAY_S            (24L * 3600)
#define AUTHORITY_DAYS   7300L
#define CERTIFICATE_DAYS 1825L
#define PATH_SIZE        4096

/* A certificate with its key; those of the authority sign. */
struct pair {
	X509 *cert;
	EVP_PKEY *key;
};

static void pair_finish(struct pair *p)
{
	X509_free(p->cert);
	EVP_PKEY_free(p->key);
	*p = (struct pair){ NULL, NULL };
}

/* ---- names ---- */

static bool all_of(const char *text, const char *more)
{
	for (; *text; text++)
		if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		      (*text >= '0' && *text <= '9') || strchr(more, *text)))
			return false;
	return true;
}

static bool is_address(const char *name)
{
	uint8_t to[16];

	return inet_pton(AF_INET, name, to) == 1 || inet_pton(AF_INET6, name, to) == 1;
}

static int check_client(const char *name)
{
	if (!*name || strlen(name) > NAME_MAX_LEN || *name == '.' || *name == '-' || !all_of(name, "._-"))
		return err_set(-EINVAL, "--client %s: a name is 1 to 63 letters, digits, '.', '_' and '-'", name);
	if (strcmp(name, "ca") == 0 || strcmp(name, "server") == 0)
		return err_set(-EINVAL, "--client %s: that is the name of another file; choose another one", name);
	return 0;
}

static int check_names(const struct keys_options *o)
{
	int r = 0;

	if (o->n_names > KEYS_NAMES_MAX)
		return err_set(-EINVAL, "--name: a server has up to %u names", KEYS_NAMES_MAX);
	for (unsigned i = 0; i < o->n_names; i++) {
		const char *n = o->names[i];

		if (!is_address(n) && (!*n || strlen(n) > HOST_MAX_LEN || *n == '.' || *n == '-' || !all_of(n, ".-")))
			return err_set(-EINVAL, "--name %s: give a host's name or address", n);
	}
	for (unsigned i = 0; i < o->n_clients && r == 0; i++)
		r = check_client(o->clients[i]);
	for (unsigned i = 0; i < o->n_clients && r == 0; i++)
		for (unsigned k = 0; k < i; k++)
			if (strcmp(o->clients[i], o->clients[k]) == 0)
				r = err_set(-EINVAL, "--client %s: it is given twice", o->clients[i]);
	return r;
}

/* ---- files ---- */

static int open_in(int dir, const char *name, const char *end, int flags, mode_t mode)
{
	char file[NAME_MAX_LEN + 8];
	int fd;

	snprintf(file, sizeof(file), "%s%s", name, end);
	fd = openat(dir, file, flags | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd < 0 ? err_sys(-errno, "%s", file) : fd;
}

static bool is_there(int dir, const char *name, const char *end)
{
	char file[NAME_MAX_LEN + 8];
	struct stat st;

	snprintf(file, sizeof(file), "%s%s", name, end);
	return fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* 1: both files are there, 0: neither. */
static int has_pair(int dir, const char *name)
{
	bool cert = is_there(dir, name, ".pem"), key = is_there(dir, name, ".key");

	if (cert != key)
		return err_set(-ENOENT, "%s%s is there without %s%s; remove it, or bring the other one back", name,
			       cert ? ".pem" : ".key", name, cert ? ".key" : ".pem");
	return cert;
}

/* In a file of its own making, and nothing of one that was there. */
static int put(int dir, const char *name, const char *end, mode_t mode, BIO *text)
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

static void take_back(int dir, const char *name, const char *end)
{
	char file[NAME_MAX_LEN + 8];

	snprintf(file, sizeof(file), "%s%s", name, end);
	(void)unlinkat(dir, file, 0);
}

static int put_pair(int dir, const char *name, const struct pair *p)
{
	BIO *key = BIO_new(BIO_s_secmem()), *cert = BIO_new(BIO_s_mem());
	int r = err_nomem();

	if (key && cert && PEM_write_bio_PrivateKey(key, p->key, NULL, NULL, 0, NULL, NULL) == 1 &&
	    PEM_write_bio_X509(cert, p->cert) == 1) {
		r = put(dir, name, ".key", 0600, key);
		if (r == 0) {
			r = put(dir, name, ".pem", 0644, cert);
			if (r < 0)
				take_back(dir, name, ".key");
		}
	}
	BIO_free(key);
	BIO_free(cert);
	return r;
}

static int get_authority(int dir, struct pair *ret)
{
	int cert_fd = open_in(dir, "ca", ".pem", O_RDONLY, 0), key_fd = open_in(dir, "ca", ".key", O_RDONLY, 0);
	FILE *cert = cert_fd < 0 ? NULL : fdopen(cert_fd, "r"), *key = key_fd < 0 ? NULL : fdopen(key_fd, "r");
	struct stat st;
	int r = cert && key && fstat(key_fd, &st) == 0 ? 0 : cert_fd < 0 ? cert_fd : key_fd < 0 ? key_fd : -ENOMEM;

	if (r == 0 && st.st_mode & 077)
		r = err_set(
			-EPERM,
			"ca.key: others can read this key (mode %04o); chmod 600, and make new ones if they may have",
			st.st_mode & 07777u);
	if (r == 0) {
		ret->cert = PEM_read_X509(cert, NULL, NULL, NULL);
		ret->key = PEM_read_PrivateKey(key, NULL, NULL, (void *)(uintptr_t) "");
		if (!ret->cert || !ret->key || X509_check_private_key(ret->cert, ret->key) != 1)
			r = err_set(-EINVAL, "ca.pem and ca.key are no certificate with its key");
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

/* ---- certificates ---- */

static bool add(X509 *cert, X509 *issuer, int nid, const char *value)
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

/* So random that no two are the same. */
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

/* Key, name and days; without what it is for, and unsigned. */
static bool begin(struct pair *p, const char *name, int64_t wall_ns, long days)
{
	p->key = EVP_EC_gen("P-256");
	p->cert = X509_new();
	return p->key && p->cert && X509_set_version(p->cert, X509_VERSION_3) == 1 && set_number(p->cert) &&
	       set_name(p->cert, name) && set_days(p->cert, wall_ns, days) && X509_set_pubkey(p->cert, p->key) == 1;
}

static bool sign(struct pair *p, const struct pair *by)
{
	return X509_set_issuer_name(p->cert, X509_get_subject_name(by->cert)) == 1 &&
	       add(p->cert, by->cert, NID_subject_key_identifier, "hash") &&
	       add(p->cert, by->cert, NID_authority_key_identifier, "keyid") &&
	       X509_sign(p->cert, by->key, EVP_sha256()) > 0;
}

static bool make_authority(struct pair *p, int64_t wall_ns)
{
	return begin(p, "authority of a sim-world", wall_ns, AUTHORITY_DAYS) &&
	       add(p->cert, p->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add(p->cert, p->cert, NID_key_usage, "critical,keyCertSign,cRLSign") && sign(p, p);
}

/* names: of its subject, "" for a client. */
static bool make_leaf(struct pair *p, const char *name, const char *names, const struct pair *by, int64_t wall_ns)
{
	return begin(p, name, wall_ns, CERTIFICATE_DAYS) &&
	       add(p->cert, by->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       add(p->cert, by->cert, NID_key_usage, "critical,digitalSignature") &&
	       add(p->cert, by->cert, NID_ext_key_usage, *names ? "serverAuth" : "clientAuth") &&
	       (!*names || add(p->cert, by->cert, NID_subject_alt_name, names)) && sign(p, by);
}

static void names_of(const struct keys_options *o, char *to, size_t size)
{
	size_t n = (size_t)snprintf(to, size, "DNS:localhost,IP:127.0.0.1");

	for (unsigned i = 0; i < o->n_names; i++)
		n += (size_t)snprintf(to + n, size - n, ",%s:%s", is_address(o->names[i]) ? "IP" : "DNS", o->names[i]);
}

/* ---- the whole ---- */

static int ensure_authority(int dir, const struct keys_options *o, struct pair *ret, unsigned *made)
{
	int r = has_pair(dir, "ca");

	if (r != 0)
		return r < 0 ? r : get_authority(dir, ret);
	r = make_authority(ret, o->wall_ns) ? put_pair(dir, "ca", ret) : err_nomem();
	*made += r == 0;
	return r;
}

static int make_one(int dir, const struct keys_options *o, const char *name, const char *names, const struct pair *by,
		    unsigned *made)
{
	struct pair p = { NULL, NULL };
	int r = make_leaf(&p, name, names, by, o->wall_ns) ? put_pair(dir, name, &p) : err_nomem();

	*made += r == 0;
	pair_finish(&p);
	return r;
}

/* Nothing is made if a part of it cannot be. */
static int look(int dir, const struct keys_options *o)
{
	int r = has_pair(dir, "server");

	if (r == 1 && o->n_names)
		return err_set(-EEXIST,
			       "server.pem is there, with the names it has; remove it and server.key for others");
	if (r >= 0)
		r = has_pair(dir, "ca");
	for (unsigned i = 0; i < o->n_clients && r >= 0; i++)
		if (is_there(dir, o->clients[i], ".pem") || is_there(dir, o->clients[i], ".key"))
			r = err_set(-EEXIST, "--client %s: its files are there already", o->clients[i]);
	return r < 0 ? r : 0;
}

static int make_all(int dir, const struct keys_options *o, unsigned *made)
{
	char names[64 + KEYS_NAMES_MAX * (HOST_MAX_LEN + 8)];
	struct pair ca = { NULL, NULL };
	int r = ensure_authority(dir, o, &ca, made);

	names_of(o, names, sizeof(names));
	if (r == 0 && !is_there(dir, "server", ".pem"))
		r = make_one(dir, o, "server", names, &ca, made);
	for (unsigned i = 0; i < o->n_clients && r == 0; i++)
		r = make_one(dir, o, o->clients[i], "", &ca, made);
	pair_finish(&ca);
	ERR_clear_error();
	return r;
}

static int open_dir(const char *path)
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

int keys_make(const struct keys_options *o, unsigned *ret_made)
{
	unsigned made = 0;
	int r = check_names(o), dir;

	if (r < 0)
		return r;
	dir = open_dir(o->dir);
	if (dir < 0)
		return dir;
	r = look(dir, o);
	if (r == 0)
		r = make_all(dir, o, &made);
	fd_close(dir);
	if (r == 0 && ret_made)
		*ret_made = made;
	return r < 0 ? err_prefix(r, "%s", o->dir) : 0;
}
