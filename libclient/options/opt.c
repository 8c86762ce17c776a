/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines from a table: the parser. Help, bash completion and the list are in opt_print.c, zsh and fish in
 * opt_shell.c. Thread: main.
 */
#include "opt.h"

#include "err.h"
#include "near.h"
#include "number.h"
#include "opt_private.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const struct opt opt_builtin[] = {
	{ .name = "help", .letter = 'h', .type = OPT_FLAG, .help = "show this help and exit" },
	{ .name = "version", .letter = 'V', .type = OPT_FLAG, .help = "show the version and exit" },
	{ .name = "completion-bash", .type = OPT_FLAG, .help = "print a bash completion script and exit" },
	{ .name = "completion-zsh", .type = OPT_FLAG, .help = "the same for zsh" },
	{ .name = "completion-fish", .type = OPT_FLAG, .help = "the same for fish" },
	{ .name = "list-options", .type = OPT_FLAG, .help = "print the names of all options and commands and exit" },
	{ 0 },
};

enum { BUILTIN_HELP, BUILTIN_VERSION, BUILTIN_BASH, BUILTIN_ZSH, BUILTIN_FISH, BUILTIN_LIST };

static const struct opt no_opts[1];

struct parse {
	const struct opt_program *p;
	const struct opt_command *cmd; /* NULL: no command parsed yet */
	char *const *argv;
	int argc, at; /* at: index of the next argument */
	void *values;
	unsigned positionals; /* number parsed so far */
	int asked;            /* index of the built-in option given; -1: none */
	bool help_word;       /* the command `help` was given; the words after it name its subject */
	const char *group;    /* first word of a group of commands whose help was requested */
	bool no_more_options;
};

bool opt_takes_value(const struct opt *o)
{
	return o->type != OPT_FLAG;
}

/* Returns the name of an option or positional for messages. */
static const char *shown(const struct opt *o, char buf[64])
{
	snprintf(buf, 64, "%s%s", o->kind == OPT_OPTION ? "--" : "", o->name);
	return buf;
}

static int out_of_range(const struct opt *o, const char *text)
{
	char name[64];

	return err_set(-EINVAL, "%s: %s is out of range, %" PRId64 " to %" PRId64, shown(o, name), text, o->min,
		       o->max);
}

static bool in_range(const struct opt *o, int64_t v)
{
	return (!o->min && !o->max) || (v >= o->min && v <= o->max);
}

static int set_int(const struct opt *o, const char *text, int64_t *var)
{
	char name[64];
	int64_t v;

	if (number_i64(text, NUMBER_ANY, INT64_MIN, INT64_MAX, &v) < 0)
		return err_set(-EINVAL, "%s: \"%.60s\" is not a whole number", shown(o, name), text);
	if (!in_range(o, v))
		return out_of_range(o, text);
	*var = v;
	return 0;
}

static int set_double(const struct opt *o, const char *text, double *var)
{
	char name[64];
	double v;

	if (number_f64(text, &v) < 0)
		return err_set(-EINVAL, "%s: \"%.60s\" is not a number", shown(o, name), text);
	if ((o->min || o->max) && (v < (double)o->min || v > (double)o->max))
		return out_of_range(o, text);
	*var = v;
	return 0;
}

static int set_dur(const struct opt *o, const char *text, int64_t *var)
{
	char name[64];
	int64_t v;

	if (dur_parse(text, &v) < 0)
		return err_prefix(-EINVAL, "%s", shown(o, name));
	if (!in_range(o, v))
		return out_of_range(o, text);
	*var = v;
	return 0;
}

static int set_strings(const struct opt *o, const char *text, struct opt_strings *var)
{
	char name[64];

	if (var->n == OPT_STRINGS_MAX)
		return err_set(-EINVAL, "%s: given more than %d times", shown(o, name), OPT_STRINGS_MAX);
	var->v[var->n++] = text;
	return 0;
}

static int set_value(struct parse *s, const struct opt *o, const char *text)
{
	void *var = (char *)s->values + o->off;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)var = true;
		return 0;
	case OPT_INT:
		return set_int(o, text, var);
	case OPT_DOUBLE:
		return set_double(o, text, var);
	case OPT_DUR:
		return set_dur(o, text, var);
	case OPT_STRING:
		*(const char **)var = text;
		return 0;
	case OPT_STRINGS:
		return set_strings(o, text, var);
	}
	return err_set(-EINVAL, "option --%s has no type", o->name);
}

/* ---- finding ---- */

static const struct opt *tables(const struct parse *s, int i)
{
	const struct opt *t = i == 0 ? (s->cmd ? s->cmd->opts : NULL) : i == 1 ? s->p->opts : opt_builtin;

	return t ? t : no_opts;
}

/*
 * Searches the options of the command, of the program, and the built-in ones, in this order. letter: 0: searches for
 * the long name, of len bytes.
 */
static const struct opt *find(const struct parse *s, const char *name, size_t len, char letter)
{
	for (int i = 0; i < 3; i++)
		for (const struct opt *o = tables(s, i); o->name; o++)
			if (o->kind == OPT_OPTION &&
			    (letter ? o->letter == letter : strlen(o->name) == len && !memcmp(o->name, name, len)))
				return o;
	return NULL;
}

static bool is_builtin(const struct opt *o)
{
	return o >= opt_builtin && o < opt_builtin + sizeof(opt_builtin) / sizeof(opt_builtin[0]);
}

/*
 * value: the text attached to the option, as in --x=value; NULL: none. Takes the next argument if the option needs a
 * value.
 */
static int apply(struct parse *s, const struct opt *o, const char *value)
{
	char name[64];

	if (is_builtin(o)) {
		if (s->asked < 0)
			s->asked = (int)(o - opt_builtin);
		return 0;
	}
	if (opt_takes_value(o) && !value) {
		if (s->at >= s->argc)
			return err_set(-EINVAL, "%s needs a value", shown(o, name));
		value = s->argv[s->at++];
	}
	return set_value(s, o, value);
}

static int unknown_option(const struct parse *s, const char *arg, size_t len)
{
	char word[64];
	struct near n = { .word = word };

	snprintf(word, sizeof(word), "%.*s", (int)len, arg);
	for (int i = 0; i < 3; i++)
		for (const struct opt *o = tables(s, i); o->name; o++)
			if (o->kind == OPT_OPTION)
				near_offer(&n, o->name);
	return err_set(-EINVAL, "unknown option --%.*s%s%s%s", (int)len, arg, n.found ? "; did you mean --" : "",
		       n.found ? n.found : "", n.found ? "?" : "");
}

static int parse_long(struct parse *s, const char *arg)
{
	size_t len = strcspn(arg, "=");
	const struct opt *o = find(s, arg, len, 0);

	if (!o)
		return unknown_option(s, arg, len);
	if (arg[len] && !opt_takes_value(o))
		return err_set(-EINVAL, "--%.*s takes no value", (int)len, arg);
	return apply(s, o, arg[len] ? arg + len + 1 : NULL);
}

static int parse_letters(struct parse *s, const char *arg)
{
	for (; *arg; arg++) {
		const struct opt *o = find(s, NULL, 0, *arg);
		int r;

		if (!o)
			return err_set(-EINVAL, "unknown option -%c", *arg);
		if (opt_takes_value(o) && arg[1])
			return apply(s, o, arg + 1);
		r = apply(s, o, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- commands and positionals ---- */

static const struct opt_command *find_command(const struct opt_program *p, const char *a, const char *b)
{
	for (const struct opt_command *c = p->commands; c->name; c++) {
		size_t n = strlen(a);

		if (!strcmp(c->name, a))
			return c;
		if (b && !strncmp(c->name, a, n) && c->name[n] == ' ' && !strcmp(c->name + n + 1, b))
			return c;
	}
	return NULL;
}

/* Writes the second words that may follow `a`, separated by commas, for a message; "" if no command begins with `a`. */
static void second_words(const struct opt_program *p, const char *a, char *buf, size_t size)
{
	size_t len = strlen(a), n = 0;

	buf[0] = '\0';
	for (const struct opt_command *c = p->commands; c->name && n < size; c++)
		if (!strncmp(c->name, a, len) && c->name[len] == ' ')
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", c->name + len + 1);
}

static int unknown_command(const struct parse *s, const char *word)
{
	struct near n = { .word = word };
	char first[64], name[64] = "";

	if (near_offer(&n, "help"))
		snprintf(name, sizeof(name), "help");
	for (const struct opt_command *c = s->p->commands; c->name; c++) {
		size_t len = strcspn(c->name, " ");

		snprintf(first, sizeof(first), "%.*s", (int)len, c->name);
		if (near_offer(&n, first))
			snprintf(name, sizeof(name), "%s", first);
		if (c->name[len] && near_offer(&n, c->name + len + 1))
			snprintf(name, sizeof(name), "%s", c->name);
	}
	return err_set(-EINVAL, "unknown command \"%.60s\"%s%s%s", word, *name ? "; did you mean " : "", name,
		       *name ? "?" : "");
}

static bool is_help(const char *word)
{
	return word && (!strcmp(word, "--help") || !strcmp(word, "-h"));
}

static int parse_command(struct parse *s, const char *word)
{
	const char *next = s->at < s->argc ? s->argv[s->at] : NULL;
	char list[256];

	s->cmd = find_command(s->p, word, next);
	if (s->cmd) {
		if (strchr(s->cmd->name, ' '))
			s->at++;
		return 0;
	}
	second_words(s->p, word, list, sizeof(list));
	if (!list[0])
		return unknown_command(s, word);
	if (is_help(next) || (s->asked == BUILTIN_HELP && !next)) {
		s->group = word;
		return 0;
	}
	if (next && next[0] != '-')
		return err_set(-EINVAL, "unknown command \"%.60s %.60s\"; %.60s is followed by one of %s", word, next,
			       word, list);
	return err_set(-EINVAL, "\"%.60s\" is followed by one of %s", word, list);
}

static const struct opt *positional_table(const struct parse *s)
{
	const struct opt *t = s->p->commands ? (s->cmd ? s->cmd->opts : NULL) : s->p->opts;

	return t ? t : no_opts;
}

/* Returns the i-th positional of the table; OPT_MANY, which is the last, takes all further ones. */
static const struct opt *positional(const struct parse *s, unsigned i)
{
	for (const struct opt *o = positional_table(s); o->name; o++)
		if (o->kind != OPT_OPTION && (i-- == 0 || o->kind == OPT_MANY))
			return o;
	return NULL;
}

static int parse_word(struct parse *s, const char *word)
{
	const struct opt *o;

	if (s->p->commands && !s->cmd && s->asked < 0 && !strcmp(word, "help")) {
		s->asked = BUILTIN_HELP;
		s->help_word = true;
		return 0;
	}
	if (s->p->commands && !s->cmd)
		return parse_command(s, word);
	o = positional(s, s->positionals);
	if (!o)
		return err_set(-EINVAL, "\"%.60s\" is one argument too many", word);
	s->positionals++;
	return set_value(s, o, word);
}

static int check_complete(const struct parse *s)
{
	const struct opt *o;

	if (s->p->commands && !s->cmd)
		return err_set(-EINVAL, "give a command");
	o = positional(s, s->positionals);
	if (o && (o->kind == OPT_REQUIRED || (o->kind == OPT_MANY && s->positionals < o->least)))
		return err_set(-EINVAL, "%s is missing", o->name);
	return 0;
}

/* Whether arg is a negative number: a positional may stand here, and no option uses this digit as its letter. */
static bool is_number(const struct parse *s, const char *arg)
{
	return isdigit((unsigned char)arg[1 + (arg[1] == '.')]) && !find(s, NULL, 0, arg[1]) &&
	       (s->cmd || !s->p->commands) && positional(s, s->positionals);
}

static int parse_all(struct parse *s)
{
	int r = 0;

	while (r == 0 && s->at < s->argc && s->asked != BUILTIN_VERSION) {
		const char *a = s->argv[s->at++];

		if (s->no_more_options || a[0] != '-' || !a[1] || is_number(s, a))
			r = parse_word(s, a);
		else if (!strcmp(a, "--"))
			s->no_more_options = true;
		else if (a[1] == '-')
			r = parse_long(s, a + 2);
		else
			r = parse_letters(s, a + 1);
	}
	return r;
}

static void answer(const struct parse *s, FILE *out)
{
	switch (s->asked) {
	case BUILTIN_HELP:
		if (s->group)
			opt_print_group_help(s->p, s->group, out);
		else
			opt_print_help(s->p, s->cmd, out);
		break;
	case BUILTIN_VERSION:
		if (s->p->print_version)
			s->p->print_version(out);
		else
			fprintf(out, "%s %s\n", s->p->name, s->p->version);
		break;
	case BUILTIN_BASH:
		opt_print_bash(s->p, out);
		break;
	case BUILTIN_ZSH:
		opt_print_zsh(s->p, out);
		break;
	case BUILTIN_FISH:
		opt_print_fish(s->p, out);
		break;
	default:
		opt_print_list(s->p, out);
		break;
	}
}

int opt_parse(const struct opt_program *p, int argc, char *const argv[], void *values,
	      const struct opt_command **ret_cmd, FILE *out, FILE *err)
{
	struct parse s = { .p = p, .argv = argv, .argc = argc, .at = 1, .values = values, .asked = -1 };
	int r = parse_all(&s);

	/* print the help even if the rest of the command line is wrong */
	if (s.asked >= 0 && !(r < 0 && s.help_word)) {
		answer(&s, out ? out : stdout);
		return 1;
	}
	if (r == 0)
		r = check_complete(&s);
	if (r < 0) {
		fprintf(err ? err : stderr, "%s: %s (see %s%s%s --help)\n", p->name, err_why(), p->name,
			s.cmd ? " " : "", s.cmd ? s.cmd->name : "");
		return r;
	}
	if (ret_cmd)
		*ret_cmd = s.cmd;
	return 0;
}

const struct opt_command *opt_parse_or_exit(const struct opt_program *p, int argc, char *const argv[], void *values)
{
	const struct opt_command *cmd = NULL;
	int r;

	(void)signal(SIGXFSZ, SIG_IGN);
	r = opt_parse(p, argc, argv, values, &cmd, NULL, NULL);
	if (r > 0)
		exit(fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	if (r < 0)
		exit(2);
	return cmd;
}
