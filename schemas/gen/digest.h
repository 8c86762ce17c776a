/* SPDX-License-Identifier: Apache-2.0 */
/* The two digests that name ROS types: MD5 (RFC 1321) and SHA-256 (FIPS 180-4). Not for secrets. Pure functions. */
#ifndef DIGEST_H
#define DIGEST_H

#include <stddef.h>

#define DIGEST_MD5_HEX    33 /* digits and the NUL */
#define DIGEST_SHA256_HEX 65

void digest_md5(const void *data, size_t len, char ret[DIGEST_MD5_HEX]);
void digest_sha256(const void *data, size_t len, char ret[DIGEST_SHA256_HEX]);

#endif
