/* SPDX-License-Identifier: Apache-2.0 */
/* Contract in link_keys.h. */
#include "link_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs7.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "err.h"
#include "fd.h"
#include "pair.h"

#define XSD "http://www.omg.org/spec/DDS-SECURITY/20170901/"
#define DOCUMENT(schema) \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
	"<dds xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:noNamespaceSchemaLocation=\"" XSD schema \
	"\">\n"
#define DOMAINS "<domains><id_range><min>0</min><max>230</max></id_range></domains>\n"

/*
 * Each packet is encrypted as a whole, after fragmentation and only once. It also carries a proof of origin for each
 * receiver: all hosts know the keys of packets, so that without this proof a host could send in the name of another.
 */
static const char governance[] = DOCUMENT(
	"omg_shared_ca_governance.xsd") "<domain_access_rules><domain_rule>\n" DOMAINS
					"<allow_unauthenticated_participants>false</allow_unauthenticated_participants>\n"
					"<enable_join_access_control>true</enable_join_access_control>\n"
					"<discovery_protection_kind>ENCRYPT</discovery_protection_kind>\n"
					"<liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>\n"
					"<rtps_protection_kind>ENCRYPT_WITH_ORIGIN_AUTHENTICATION</rtps_protection_kind>\n"
					"<topic_access_rules><topic_rule>\n"
					"<topic_expression>*</topic_expression>\n"
					"<enable_discovery_protection>true</enable_discovery_protection>\n"
					"<enable_liveliness_protection>true</enable_liveliness_protection>\n"
					"<enable_read_access_control>true</enable_read_access_control>\n"
					"<enable_write_access_control>true</enable_write_access_control>\n"
					"<metadata_protection_kind>NONE</metadata_protection_kind>\n"
					"<data_protection_kind>NONE</data_protection_kind>\n"
					"</topic_rule></topic_access_rules>\n"
					"</domain_rule></domain_access_rules>\n</dds>\n";

/* A host may write only in the partition of its own name, and may read in all. */
static const char permissions[] = DOCUMENT(
	"omg_shared_ca_permissions.xsd") "<permissions><grant name=\"%s\">\n"
					 "<subject_name>CN=%s</subject_name>\n"
					 "<validity><not_before>%s</not_before><not_after>%s</not_after></validity>\n"
					 "<allow_rule>\n" DOMAINS
					 "<publish><topics><topic>simd/*</topic></topics><partitions><partition>%s</partition></partitions></publish>\n"
					 "<subscribe><topics><topic>simd/*</topic></topics><partitions><partition>*</partition></partitions></subscribe>\n"
					 "</allow_rule>\n<default>DENY</default>\n</grant></permissions>\n</dds>\n";

#define IDENTITY_CA    "identity_ca"
#define PERMISSIONS_CA "permissions_ca"

struct authorities {
	struct pair identity, permissions;
};

/* ---- names ---- */

static int check_host(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = strlen(name);

	if (n < 1 || n > LINK_KEYS_HOST_MAX || *name == '.' || *name == '-' || strspn(name, letters) != n)
		return err_set(-EINVAL, "--host %s: give a name of 1 to %u letters, digits, '_', '.' or '-'", name,
			       LINK_KEYS_HOST_MAX);
	return 0;
}

static int look(int dir, const struct link_keys_options *o)
{
	int identity = pair_files(dir, IDENTITY_CA), both = identity < 0 ? identity : pair_files(dir, PERMISSIONS_CA);

	if (both >= 0 && (both != identity || both != pair_there(dir, "governance", ".p7s")))
		both = err_set(-ENOENT,
			       "only some of identity_ca, permissions_ca and governance.p7s exist; restore the "
			       "missing files, or begin with an empty directory");
	for (unsigned i = 0; i < o->n_hosts && both >= 0; i++)
		if (pair_there(dir, o->hosts[i], ""))
			both = err_set(-EEXIST,
				       "--host %s: it exists already; name only new hosts, or remove its directory "
				       "first to make new keys for it",
				       o->hosts[i]);
	return both < 0 ? both : 0;
}

/* ---- certificates ---- */

/* The authority may also sign documents itself (S/MIME). */
static bool make_authority(struct pair *p, const char *name, int64_t wall_ns)
{
	return pair_begin(p, name, wall_ns, LINK_KEYS_DAYS_MAX) &&
	       pair_add(p->cert, p->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       pair_add(p->cert, p->cert, NID_key_usage, "critical,keyCertSign,cRLSign,digitalSignature") &&
	       pair_sign(p, p);
}

static bool make_identity(struct pair *p, const char *host, const struct link_keys_options *o, const struct pair *by)
{
	return pair_begin(p, host, o->wall_ns, o->days ? o->days : LINK_KEYS_DAYS) &&
	       pair_add(p->cert, by->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       pair_add(p->cert, by->cert, NID_key_usage, "critical,digitalSignature") && pair_sign(p, by);
}

static int put_cert(int dir, const char *name, X509 *cert)
{
	BIO *text = BIO_new(BIO_s_mem());
	int r = text && PEM_write_bio_X509(text, cert) == 1 ? pair_put_text(dir, name, ".pem", 0644, text)
							    : err_nomem();

	BIO_free(text);
	return r;
}

/* Signs the text and writes it as `openssl smime -sign -text` does. */
static int put_signed(int dir, const char *name, const char *text, const struct pair *by)
{
	const int flags = PKCS7_DETACHED | PKCS7_TEXT;
	BIO *in = BIO_new_mem_buf(text, -1), *out = BIO_new(BIO_s_mem());
	PKCS7 *p7 = in && out ? PKCS7_sign(by->cert, by->key, NULL, in, flags) : NULL;
	int r = p7 && BIO_reset(in) == 1 && SMIME_write_PKCS7(out, p7, in, flags) == 1
			? pair_put_text(dir, name, ".p7s", 0644, out)
			: err_nomem();

	PKCS7_free(p7);
	BIO_free(in);
	BIO_free(out);
	return r;
}

/* ---- a host ---- */

/* xml: in the format of XML Schema; else for people. */
static bool day_of(const ASN1_TIME *t, bool xml, char to[32])
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return false;
	return (xml ? strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) : strftime(to, 32, "%Y-%m-%d %H:%M", &tm)) > 0;
}

static int put_permissions(int dir, const char *host, const X509 *cert, const struct pair *by)
{
	char text[2048], from[32], to[32];

	if (!day_of(X509_get0_notBefore(cert), true, from) || !day_of(X509_get0_notAfter(cert), true, to))
		return err_nomem();
	snprintf(text, sizeof(text), permissions, host, host, from, to, host);
	return put_signed(dir, "permissions", text, by);
}

static int fill(int dir, const char *host, const struct link_keys_options *o, const struct authorities *a)
{
	struct pair p = { NULL, NULL };
	int r = make_identity(&p, host, o, &a->identity) ? pair_put(dir, "identity", &p) : err_nomem();

	if (r == 0)
		r = put_permissions(dir, host, p.cert, &a->permissions);
	if (r == 0)
		r = put_cert(dir, IDENTITY_CA, a->identity.cert);
	if (r == 0)
		r = put_cert(dir, PERMISSIONS_CA, a->permissions.cert);
	if (r == 0)
		r = put_signed(dir, "governance", governance, &a->permissions);
	pair_finish(&p);
	return r;
}

static void empty(int dir)
{
	static const char *const files[] = { "identity.key",    "identity.pem",       "permissions.p7s",
					     "identity_ca.pem", "permissions_ca.pem", "governance.p7s" };

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		(void)unlinkat(dir, files[i], 0);
}

/*
 * Creates the directory of a host under a temporary name and renames it last, so that it is complete or does not exist.
 */
static int make_host(int dir, const char *host, const struct link_keys_options *o, const struct authorities *a)
{
	char path[LINK_KEYS_HOST_MAX + 8];
	int fd, r;

	snprintf(path, sizeof(path), ".%s.new", host);
	if (mkdirat(dir, path, 0700) < 0 && errno != EEXIST)
		return err_sys(-errno, "%s", path);
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(-errno, "%s", path);
	empty(fd); /* remove files of an interrupted run */
	r = fill(fd, host, o, a);
	if (r == 0 && renameat(dir, path, dir, host) < 0)
		r = err_sys(-errno, "%s", host);
	if (r < 0) {
		empty(fd);
		(void)unlinkat(dir, path, AT_REMOVEDIR);
	}
	fd_close(fd);
	return r;
}

/* ---- the whole ---- */

static int ensure_authorities(int dir, int64_t wall_ns, struct authorities *a)
{
	int r;

	if (pair_there(dir, IDENTITY_CA, ".pem")) {
		r = pair_get(dir, IDENTITY_CA, &a->identity);
		return r < 0 ? r : pair_get(dir, PERMISSIONS_CA, &a->permissions);
	}
	if (!make_authority(&a->identity, "identities of a simd link", wall_ns) ||
	    !make_authority(&a->permissions, "permissions of a simd link", wall_ns))
		return err_nomem();
	r = pair_put(dir, IDENTITY_CA, &a->identity);
	if (r == 0)
		r = pair_put(dir, PERMISSIONS_CA, &a->permissions);
	return r < 0 ? r : put_signed(dir, "governance", governance, &a->permissions);
}

int link_keys_make(const struct link_keys_options *o)
{
	struct authorities a = { 0 };
	int dir, r = o->days < 0 || o->days > LINK_KEYS_DAYS_MAX
			     ? err_set(-EINVAL, "--days %ld: 1 to %ld", o->days, LINK_KEYS_DAYS_MAX)
			     : 0;

	for (unsigned i = 0; i < o->n_hosts && r == 0; i++) {
		r = check_host(o->hosts[i]);
		for (unsigned k = 0; k < i && r == 0; k++)
			if (strcmp(o->hosts[i], o->hosts[k]) == 0)
				r = err_set(-EINVAL, "--host %s: it is given twice", o->hosts[i]);
	}
	dir = r < 0 ? r : pair_dir(o->dir);
	if (dir < 0)
		return dir;
	r = look(dir, o);
	if (r == 0)
		r = ensure_authorities(dir, o->wall_ns, &a);
	for (unsigned i = 0; i < o->n_hosts && r == 0; i++)
		r = make_host(dir, o->hosts[i], o, &a);
	pair_finish(&a.identity);
	pair_finish(&a.permissions);
	ERR_clear_error();
	fd_close(dir);
	return r < 0 ? err_prefix(r, "%s", o->dir) : 0;
}

int link_keys_until(const char *dir, const char *host, char ret[32])
{
	char path[4096];
	FILE *f;
	X509 *cert;
	int r = -EINVAL;

	if (snprintf(path, sizeof(path), "%s/%s/identity.pem", dir, host) >= (int)sizeof(path))
		return err_sys(-ENAMETOOLONG, "%s", path);
	f = fopen(path, "re");
	if (!f)
		return err_sys(-errno, "%s", path);
	cert = PEM_read_X509(f, NULL, NULL, NULL);
	if (cert && day_of(X509_get0_notAfter(cert), false, ret))
		r = 0;
	X509_free(cert);
	fclose(f);
	ERR_clear_error();
	return r < 0 ? err_set(r, "%s: the file contains no certificate", path) : 0;
}
