/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of main.c's table: each boot_x() starts one part of simd, boot_x_end() ends it. 0: continue; 1: stop
 * without an error (a signal came); negative: err_why(). Thread: simd-main.
 */
#ifndef BOOT_H
#define BOOT_H

#include "opt.h"

#include "exec.h"
#include "registry/admission.h"
#include "supervise/runtime.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

struct conf;
struct conf_view;
struct control;
struct supervisor;
struct log_ring;
struct pool;
struct simd;

struct boot_args {
	const char *config, *runtime_dir;
	struct opt_strings rigs, sets;
	bool check, print, clean_up, trust_files;
	int64_t ready_fd;
};

struct boot {
	char **argv;
	const char *usual_config, *usual_plugins; /* installed paths */
	struct boot_args args;
	struct conf *conf;
	struct pools pools;
	char *exe, *bin_dir;
	struct log_ring *ring;
	struct exec *x, *dx;
	int signal_fd;
	struct exec_io signal_io;
	struct exec_timer watchdog;
	int64_t watchdog_dur_ns;
	struct runtime rt;
	uint64_t id;
	struct supervisor *supervisor;
	struct simd *simd;
	struct control *control;
	struct pool *pool;
	int ready_result;  /* of the first generation of the data plane */
	int result;        /* negative: simd ends because of an error */
	unsigned mistakes; /* reported mistakes in the configuration */
	bool dataplane_ready, signalled, reexec;
	struct rlimit files; /* original RLIMIT_NOFILE */
};

int boot_show_config(struct boot *b);
/*
 * check.c: prints a line on stderr for each thing that a start with this configuration would refuse. -EINVAL: there is
 * one.
 */
int check_all(struct boot *b, const char *const *dirs);
/*
 * Refuses a group that may connect but cannot open the shared memory; otherwise each call of its clients would fail.
 * -EINVAL, with err_why() set.
 */
int check_group(struct conf_view root);
int boot_clean_up(struct boot *b);
int boot_config(struct boot *b);
void boot_config_end(struct boot *b);
/* Re-executes simd once with a setting that allows more attachments. */
int boot_tunables(struct boot *b);
/* Raises the limit of descriptors to what the configured limits need. */
int boot_files(struct boot *b);
void boot_files_end(struct boot *b);
int boot_log(struct boot *b);
void boot_log_end(struct boot *b);
int boot_loops(struct boot *b);
void boot_loops_end(struct boot *b);
int boot_mask(struct boot *b);
int boot_signals(struct boot *b);
void boot_signals_end(struct boot *b);
int boot_memory(struct boot *b);
int boot_runtime(struct boot *b);
void boot_runtime_end(struct boot *b);
int boot_supervisor(struct boot *b);
void boot_supervisor_end(struct boot *b);
int boot_simd(struct boot *b);
void boot_simd_end(struct boot *b);
int boot_dispatch(struct boot *b);
void boot_dispatch_end(struct boot *b);
int boot_dataplane(struct boot *b);
void boot_dataplane_end(struct boot *b);
int boot_control(struct boot *b);
void boot_control_end(struct boot *b);
int boot_processes(struct boot *b);
int boot_ready(struct boot *b);
void boot_ready_end(struct boot *b);

/* Runs the loop until simd is stopped. */
int boot_loop(struct boot *b);
/* After all parts have ended: executes simd again in this process, if that was requested. */
void boot_again(struct boot *b);

#endif
