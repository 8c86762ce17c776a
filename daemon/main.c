/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd: options, start order, loop. Stopping walks the table backwards; a failed start ends what was started.
 * Thread: simd-main; simd-work.0 runs dispatch's loop.
 */
#include "boot.h"
#include "err.h"
#include "ipc.h"
#include "opt.h"
#include "supervise/process.h"
#include "trust.h"

#include <malloc.h>
#include <stdio.h>

/* Defaults of the build tree; `make install` compiles simd with its own settings (config/install.mk). */
#ifndef SIMD_CONFDIR
#define SIMD_CONFDIR   "/etc/simd"
#define SIMD_PLUGINDIR "/usr/local/lib/simd"
#endif
#define CONFIG_FILE SIMD_CONFDIR "/simd.json"

#define OPT_VALUES struct boot_args
static const struct opt options[] = {
	OPT("config", 'c', STRING, config, "FILE",
	    "configuration (default " CONFIG_FILE ", if it is there); fragments in FILE.d", .complete = "file"),
	OPT("rig", 'r', STRINGS, rigs, "FILE", "add the rig in FILE; may be given several times", .complete = "file"),
	OPT("set", 's', STRINGS, sets, "KEY=VALUE",
	    "override one key of the configuration, such as clock.rate_hz=1000"),
	OPT("runtime-dir", 'd', STRING, runtime_dir, "DIR", "where sockets and state go", .complete = "dir"),
	OPT("check-config", 0, FLAG, check, NULL, "read and check the configuration, then exit"),
	OPT("print-config", 0, FLAG, print, NULL,
	    "print the effective configuration with the origin of each value, then exit"),
	OPT("clean-up", 0, FLAG, clean_up, NULL,
	    "end the processes and remove the files that a killed simd has left, "
	    "then exit"),
	OPT("trust-files", 0, FLAG, trust_files, NULL,
	    "as root: use configuration and plug-ins also where others can change them"),
	OPT("ready-fd", 0, INT, ready_fd, "FD", "write a line to this descriptor and close it when simd is ready",
	    .min = 3, .max = 1023),
	{ 0 }
};

static void print_version(FILE *out)
{
	fprintf(out, "simd %s\nconfiguration: %s\nplug-ins: %s\n", SIM_VERSION, CONFIG_FILE, SIMD_PLUGINDIR);
}

static const struct opt_program program = {
	.name = "simd",
	.section = 8,
	.summary = "simulation middleware daemon",
	.version = SIM_VERSION,
	.print_version = print_version,
	.opts = options,
};

static const struct {
	const char *name;
	int (*init)(struct boot *b);
	void (*fini)(struct boot *b);
	/* it fails because of the configuration, so a restart would fail too, unless a resource is lacking */
	bool configured;
} parts[] = {
	{ "signal mask", boot_mask, NULL, false }, /* before simd makes any thread: all inherit the mask */
	{ "configuration", boot_config, boot_config_end, true },
	{ "tunables", boot_tunables, NULL, false },
	{ "log", boot_log, boot_log_end, true },
	{ "descriptors", boot_files, boot_files_end, false },
	{ "event loops", boot_loops, boot_loops_end, false },
	{ "signals", boot_signals, boot_signals_end, false },
	{ "runtime directory", boot_runtime, boot_runtime_end, false },
	{ "memory", boot_memory, NULL, false },
	{ "supervision", boot_supervisor, boot_supervisor_end, false },
	{ "registry", boot_simd, boot_simd_end, true },
	{ "dispatch", boot_dispatch, boot_dispatch_end, false },
	{ "data plane", boot_dataplane, boot_dataplane_end, false },
	{ "control socket", boot_control, boot_control_end, false },
	{ "processes", boot_processes, NULL, false },
	{ "readiness", boot_ready, boot_ready_end, false },
};

int main(int argc, char *argv[])
{
	struct boot b = {
		.argv = argv, .usual_config = CONFIG_FILE, .usual_plugins = SIMD_PLUGINDIR, .args.ready_fd = -1
	};
	size_t n = 0, count = sizeof(parts) / sizeof(*parts);
	int r = 0, failed = EXIT_FAILURE;

	/*
	 * Large blocks are short-lived (a scan of the pools): they are unmapped at once instead of staying at the end
	 * of the heap.
	 */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	ipc_installed(SIMD_PLUGINDIR);
	opt_parse_or_exit(&program, argc, argv, &b.args);
	if (b.args.trust_files)
		setenv(TRUST_VARIABLE, "1", 1); /* also for processes that simd starts */
	if (b.args.check || b.args.print)
		return boot_show_config(&b) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (b.args.clean_up)
		return boot_clean_up(&b) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	for (; n < count; n++) {
		r = parts[n].init(&b);
		if (r != 0)
			break;
	}
	if (r < 0) {
		fprintf(stderr, "simd: %s: %s\n", parts[n].name, err_why());
		failed = parts[n].configured && !err_is_lack(r) && r != -EAGAIN ? PROCESS_NEVER_WORKS : EXIT_FAILURE;
	}
	if (r == 0)
		r = boot_loop(&b);
	while (n-- > 0) {
		if (parts[n].fini)
			parts[n].fini(&b);
	}
	boot_again(&b);
	return r < 0 ? failed : EXIT_SUCCESS;
}
