#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# A terminal that a test looks at: runs a program on a pseudo-terminal of 80 columns and 24 rows, and shows what stands on its screen.
#   screen.py PROGRAM [ARG...]
# One command a line on stdin, each answered by lines that begin with a bar, and one that is only "." or "!" (it has ended first):
#   await REGEX       until the screen, its lines joined by \n, matches; answers the screen
#   not REGEX         until it does not
#   keys TEXT         types it (escapes as in Python)
#   size COLUMNS ROWS the window becomes so large
#   signal NUMBER     to the program
#   end               until it has ended; answers "exit N" or "signal N", "modes kept" or "modes changed", "left" where the last thing it
#                     did with the alternate screen was to leave it, "colours some" or "colours none"
import codecs, fcntl, os, pty, re, select, signal, struct, sys, termios

import pyte


class Screen(pyte.Screen):
    def scroll_up(self, count=1):
        at, self.cursor.y = self.cursor.y, self.margins.bottom if self.margins else self.lines - 1
        for _ in range(count or 1):
            self.index()
        self.cursor.y = at

    def scroll_down(self, count=1):
        at, self.cursor.y = self.cursor.y, self.margins.top if self.margins else 0
        for _ in range(count or 1):
            self.reverse_index()
        self.cursor.y = at

    def cursor_back_tab(self, count=1):
        for _ in range(count or 1):
            self.cursor.x = max((at for at in self.tabstops if at < self.cursor.x), default=0)


class Stream(pyte.ByteStream):  # what ncurses does on this terminal and pyte leaves out
    csi = dict(pyte.ByteStream.csi, S="scroll_up", T="scroll_down", Z="cursor_back_tab")
    events = frozenset([*pyte.ByteStream.events, "scroll_up", "scroll_down", "cursor_back_tab"])


screen = Screen(80, 24)
stream = Stream(screen)
raw = bytearray()
coloured = False


def answer(lines):
    print("".join(f"|{line}\n" for line in lines.split("\n")), end="")


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


master, slave = pty.openpty()
set_size(slave, 80, 24)
before = termios.tcgetattr(slave)
program = os.fork()
if program == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.environ["TERM"] = "screen"  # pyte knows all that this one does
    os.execv(sys.argv[1], sys.argv[1:])


def read_some(seconds):
    global coloured
    if not select.select([master], [], [], seconds)[0]:
        return
    data = os.read(master, 65536)
    raw.extend(data)
    stream.feed(data)
    coloured = coloured or bool(re.search(rb"\x1b\[(?:[0-9;]*;)?3[1-6](?:;[0-9]+)*m", data))


def over():
    return not program or os.waitid(os.P_PID, program, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def until(holds):
    while not holds():
        last = over()  # looked at first: what it wrote is read after that
        read_some(0 if last else 0.05)
        if last and not select.select([master], [], [], 0)[0]:
            return "." if holds() else "!"
    return "."


def text():
    return "\n".join(line.rstrip() for line in screen.display)


def ended():
    global program
    if program is None:
        return True
    pid, status = os.waitpid(program, os.WNOHANG)
    if pid == 0:
        return False
    read_some(0)
    answer(f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}")
    answer("modes kept" if termios.tcgetattr(slave) == before else "modes changed")
    if raw.rfind(b"\x1b[?1049l") > raw.rfind(b"\x1b[?1049h"):
        answer("left")
    answer("colours some" if coloured else "colours none")
    program = None
    return True


for line in sys.stdin:
    word, _, rest = line.rstrip("\n").partition(" ")
    result = "."
    if word in ("await", "not"):
        result = until(lambda: bool(re.search(rest, text(), re.M)) == (word == "await"))
        answer(text())
    elif word == "keys":
        os.write(master, codecs.decode(rest, "unicode_escape").encode())
    elif word == "size":
        columns, rows = map(int, rest.split())
        screen.resize(rows, columns)
        set_size(slave, columns, rows)
    elif word == "signal":
        os.kill(program, int(rest))
    elif word == "end":
        result = until(ended)
    print(result, flush=True)
if program:
    os.kill(program, signal.SIGKILL)
