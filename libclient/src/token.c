/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive tokens: a handle on a cell of the shared token table. Thread: any. */
#include "token.h"

#include <errno.h>
#include <string.h>

#include "err.h"
#include "jsonx.h"
#include "mem.h"

int token_register(struct sim_client *c, struct session *s, struct sim_token *t)
{
	struct varlink_msg m;
	json_t *reply;
	int64_t cell;
	int r;

	if (t->session_serial == s->serial)
		return 0;
	atomic_store(&t->cell, UINT32_MAX);
	r = session_call(c, s, "OpenToken", json_pack("{ss}", "name", t->name), &m, &reply);
	if (r < 0)
		return r;
	r = jsonx_int(reply, "cell", 0, (int64_t)s->layout->tokens.count - 1, &cell);
	if (r == 0) {
		atomic_store(&t->cell, (uint32_t)cell);
		t->session_serial = s->serial;
	}
	varlink_msg_finish(&m);
	return r;
}

static int check_name(const char *name)
{
	size_t n = name ? strnlen(name, TOKEN_NAME_MAX + 1) : 0;

	if (n >= 1 && n <= TOKEN_NAME_MAX)
		return 0;
	return err_set(-EINVAL, "sim_token_open: a token's name has 1 to %d characters", TOKEN_NAME_MAX);
}

int sim_token_open(struct sim_client *c, const char *name, struct sim_token **ret)
{
	struct session *s;
	struct sim_token *t;
	int r = client_guard(c);

	if (r == 0)
		r = check_name(name);
	if (r < 0)
		return r;
	if (!ret)
		return err_set(-EINVAL, "sim_token_open: the output pointer is NULL");
	t = MEM_NEW(struct sim_token);
	if (!t)
		return err_nomem();
	t->c = c;
	snprintf(t->name, sizeof(t->name), "%s", name);
	client_setup_lock(c);
	r = client_session(c, &s);
	if (r == 0) {
		r = token_register(c, s, t);
		session_unref(s);
	}
	if (r == 0) {
		pthread_mutex_lock(&c->lock);
		list_append(&c->tokens, &t->link);
		pthread_mutex_unlock(&c->lock);
		*ret = t;
	}
	client_setup_unlock(c);
	if (r < 0)
		mem_free(t);
	return r;
}

void sim_token_close(struct sim_token *t)
{
	struct sim_client *c;
	struct session *s;
	uint32_t cell;

	if (!t || !client_alive(t->c))
		return;
	c = t->c;
	client_setup_lock(c);
	pthread_mutex_lock(&c->lock);
	list_remove(&t->link);
	pthread_mutex_unlock(&c->lock);
	cell = atomic_load(&t->cell);
	if (cell != UINT32_MAX && client_session(c, &s) == 0) {
		session_post(c, s, "CloseToken", json_pack("{si}", "cell", (int)cell), 0);
		session_unref(s);
	}
	client_setup_unlock(c);
	mem_free(t);
}
