/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. */
#include "keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "fd.h"
#include "pair.h"

#define NAME_MAX_LEN     63u
#define HOST_MAX_LEN     253u
#define AUTHORITY_DAYS   7300L
#define CERTIFICATE_DAYS 1825L

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
		return err_set(-EINVAL, "--client %s: that is the name of another file; choose another name", name);
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

/* ---- certificates ---- */

static bool make_authority(struct pair *p, int64_t wall_ns)
{
	return pair_begin(p, "authority of a sim-world", wall_ns, AUTHORITY_DAYS) &&
	       pair_add(p->cert, p->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       pair_add(p->cert, p->cert, NID_key_usage, "critical,keyCertSign,cRLSign") && pair_sign(p, p);
}

/* names: of the certificate's subject, "" for a client. */
static bool make_leaf(struct pair *p, const char *name, const char *names, const struct pair *by, int64_t wall_ns)
{
	return pair_begin(p, name, wall_ns, CERTIFICATE_DAYS) &&
	       pair_add(p->cert, by->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       pair_add(p->cert, by->cert, NID_key_usage, "critical,digitalSignature") &&
	       pair_add(p->cert, by->cert, NID_ext_key_usage, *names ? "serverAuth" : "clientAuth") &&
	       (!*names || pair_add(p->cert, by->cert, NID_subject_alt_name, names)) && pair_sign(p, by);
}

static void names_of(const struct keys_options *o, char *to, size_t size)
{
	size_t n = (size_t)snprintf(to, size, "DNS:localhost,IP:127.0.0.1");

	for (unsigned i = 0; i < o->n_names; i++)
		n += (size_t)snprintf(to + n, size - n, ",%s:%s", is_address(o->names[i]) ? "IP" : "DNS", o->names[i]);
}

/* ---- creation ---- */

static int ensure_authority(int dir, const struct keys_options *o, struct pair *ret, unsigned *made)
{
	int r = pair_files(dir, "ca");

	if (r != 0)
		return r < 0 ? r : pair_get(dir, "ca", ret);
	r = make_authority(ret, o->wall_ns) ? pair_put(dir, "ca", ret) : err_nomem();
	*made += r == 0;
	return r;
}

static int make_one(int dir, const struct keys_options *o, const char *name, const char *names, const struct pair *by,
		    unsigned *made)
{
	struct pair p = { NULL, NULL };
	int r = make_leaf(&p, name, names, by, o->wall_ns) ? pair_put(dir, name, &p) : err_nomem();

	*made += r == 0;
	pair_finish(&p);
	return r;
}

/* Checks everything first, so that nothing is created if a part would fail. */
static int look(int dir, const struct keys_options *o)
{
	int r = pair_files(dir, "server");

	if (r == 1 && o->n_names)
		return err_set(-EEXIST,
			       "server.pem exists, and keeps its names; remove it and server.key to choose others");
	if (r >= 0)
		r = pair_files(dir, "ca");
	for (unsigned i = 0; i < o->n_clients && r >= 0; i++)
		if (pair_there(dir, o->clients[i], ".pem") || pair_there(dir, o->clients[i], ".key"))
			r = err_set(-EEXIST, "--client %s: its files exist already", o->clients[i]);
	return r < 0 ? r : 0;
}

static int make_all(int dir, const struct keys_options *o, unsigned *made)
{
	char names[64 + KEYS_NAMES_MAX * (HOST_MAX_LEN + 8)];
	struct pair ca = { NULL, NULL };
	int r = ensure_authority(dir, o, &ca, made);

	names_of(o, names, sizeof(names));
	if (r == 0 && !pair_there(dir, "server", ".pem"))
		r = make_one(dir, o, "server", names, &ca, made);
	for (unsigned i = 0; i < o->n_clients && r == 0; i++)
		r = make_one(dir, o, o->clients[i], "", &ca, made);
	pair_finish(&ca);
	ERR_clear_error();
	return r;
}

int keys_make(const struct keys_options *o, unsigned *ret_made)
{
	unsigned made = 0;
	int r = check_names(o), dir;

	if (r < 0)
		return r;
	dir = pair_dir(o->dir);
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
