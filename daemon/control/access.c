/* SPDX-License-Identifier: Apache-2.0 */
/* Access rights; contract in access.h. Thread: simd-main. */
#include "access.h"

#include "err.h"
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GROUPS_MAX 65536 /* the kernel's limit per process */

struct principal {
	bool group;
	uint32_t id;
};

struct rule {
	const char *key;
	struct principal *may;
	size_t n; /* 0: every user who may connect */
	char text[200];
};

struct access {
	struct rule rule[ACCESS_COUNT];
};

static const char *const keys[] = { [ACCESS_ALL] = NULL,
#define X(id, key, doc) [ACCESS_##id] = key,
				    CONFIG_RIGHTS(X)
#undef X
};

/* ---- from the configuration ---- */

static int read_rule(struct rule *u, struct conf_view v, const char *key)
{
	size_t n = conf_count(v, key), len = 0;
	int r = 0;

	u->key = key;
	if (!n)
		return 0;
	u->may = (struct principal *)mem_calloc(n, sizeof(*u->may));
	if (!u->may)
		return err_nomem();
	for (; r == 0 && u->n < n; u->n++) {
		const char *name = conf_string_at(v, key, u->n);

		r = config_principal(name, &u->may[u->n].group, &u->may[u->n].id);
		if (len < sizeof(u->text)) /* the rest is cut off */
			len += (size_t)snprintf(u->text + len, sizeof(u->text) - len, "%s%s", len ? ", " : "", name);
	}
	return r < 0 ? err_prefix(r, "access.%s", key) : 0;
}

int access_create(const struct conf *c, struct access **ret)
{
	struct conf_view v = conf_object(conf_root(c), "access");
	struct access *a = MEM_NEW(struct access);
	int r = 0;

	if (!a)
		return err_nomem();
	for (unsigned i = ACCESS_ALL + 1; r == 0 && i < ACCESS_COUNT; i++)
		r = read_rule(&a->rule[i], v, keys[i]);
	if (r < 0) {
		access_destroy(a);
		return r;
	}
	*ret = a;
	return 0;
}

void access_destroy(struct access *a)
{
	for (unsigned i = 0; a && i < ACCESS_COUNT; i++)
		mem_free(a->rule[i].may);
	mem_free(a);
}

/* ---- a peer ---- */

static bool names(const struct rule *u, bool group, uint32_t id)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->may[i].group == group && u->may[i].id == id)
			return true;
	return false;
}

static bool names_a_group(const struct rule *u)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->may[i].group)
			return true;
	return false;
}

/* Checks its supplementary groups, as they were when it connected. A peer whose groups cannot be read has none. */
static bool in_other_group(const struct rule *u, int sock)
{
	gid_t few[32], *all = few;
	socklen_t len = sizeof(few);
	bool yes = false;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, few, &len) < 0) {
		if (errno != ERANGE || len > GROUPS_MAX * sizeof(gid_t))
			return false;
		all = (gid_t *)mem_alloc(len);
		if (!all || getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, all, &len) < 0)
			len = 0;
	}
	for (size_t i = 0; !yes && i < len / sizeof(gid_t); i++)
		yes = names(u, true, all[i]);
	if (all != few)
		mem_free(all);
	return yes;
}

int access_check(const struct access *a, enum access_right right, const struct ucred *cred, int sock)
{
	const struct rule *u = &a->rule[right];

	if (!u->n || cred->uid == 0 || cred->uid == geteuid() || names(u, false, cred->uid) ||
	    names(u, true, cred->gid) || (names_a_group(u) && in_other_group(u, sock)))
		return 0;
	return err_set(-EACCES,
		       "user %u is not allowed to do that: access.%s allows %s, root and simd's own "
		       "user",
		       cred->uid, u->key, u->text);
}
