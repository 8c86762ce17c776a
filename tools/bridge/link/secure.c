/* SPDX-License-Identifier: Apache-2.0 */
/* See secure.h. */
#include "secure.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link.h"

#define FILE_MAX ((size_t)64 << 10)

/* id, file, Cyclone's property */
#define FILES(X) \
	X(IDENTITY_CA, "identity_ca.pem", "dds.sec.auth.identity_ca") \
	X(IDENTITY, "identity.pem", "dds.sec.auth.identity_certificate") \
	X(KEY, "identity.key", "dds.sec.auth.private_key") \
	X(PERMISSIONS_CA, "permissions_ca.pem", "dds.sec.access.permissions_ca") \
	X(GOVERNANCE, "governance.p7s", "dds.sec.access.governance") \
	X(PERMISSIONS, "permissions.p7s", "dds.sec.access.permissions")

enum {
#define X(id, file, property) id,
	FILES(X)
#undef X
		N_FILES
};

static const struct {
	const char *name, *property;
} files[] = {
#define X(id, file, property) { file, property },
	FILES(X)
#undef X
};

#define DATA "data:," /* Cyclone's prefix for a value that is the content itself, not a file name */

struct secure {
	char *text[N_FILES]; /* DATA and the file's content */
	size_t size[N_FILES];
};

/* used while the files are read and checked */
struct checking {
	struct sim_bridge *b;
	const char *dir;
	struct secure *s;
	X509 *identity_ca, *identity, *permissions_ca;
};

/* ---- files ---- */

static int check_file(const struct checking *c, unsigned i, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uintmax_t)st.st_size > FILE_MAX) {
		log_error(c->b, "options.keys: %s/%s is not a regular file of at most %zu KiB", c->dir, files[i].name,
			  FILE_MAX >> 10);
		return -EINVAL;
	}
	if (i == KEY && (st.st_mode & 077 || (st.st_uid != geteuid() && st.st_uid))) {
		log_error(
			c->b,
			"options.keys: others can read %s/%s (mode %04o): chmod 600 it, and make new keys if somebody may have read it",
			c->dir, files[i].name, st.st_mode & 07777u);
		return -EPERM;
	}
	return 0;
}

static int read_all(int fd, char *to, size_t *ret)
{
	size_t at = 0;

	while (at < FILE_MAX) {
		ssize_t n = read(fd, to + at, FILE_MAX - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		at += n > 0 ? (size_t)n : 0;
	}
	*ret = at;
	return 0;
}

static int read_file(const struct checking *c, unsigned i)
{
	struct secure *s = c->s;
	char path[PATH_MAX];
	int r, fd = -1;

	s->text[i] = calloc(1, sizeof(DATA) + FILE_MAX);
	if (!s->text[i])
		return -ENOMEM;
	memcpy(s->text[i], DATA, strlen(DATA));
	if (snprintf(path, sizeof(path), "%s/%s", c->dir, files[i].name) < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		r = -errno;
		log_error(
			c->b,
			"options.keys: %s/%s: %s; `simctl link make-keys DIR --host %s` makes what a machine needs as DIR/%s",
			c->dir, files[i].name, strerror(-r), c->b->name, c->b->name);
		return r < 0 ? r : -EINVAL;
	}
	r = check_file(c, i, fd);
	if (r == 0)
		r = read_all(fd, s->text[i] + strlen(DATA), &s->size[i]);
	close(fd);
	if (r == 0 && strlen(s->text[i]) != strlen(DATA) + s->size[i]) {
		log_error(c->b, "options.keys: %s/%s is not text", c->dir, files[i].name);
		r = -EINVAL;
	}
	return r;
}

/* ---- checking the content ---- */

static BIO *text_of(const struct checking *c, unsigned i)
{
	return BIO_new_mem_buf(c->s->text[i] + strlen(DATA), (int)c->s->size[i]);
}

/* The link cannot ask for a password. */
static int no_password(char *buf, int size, int writing, void *user)
{
	(void)buf, (void)size, (void)writing, (void)user;
	return -1;
}

static X509 *certificate_of(const struct checking *c, unsigned i)
{
	BIO *text = text_of(c, i);
	X509 *cert = text ? PEM_read_bio_X509(text, NULL, no_password, NULL) : NULL;

	BIO_free(text);
	if (!cert)
		log_error(c->b, "options.keys: %s/%s holds no certificate in PEM", c->dir, files[i].name);
	return cert;
}

static void date_of(const ASN1_TIME *t, char to[32])
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1 || !strftime(to, 32, "%Y-%m-%d %H:%M UTC", &tm))
		snprintf(to, 32, "an unknown date");
}

static int check_dates(const struct checking *c, unsigned i, const X509 *cert)
{
	char date[32];

	if (X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0) {
		date_of(X509_get0_notAfter(cert), date);
		log_error(c->b, "options.keys: %s/%s has expired on %s: make new keys with `simctl link make-keys`",
			  c->dir, files[i].name, date);
		return -EKEYEXPIRED;
	}
	if (X509_cmp_current_time(X509_get0_notBefore(cert)) >= 0) {
		date_of(X509_get0_notBefore(cert), date);
		log_error(c->b, "options.keys: %s/%s is valid from %s on: is this machine's clock right?", c->dir,
			  files[i].name, date);
		return -EKEYREJECTED;
	}
	return 0;
}

static int check_key(const struct checking *c)
{
	BIO *text = text_of(c, KEY);
	EVP_PKEY *key = text ? PEM_read_bio_PrivateKey(text, NULL, no_password, NULL) : NULL;
	bool right = key && X509_check_private_key(c->identity, key) == 1;

	if (!right)
		log_error(c->b,
			  key ? "options.keys: %s/%s is not the key of identity.pem there"
			      : "options.keys: %s/%s holds no key in PEM, or one with a password",
			  c->dir, files[KEY].name);
	EVP_PKEY_free(key);
	BIO_free(text);
	return right ? 0 : -EKEYREJECTED;
}

static int check_host(const struct checking *c)
{
	char name[64] = "";

	if (X509_NAME_get_text_by_NID(X509_get_subject_name(c->identity), NID_commonName, name, sizeof(name)) < 0 ||
	    !manifest_host_ok(name)) {
		log_error(c->b, "options.keys: %s/identity.pem names no host", c->dir);
		return -EKEYREJECTED;
	}
	if (strcmp(name, c->b->name) == 0)
		return 0;
	log_error(
		c->b,
		"options.keys: the keys in %s are for host %s, but this machine is %s: set options.host to %s, or use its own keys",
		c->dir, name, c->b->name, name);
	return -EKEYREJECTED;
}

static int check_signed(const struct checking *c, unsigned i)
{
	BIO *text = text_of(c, i), *content = NULL, *out = BIO_new(BIO_s_mem());
	PKCS7 *p7 = text && out ? SMIME_read_PKCS7(text, &content) : NULL;
	X509_STORE *store = X509_STORE_new();
	bool right = p7 && store && X509_STORE_add_cert(store, c->permissions_ca) == 1 &&
		     PKCS7_verify(p7, NULL, store, content, out, PKCS7_TEXT) == 1;

	if (!right)
		log_error(
			c->b,
			"options.keys: %s/%s is not signed by permissions_ca.pem there: copy the whole directory again",
			c->dir, files[i].name);
	X509_STORE_free(store);
	PKCS7_free(p7);
	BIO_free(content);
	BIO_free(out);
	BIO_free(text);
	return right ? 0 : -EKEYREJECTED;
}

static int check_identity(struct checking *c)
{
	EVP_PKEY *ca;
	int r;

	c->identity_ca = certificate_of(c, IDENTITY_CA);
	c->identity = certificate_of(c, IDENTITY);
	c->permissions_ca = certificate_of(c, PERMISSIONS_CA);
	if (!c->identity_ca || !c->identity || !c->permissions_ca)
		return -EKEYREJECTED;
	r = check_dates(c, IDENTITY_CA, c->identity_ca);
	if (r == 0)
		r = check_dates(c, PERMISSIONS_CA, c->permissions_ca);
	if (r == 0)
		r = check_dates(c, IDENTITY, c->identity);
	ca = X509_get0_pubkey(c->identity_ca);
	if (r == 0 && (!ca || X509_verify(c->identity, ca) != 1)) {
		log_error(c->b, "options.keys: %s/identity.pem is not signed by identity_ca.pem there", c->dir);
		r = -EKEYREJECTED;
	}
	return r;
}

int secure_read(struct sim_bridge *b, const char *dir, struct secure **ret)
{
	struct checking c = { .b = b, .dir = dir, .s = calloc(1, sizeof(*c.s)) };
	int r = c.s ? 0 : -ENOMEM;

	for (unsigned i = 0; i < N_FILES && r == 0; i++)
		r = read_file(&c, i);
	if (r == 0)
		r = check_identity(&c);
	if (r == 0)
		r = check_host(&c);
	if (r == 0)
		r = check_key(&c);
	if (r == 0)
		r = check_signed(&c, GOVERNANCE);
	if (r == 0)
		r = check_signed(&c, PERMISSIONS);
	X509_free(c.identity_ca);
	X509_free(c.identity);
	X509_free(c.permissions_ca);
	ERR_clear_error();
	if (r < 0) {
		secure_free(c.s);
		return r;
	}
	*ret = c.s;
	return 0;
}

void secure_free(struct secure *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < N_FILES; i++) {
		if (s->text[i])
			OPENSSL_cleanse(s->text[i], sizeof(DATA) + FILE_MAX);
		free(s->text[i]);
	}
	free(s);
}

/* ---- Cyclone ---- */

/*
 * Uses the plug-in's path if it is in libddsc0debian beside libddsc, where Debian has it and dlopen() does not search;
 * else its name.
 */
static void set_plugin(dds_qos_t *q, const char *kind, const char *library, const char *object)
{
	char path[PATH_MAX], name[64], entry[64], *slash;
	Dl_info info;

	snprintf(path, sizeof(path), "dds_security_%s", library);
	if (dladdr((void *)(uintptr_t)dds_create_participant, &info) && info.dli_fname &&
	    (slash = strrchr(info.dli_fname, '/'))) {
		char beside[PATH_MAX];

		if (snprintf(beside, sizeof(beside), "%.*s/libddsc0debian/libdds_security_%s.so",
			     (int)(slash - info.dli_fname), info.dli_fname, library) < (int)sizeof(beside) &&
		    access(beside, R_OK) == 0)
			memcpy(path, beside, strlen(beside) + 1);
	}
	snprintf(name, sizeof(name), "dds.sec.%s.library.path", kind);
	dds_qset_prop(q, name, path);
	snprintf(name, sizeof(name), "dds.sec.%s.library.init", kind);
	snprintf(entry, sizeof(entry), "init_%s", object);
	dds_qset_prop(q, name, entry);
	snprintf(name, sizeof(name), "dds.sec.%s.library.finalize", kind);
	snprintf(entry, sizeof(entry), "finalize_%s", object);
	dds_qset_prop(q, name, entry);
}

dds_qos_t *secure_participant(const struct secure *s)
{
	dds_qos_t *q = dds_create_qos();

	if (!q)
		return NULL;
	set_plugin(q, "auth", "auth", "authentication");
	set_plugin(q, "access", "ac", "access_control");
	set_plugin(q, "crypto", "crypto", "crypto");
	for (unsigned i = 0; i < N_FILES; i++)
		dds_qset_prop(q, files[i].property, s->text[i]);
	return q;
}

bool secure_writer(dds_entity_t reader, dds_instance_handle_t writer, char ret[SECURE_NAME_SIZE])
{
	dds_builtintopic_endpoint_t *e = dds_get_matched_publication_data(reader, writer);
	char **names = NULL;
	uint32_t n = 0;
	bool right = e && dds_qget_partition(e->qos, &n, &names) && n == 1 && strlen(names[0]) < SECURE_NAME_SIZE;

	if (right)
		memcpy(ret, names[0], strlen(names[0]) + 1);
	for (uint32_t i = 0; i < n; i++)
		dds_free(names[i]);
	dds_free(names);
	if (e)
		dds_builtintopic_free_endpoint(e);
	return right;
}

bool secure_is_host(const struct sim_bridge *b, dds_entity_t reader, dds_instance_handle_t writer, const char *host)
{
	char name[SECURE_NAME_SIZE];

	return !b->keyed || (secure_writer(reader, writer, name) && strcmp(name, host) == 0);
}
