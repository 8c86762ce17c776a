/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate with its key (P-256), for a small private authority: in memory, and in a directory as NAME.pem and
 * NAME.key, the latter with mode 0600. Existing files are never overwritten. dir: a descriptor of the directory.
 * Thread: any.
 * Errors: negative errno, sentence in err_why(); functions that return bool return false when OpenSSL has no memory.
 */
#ifndef KEYS_PAIR_H
#define KEYS_PAIR_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAIR_NAME_MAX 63u

struct pair { /* the pair of an authority signs others */
	X509 *cert;
	EVP_PKEY *key;
};

void pair_finish(struct pair *p);

/*
 * Creates a key and a certificate with name and days, still without extensions and signature. wall_ns: start of
 * validity; 0: an hour ago.
 */
bool pair_begin(struct pair *p, const char *name, int64_t wall_ns, long days);
bool pair_add(X509 *cert, X509 *issuer, int nid,
	      const char *value); /* adds an extension; value: as in OpenSSL's configuration */
bool pair_sign(struct pair *p, const struct pair *by);

/*
 * Opens a directory, creates it with mode 0700 if it does not exist. -EPERM: other users may write to it. Returns a
 * descriptor: close.
 */
int pair_dir(const char *path);
bool pair_there(int dir, const char *name, const char *end);
int pair_files(int dir, const char *name); /* 1: both files exist, 0: neither; -ENOENT: only one */
int pair_put(int dir, const char *name, const struct pair *p);
int pair_put_text(int dir, const char *name, const char *end, mode_t mode, BIO *text);
void pair_unput(int dir, const char *name, const char *end);
int pair_get(int dir, const char *name, struct pair *ret); /* -EPERM: other users can read the key */

#endif
