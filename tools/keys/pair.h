/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate with its key (P-256), as a small authority of one's own makes them: in memory, and as NAME.pem with NAME.key, of mode
 * 0600, in a directory. What is there already is never written to. dir: a descriptor of the directory. Thread: any.
 * Errors: negative errno, sentence in err_why(); the bools are false when OpenSSL has no memory.
 */
#ifndef KEYS_PAIR_H
#define KEYS_PAIR_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PAIR_NAME_MAX 63u

struct pair { /* those of an authority sign */
	X509 *cert;
	EVP_PKEY *key;
};

void pair_finish(struct pair *p);

/* Key, name and days; without what it is for, and unsigned. wall_ns: from when it is valid; 0: since an hour ago. */
bool pair_begin(struct pair *p, const char *name, int64_t wall_ns, long days);
bool pair_add(X509 *cert, X509 *issuer, int nid,
	      const char *value); /* an extension, written as OpenSSL's configuration does */
bool pair_sign(struct pair *p, const struct pair *by);

/* Made if it is not there, for its owner alone. -EPERM: others may write there. Returns a descriptor: close. */
int pair_dir(const char *path);
bool pair_there(int dir, const char *name, const char *end);
int pair_files(int dir, const char *name); /* 1: both are there, 0: neither; -ENOENT: one of them */
int pair_put(int dir, const char *name, const struct pair *p);
int pair_put_text(int dir, const char *name, const char *end, mode_t mode, BIO *text);
void pair_unput(int dir, const char *name, const char *end);
int pair_get(int dir, const char *name, struct pair *ret); /* -EPERM: others can read the key */

#endif
