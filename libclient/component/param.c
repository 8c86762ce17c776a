/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parameters of a node: declaring, checking, changing, reading. Thread: any. No lock is held while the callback decides
 * about a change; other changes wait until it is over, readers do not.
 */
#include "param.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "channel_name.h"
#include "err.h"
#include "mem.h"
#include "printable.h"
#include "sized.h"

#define LETTERS   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.~-/"
#define VALUE_MAX 48 /* text of a number in a sentence */

static const char *type_name(uint8_t type)
{
	static const char *const NAMES[] = { "nothing", "bool", "int", "double", "string" };

	return type < sizeof(NAMES) / sizeof(NAMES[0]) ? NAMES[type] : "unknown type";
}

/* ---- values ---- */

static void value_free(struct sim_param_value *v)
{
	if (v->type == SIM_PARAM_STRING)
		mem_free((char *)(uintptr_t)v->as.s);
	v->type = SIM_PARAM_NOT_SET;
}

static int value_copy(const struct sim_param_value *from, struct sim_param_value *to)
{
	*to = *from;
	if (from->type != SIM_PARAM_STRING)
		return 0;
	to->as.s = mem_strdup(from->as.s);
	if (to->as.s)
		return 0;
	to->type = SIM_PARAM_NOT_SET;
	return err_nomem();
}

static bool is_number(const struct sim_param_value *v)
{
	return v->type == SIM_PARAM_INT || v->type == SIM_PARAM_DOUBLE;
}

static bool less(const struct sim_param_value *a, const struct sim_param_value *b)
{
	return a->type == SIM_PARAM_INT ? a->as.i < b->as.i : a->as.d < b->as.d;
}

static const char *number_text(const struct sim_param_value *v, char buf[VALUE_MAX])
{
	if (v->type == SIM_PARAM_INT)
		snprintf(buf, VALUE_MAX, "%" PRId64, v->as.i);
	else
		snprintf(buf, VALUE_MAX, "%.10g", v->as.d);
	return buf;
}

static int check_text(const char *name, const char *s)
{
	size_t len;

	if (!s)
		return err_set(-EINVAL, "parameter %s: a string is NULL", name);
	len = strnlen(s, SIM_PARAM_TEXT_MAX + 1);
	if (len > SIM_PARAM_TEXT_MAX)
		return err_set(-EINVAL, "parameter %s: a string has at most %u bytes", name, SIM_PARAM_TEXT_MAX);
	if (!utf8_is(s, len))
		return err_set(-EINVAL, "parameter %s: the string is not UTF-8", name);
	return 0;
}

/* Checks that *v is a valid value. */
static int check_value(const char *name, const struct sim_param_value *v)
{
	if (v->type == SIM_PARAM_STRING)
		return check_text(name, v->as.s);
	if (v->type == SIM_PARAM_DOUBLE && !isfinite(v->as.d))
		return err_set(-EINVAL, "parameter %s: a double is a finite number", name);
	if (v->type == SIM_PARAM_NOT_SET || v->type > SIM_PARAM_STRING)
		return err_set(-EINVAL, "parameter %s: a value is a bool, an int, a double or a string", name);
	return 0;
}

static int check_bounds(const struct param *q, const struct sim_param_value *v)
{
	char value[VALUE_MAX], bound[VALUE_MAX];

	if (q->min.type && less(v, &q->min))
		return err_set(-ERANGE, "parameter %s: %s is less than %s, the least that it may be", q->name,
			       number_text(v, value), number_text(&q->min, bound));
	if (q->max.type && less(&q->max, v))
		return err_set(-ERANGE, "parameter %s: %s is more than %s, the most that it may be", q->name,
			       number_text(v, value), number_text(&q->max, bound));
	return 0;
}

static int check_new(const struct param *q, const struct sim_param_value *v)
{
	int r = check_value(q->name, v);

	if (r < 0)
		return r;
	if (v->type != q->initial.type)
		return err_set(-EINVAL, "parameter %s is of type %s, not %s", q->name, type_name(q->initial.type),
			       type_name(v->type));
	return check_bounds(q, v);
}

/* ---- declaring ---- */

/* The parameter's index, or where it would have to be inserted. */
static uint32_t place_of(const struct sim_params *p, const char *name, bool *ret_there)
{
	uint32_t lo = 0, hi = p->n;

	*ret_there = false;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		int order = strcmp(p->param[mid]->name, name);

		if (order == 0) {
			*ret_there = true;
			return mid;
		}
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct param *param_find(const struct sim_params *p, const char *name)
{
	bool there;
	uint32_t i = place_of(p, name, &there);

	return there ? p->param[i] : NULL;
}

static int check_name(const char *name)
{
	size_t len = name ? strlen(name) : 0;

	if (!len || len > SIM_PARAM_NAME_MAX)
		return err_set(-EINVAL, "a parameter's name has 1 to %u characters", SIM_PARAM_NAME_MAX);
	if (strspn(name, LETTERS) != len)
		return err_set(-EINVAL, "parameter \"%s\": a name is made of A-Z a-z 0-9 _ . / ~ -", name);
	return 0;
}

static int check_bound(const char *name, const struct sim_param_value *bound, const struct sim_param_value *initial)
{
	if (!bound->type)
		return 0;
	if (!is_number(initial) || bound->type != initial->type)
		return err_set(-EINVAL, "parameter %s: bounds are for ints and doubles, and of the same type", name);
	return check_value(name, bound);
}

static int check_options(const char *name, const struct sim_param_value *initial, const struct sim_param_options *o)
{
	int r;

	if (o->description &&
	    (strlen(o->description) > SIM_PARAM_DESCRIPTION_MAX || !utf8_is(o->description, strlen(o->description))))
		return err_set(-EINVAL, "parameter %s: its description is UTF-8 of at most %u bytes", name,
			       SIM_PARAM_DESCRIPTION_MAX);
	r = check_bound(name, &o->min, initial);
	if (r == 0)
		r = check_bound(name, &o->max, initial);
	if (r == 0 && o->min.type && o->max.type && less(&o->max, &o->min))
		return err_set(-EINVAL, "parameter %s: its greatest value is less than its least", name);
	return r;
}

static void param_free(struct param *q)
{
	if (!q)
		return;
	whose_remove(&q->call);
	value_free(&q->initial);
	value_free(&q->value);
	mem_free(q->description);
	mem_free(q);
}

static int param_new(const char *name, const struct sim_param_value *initial, const struct sim_param_options *o,
		     struct param **ret)
{
	struct param *q = MEM_NEW(struct param);
	int r;

	if (!q)
		return err_nomem();
	snprintf(q->name, sizeof(q->name), "%s", name);
	q->min = o->min;
	q->max = o->max;
	q->read_only = o->read_only;
	q->changed = o->changed;
	q->user = o->user;
	q->description = mem_strdup(o->description ? o->description : "");
	r = q->description ? value_copy(initial, &q->initial) : err_nomem();
	if (r == 0)
		r = value_copy(initial, &q->value);
	if (r == 0)
		r = check_bounds(q, initial);
	if (r < 0) {
		param_free(q);
		return r;
	}
	*ret = q;
	return 0;
}

static int enlist(struct sim_params *p, struct param *q)
{
	bool there;
	uint32_t i;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	i = place_of(p, q->name, &there);
	if (there)
		r = err_set(-EEXIST, "node %s has a parameter %s already", p->node, q->name);
	else if (p->n == SIM_PARAMS_MAX)
		r = err_set(-EMFILE, "node %s has %u parameters, and may have no more", p->node, p->n);
	if (r == 0) {
		memmove(&p->param[i + 1], &p->param[i], (p->n - i) * sizeof(p->param[0]));
		p->param[i] = q;
		p->n++;
		whose_add(&q->call, WHOSE_PARAM, p->whose ? p->whose : p->node, q->name);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

int sim_params_declare(struct sim_params *p, const char *name, const struct sim_param_value *initial,
		       const struct sim_param_options *given)
{
	struct sim_param_options o;
	struct param *q = NULL;
	int r;

	if (!p || !initial)
		return err_set(-EINVAL, "sim_params_declare: no parameters, or no value");
	r = check_name(name);
	if (r == 0)
		r = check_value(name, initial);
	if (r == 0)
		r = SIZED_TAKE(&o, given, "parameter %s: the options", name);
	if (r == 0)
		r = check_options(name, initial, &o);
	if (r == 0)
		r = param_new(name, initial, &o, &q);
	if (r < 0)
		return r;
	r = enlist(p, q);
	if (r < 0)
		param_free(q);
	return r;
}

/* ---- changing ---- */

static int unknown(const struct sim_params *p, const char *name)
{
	return err_set(-ENOENT, "node %s has no parameter %.63s", p->node, name);
}

/* One change at a time. -EDEADLK: called by the callback that decides about one. */
static int change_begin(struct sim_params *p)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	while (r == 0 && p->changing) {
		if (pthread_equal(p->changer, pthread_self()))
			r = err_set(-EDEADLK,
				    "node %s: a parameter is being set, and its callback cannot set one meanwhile",
				    p->node);
		else
			pthread_cond_wait(&p->idle, &p->lock);
	}
	if (r == 0) {
		p->changing = true;
		p->changer = pthread_self();
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

static void change_end(struct sim_params *p)
{
	pthread_mutex_lock(&p->lock);
	p->changing = false;
	pthread_cond_broadcast(&p->idle);
	pthread_mutex_unlock(&p->lock);
}

/* Asks the program's callback. */
static int accept_change(struct param *q, const struct sim_param_value *v)
{
	struct whose_run run;
	char why[256] = "";
	int r;

	if (!q->changed)
		return 0;
	whose_begin(&run, &q->call);
	r = q->changed(q->user, q->name, v, why, sizeof(why));
	whose_end(&run);
	if (r >= 0)
		return 0;
	why[sizeof(why) - 1] = '\0';
	return err_set(r, "parameter %s: %s", q->name, *why ? why : err_text(r));
}

static int change(struct sim_params *p, struct param *q, const struct sim_param_value *v)
{
	struct sim_param_value copy, old;
	int r = value_copy(v, &copy);

	if (r < 0)
		return r;
	r = accept_change(q, &copy);
	if (r < 0) {
		value_free(&copy);
		return r;
	}
	pthread_mutex_lock(&p->lock);
	old = q->value;
	q->value = copy;
	pthread_mutex_unlock(&p->lock);
	value_free(&old);
	return 0;
}

int param_set(struct sim_params *p, const char *name, const struct sim_param_value *v, bool outside)
{
	struct param *q;
	int r = change_begin(p);

	if (r < 0)
		return r;
	pthread_mutex_lock(&p->lock);
	q = param_find(p, name);
	pthread_mutex_unlock(&p->lock);
	if (!q)
		r = unknown(p, name);
	else if (outside && q->read_only)
		r = err_set(-EACCES, "parameter %s is read-only: only node %s itself sets it", q->name, p->node);
	else
		r = check_new(q, v);
	if (r == 0)
		r = change(p, q, v);
	change_end(p);
	return r;
}

int sim_params_set(struct sim_params *p, const char *name, const struct sim_param_value *v)
{
	if (!p || !name || !v)
		return err_set(-EINVAL, "sim_params_set: no parameters, no name or no value");
	return param_set(p, name, v, false);
}

/* ---- reading ---- */

static void lock(const struct sim_params *p)
{
	pthread_mutex_lock(&((struct sim_params *)(uintptr_t)p)->lock);
}

static void unlock(const struct sim_params *p)
{
	pthread_mutex_unlock(&((struct sim_params *)(uintptr_t)p)->lock);
}

/* Takes the lock, also on failure. *ret borrows until unlock(). */
static int look(const struct sim_params *p, const char *name, uint8_t type, struct sim_param_value *ret)
{
	struct param *q;

	lock(p);
	q = param_find(p, name);
	if (!q)
		return unknown(p, name);
	if (q->value.type != type)
		return err_set(-EINVAL, "parameter %s is of type %s, not %s", name, type_name(q->value.type),
			       type_name(type));
	*ret = q->value;
	return 0;
}

static int check_get(const struct sim_params *p, const char *name, const void *ret)
{
	return p && name && ret ? 0 : err_set(-EINVAL, "no parameters, no name, or the output pointer is NULL");
}

int sim_params_get_bool(const struct sim_params *p, const char *name, bool *ret)
{
	struct sim_param_value v;
	int r = check_get(p, name, ret);

	if (r < 0)
		return r;
	r = look(p, name, SIM_PARAM_BOOL, &v);
	if (r == 0)
		*ret = v.as.b;
	unlock(p);
	return r;
}

int sim_params_get_int(const struct sim_params *p, const char *name, int64_t *ret)
{
	struct sim_param_value v;
	int r = check_get(p, name, ret);

	if (r < 0)
		return r;
	r = look(p, name, SIM_PARAM_INT, &v);
	if (r == 0)
		*ret = v.as.i;
	unlock(p);
	return r;
}

int sim_params_get_double(const struct sim_params *p, const char *name, double *ret)
{
	struct sim_param_value v;
	int r = check_get(p, name, ret);

	if (r < 0)
		return r;
	r = look(p, name, SIM_PARAM_DOUBLE, &v);
	if (r == 0)
		*ret = v.as.d;
	unlock(p);
	return r;
}

int sim_params_get_string(const struct sim_params *p, const char *name, char *ret, size_t size)
{
	struct sim_param_value v;
	int r = check_get(p, name, ret);

	if (r < 0)
		return r;
	r = look(p, name, SIM_PARAM_STRING, &v);
	if (r == 0 && strlen(v.as.s) >= size)
		r = err_set(-ENOBUFS, "parameter %s: %zu bytes and its NUL do not fit into %zu", name, strlen(v.as.s),
			    size);
	if (r == 0)
		memcpy(ret, v.as.s, strlen(v.as.s) + 1);
	unlock(p);
	return r;
}

uint32_t sim_params_count(const struct sim_params *p)
{
	uint32_t n;

	if (!p)
		return 0;
	lock(p);
	n = p->n;
	unlock(p);
	return n;
}

const char *sim_params_name(const struct sim_params *p, uint32_t i)
{
	const char *name;

	if (!p)
		return NULL;
	lock(p);
	name = i < p->n ? p->param[i]->name : NULL;
	unlock(p);
	return name;
}

uint8_t sim_params_type(const struct sim_params *p, const char *name)
{
	const struct param *q;
	uint8_t type;

	if (!p || !name)
		return SIM_PARAM_NOT_SET;
	lock(p);
	q = param_find(p, name);
	type = q ? q->initial.type : SIM_PARAM_NOT_SET;
	unlock(p);
	return type;
}

/* ---- all of this process ---- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before sim_params::lock */
static struct list all = { &all, &all };                     /* sim_params::link; guarded by all_lock */

static void all_add(struct sim_params *p)
{
	pthread_mutex_lock(&all_lock);
	list_append(&all, &p->link);
	pthread_mutex_unlock(&all_lock);
}

static void all_remove(struct sim_params *p)
{
	pthread_mutex_lock(&all_lock);
	list_remove(&p->link);
	pthread_mutex_unlock(&all_lock);
}

uint32_t params_of_node(const struct sim_client *c, const char *node)
{
	struct sim_params *p;
	uint32_t n = 0;

	pthread_mutex_lock(&all_lock);
	list_for_each(p, &all, link)
		if (p->client == c && strcmp(p->node, node) == 0)
			n += sim_params_count(p);
	pthread_mutex_unlock(&all_lock);
	return n;
}

/* ---- create and destroy ---- */

int sim_params_create(struct sim_client *c, const char *node, struct sim_params **ret)
{
	struct sim_params *p;
	int r = ret ? node_name_check(node) : err_set(-EINVAL, "sim_params_create: the output pointer is NULL");

	if (r < 0)
		return r;
	p = MEM_NEW(struct sim_params);
	if (!p)
		return err_nomem();
	list_init(&p->link);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->idle, NULL);
	snprintf(p->node, sizeof(p->node), "%s", node);
	p->client = c;
	p->whose = whose() ? mem_strdup(whose()) : NULL;
	r = whose() && !p->whose ? err_nomem() : 0;
	if (r == 0 && c)
		r = param_service_offer(p, c);
	if (r < 0) {
		sim_params_destroy(p);
		return r;
	}
	all_add(p);
	*ret = p;
	return 0;
}

void sim_params_destroy(struct sim_params *p)
{
	if (!p)
		return;
	all_remove(p);
	param_service_withdraw(p);
	for (uint32_t i = 0; i < p->n; i++)
		param_free(p->param[i]);
	mem_free(p->whose);
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->lock);
	mem_free(p);
}
