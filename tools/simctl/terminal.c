/* SPDX-License-Identifier: Apache-2.0 */
/* See terminal.h. Thread: main. */
#define NCURSES_WIDECHAR 1
#include "terminal.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "top_view.h"

#define ESCAPE_MS 25 /* the bytes of an escape sequence arrive within this time */

static struct {
	SCREEN *screen;
	struct termios before;
	char leave[256]; /* sequence that restores the terminal */
	size_t leave_len;
	bool colours, at_exit;
} terminal;

/* ---- restoring ---- */

void terminal_close(void)
{
	if (!terminal.screen)
		return;
	endwin();
	delscreen(terminal.screen);
	terminal.screen = NULL;
}

/* Restores the terminal in a crashing process, where ncurses must not be called any more. */
static void on_crash(int sig)
{
	(void)!write(STDOUT_FILENO, terminal.leave, terminal.leave_len);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void add_leave(const char *name)
{
	const char *s = tigetstr(name);

	if (!s || s == (const char *)-1 || terminal.leave_len + strlen(s) > sizeof(terminal.leave))
		return;
	memcpy(terminal.leave + terminal.leave_len, s, strlen(s));
	terminal.leave_len += strlen(s);
}

static void prepare_crash(void)
{
	static const int ends[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT, SIGHUP };
	struct sigaction a = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };

	terminal.leave_len = 0;
	add_leave("sgr0");
	add_leave("op");
	add_leave("cnorm");
	add_leave("rmkx");
	add_leave("rmcup");
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &a, NULL);
}

/* ---- opening ---- */

static void init_colours(void)
{
	static const short series[] = { COLOR_CYAN, COLOR_YELLOW, COLOR_MAGENTA, COLOR_GREEN, COLOR_RED, COLOR_BLUE };
	const char *no = getenv("NO_COLOR");

	terminal.colours = !(no && *no) && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (!terminal.colours)
		return;
	init_pair(TOP_GOOD, COLOR_GREEN, -1);
	init_pair(TOP_WARN, COLOR_YELLOW, -1);
	init_pair(TOP_BAD, COLOR_RED, -1);
	for (unsigned i = 0; i < sizeof(series) / sizeof(*series); i++)
		init_pair((short)(TOP_SERIES + i), series[i], -1);
}

int terminal_open(const char *who, const char *instead)
{
	const char *name = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &terminal.before) < 0) {
		fprintf(stderr, "simctl: %s draws on a terminal, which stdout is not: %s\n", who, instead);
		return 1;
	}
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
	terminal.screen = newterm(NULL, stdout, stdin);
	if (!terminal.screen) {
		fprintf(stderr, "simctl: unknown type of terminal \"%s\" ($TERM): try TERM=xterm, or --batch\n",
			name ? name : "");
		return 1;
	}
	if (!terminal.at_exit)
		terminal.at_exit = atexit(terminal_close) == 0;
	prepare_crash();
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	curs_set(0);
	init_colours();
	return 0;
}

/* ---- the screen ---- */

bool terminal_colours(void)
{
	return terminal.colours;
}

int terminal_columns(void)
{
	return COLS;
}

int terminal_rows(void)
{
	return LINES;
}

static attr_t attributes(enum top_tone tone)
{
	switch (tone) {
	case TOP_HEAD:
		return A_REVERSE;
	case TOP_TITLE:
		return A_BOLD;
	case TOP_DIM:
		return A_DIM;
	case TOP_GOOD:
	case TOP_WARN:
	case TOP_BAD:
		return terminal.colours ? (attr_t)COLOR_PAIR(tone) : tone == TOP_BAD ? A_BOLD : A_NORMAL;
	default:
		return terminal.colours && tone >= TOP_SERIES ? (attr_t)COLOR_PAIR(tone) : A_NORMAL;
	}
}

/* Number of bytes that fit n columns: addstr() would wrap the rest to the next line. */
static int cut(const char *text, int n)
{
	mbstate_t state = { 0 };
	size_t len = strlen(text), at = 0;
	wchar_t c;

	while (at < len) {
		size_t bytes = mbrtowc(&c, text + at, len - at, &state);
		int columns = bytes == 0 || bytes > len ? -1 : wcwidth(c);

		if (columns < 0 || columns > n)
			break;
		n -= columns;
		at += bytes;
	}
	return (int)at;
}

void terminal_put(void *unused, int row, const char *text, enum top_tone tone, bool selected)
{
	(void)unused;
	if (move(row, 0) == ERR)
		return;
	clrtoeol();
	attrset((int)(attributes(tone) | (selected ? A_REVERSE : 0)));
	addnstr(text, cut(text, COLS));
	attrset(A_NORMAL);
}

void terminal_paint(int row, int column, const char *text, enum top_tone tone)
{
	if (move(row, column) == ERR)
		return;
	attrset((int)attributes(tone));
	addnstr(text, cut(text, COLS - column));
	attrset(A_NORMAL);
}

void terminal_show(void)
{
	refresh();
}

/* ---- keys ---- */

static int translated(int c)
{
	static const int keys[][2] = {
		{ KEY_UP, TOP_KEY_UP },       { KEY_DOWN, TOP_KEY_DOWN },     { KEY_LEFT, TOP_KEY_LEFT },
		{ KEY_RIGHT, TOP_KEY_RIGHT }, { KEY_PPAGE, TOP_KEY_PAGE_UP }, { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },   { KEY_END, TOP_KEY_END },       { KEY_BACKSPACE, 127 },
		{ KEY_ENTER, TOP_KEY_ENTER }, { '\r', TOP_KEY_ENTER },
	};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i][0] == c)
			return keys[i][1];
	return c < 256 ? c : -1;
}

int terminal_key(int wall_ms)
{
	int c;

	timeout(wall_ms);
	c = getch();
	return c == ERR ? -1 : translated(c);
}
