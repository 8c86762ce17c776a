/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table describes a command line. It is used for parsing, --help, --version, completion in three shells, and the
 * check that the man page names the same options. Values are stored in a struct of the program, at the offsets in the
 * table.
 *
 *     struct args { bool once; int64_t count; const char *channel; };
 *     #define OPT_VALUES struct args
 *     static const struct opt echo_opts[] = {
 *             OPT("once", 0, FLAG, once, NULL, "one message, then exit"),
 *             OPT("count", 'n', INT, count, "N", "exit after N messages", .min = 1, .max = INT64_MAX),
 *             OPT_ARG("CHANNEL", REQUIRED, STRING, channel, "channel to follow", .complete = "simctl list --names"),
 *             { 0 }
 *     };
 *     static const struct opt_command commands[] = {
 *             { .name = "echo", .help = "print messages", .opts = echo_opts, .run = cmd_echo },
 *             { .name = "clock pause", .help = "stop simulated time", .run = cmd_clock_pause },
 *             { 0 }
 *     };
 *     static const struct opt_program program = { .name = "simctl", .section = 1, .summary = "...", .version = SIM_VERSION,
 *             .opts = global_opts, .commands = commands };
 *
 * Every program has --help and -h, --version and -V, and options for the build: --completion-bash, -zsh and -fish, and
 * --list-options. A program with commands also has `help [COMMAND]`. Options may be before or after the positional
 * arguments; `--` ends them; `--name=value`, `--name value`, `-n5`, `-n 5` and grouped flags `-ab` work; long names may
 * not be shortened. Where a positional argument may follow, -1 is a number.
 *
 * Thread: main. Nothing is allocated; strings are borrowed from argv.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_type {
	OPT_FLAG = 1, /* bool: set to true */
	OPT_INT,      /* int64_t within min..max (both 0: any) */
	OPT_DOUBLE,   /* double within min..max as integers (both 0: any finite) */
	OPT_DUR,      /* int64_t ns, written as 100ms */
	OPT_STRING,   /* const char *, from argv */
	OPT_STRINGS,  /* struct opt_strings: may be given several times */
};

enum opt_kind {
	OPT_OPTION,   /* --name */
	OPT_REQUIRED, /* positional, exactly one */
	OPT_OPTIONAL, /* positional, none or one */
	OPT_MANY,     /* positional, any number, last: OPT_STRINGS */
};

#define OPT_STRINGS_MAX 1024

struct opt_strings {
	const char *v[OPT_STRINGS_MAX];
	unsigned n;
};

struct opt {
	const char *name; /* without dashes; of a positional: its name in the help; NULL ends the table */
	char letter;      /* 0: none */
	enum opt_kind kind;
	enum opt_type type;
	size_t off;          /* offset in the program's values */
	const char *metavar; /* name of the value in the help; NULL: derived from the type */
	const char *help;    /* one line */
	int64_t min, max;
	/*
	 * completion: "file", "dir", or a command that prints the words, where %1 stands for the first positional
	 * argument and so on. A command that begins with the program's own name is run as the user typed it, with its
	 * global options such as --socket. NULL: none
	 */
	const char *complete;
	unsigned least; /* OPT_MANY: minimum number */
};

/* A row of a table: an option, or a positional argument. field: of OPT_VALUES; further members may follow. */
#define OPT(name_, letter_, type_, field, metavar_, help_, ...) \
	{ \
		.name = (name_), .letter = (letter_), .type = OPT_##type_, .off = offsetof(OPT_VALUES, field), \
		.metavar = (metavar_), .help = (help_), __VA_ARGS__ \
	}
#define OPT_ARG(name_, kind_, type_, field, help_, ...) \
	{ \
		.name = (name_), .kind = OPT_##kind_, .type = OPT_##type_, .off = offsetof(OPT_VALUES, field), \
		.help = (help_), __VA_ARGS__ \
	}

struct opt_command {
	const char *name;         /* one or two words, "list", "clock pause"; NULL ends the table */
	const char *help;         /* one line */
	const struct opt *opts;   /* NULL: none */
	int (*run)(void *values); /* called by the program, not by opt */
};

struct opt_program {
	const char *name;
	int section;                      /* of the man page */
	const char *summary;              /* one line */
	const char *version;              /* built version */
	void (*print_version)(FILE *out); /* NULL: "name version" */
	const struct opt *opts; /* global options, and the positionals of a program without commands; NULL: none */
	const struct opt_command *commands; /* NULL: none */
	const char *epilog;                 /* printed after --help; NULL: none */
};

/*
 * Parses a command line. Returns 0: continue; *ret_cmd is the command (NULL: the program has no commands). 1: help,
 * version or a list was printed to `out`; exit with 0. -EINVAL: a message was printed to `err`; exit with 2. values:
 * the program's struct, already filled with defaults; options overwrite its fields. out, err: NULL: stdout, stderr.
 */
int opt_parse(const struct opt_program *p, int argc, char *const argv[], void *values,
	      const struct opt_command **ret_cmd, FILE *out, FILE *err);

/*
 * opt_parse() for main(); exits on 1 and -EINVAL. Every program of simd begins with it, so it also ignores SIGXFSZ: at
 * the limit of a file's size (RLIMIT_FSIZE) a write then fails with EFBIG, like a write to a full disk, instead of
 * ending the process.
 */
const struct opt_command *opt_parse_or_exit(const struct opt_program *p, int argc, char *const argv[], void *values);

void opt_print_help(const struct opt_program *p, const struct opt_command *cmd, FILE *out);
void opt_print_bash(const struct opt_program *p, FILE *out);
void opt_print_zsh(const struct opt_program *p, FILE *out);
void opt_print_fish(const struct opt_program *p, FILE *out);
/* Prints a line for each name that the man page must contain: "option --x", "letter -x", "command clock pause". */
void opt_print_list(const struct opt_program *p, FILE *out);

#endif
