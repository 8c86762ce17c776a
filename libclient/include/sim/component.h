/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Components: units of processing with one to four inputs, or a timer, as in Cyber RT. A shared object exports classes
 * (SIM_COMPONENT); simhost(1) reads a DAG file and creates components from them; a program can also create them itself.
 *
 *   init      once, before any message: reads the configuration, makes writers; a negative errno refuses the component
 *   proc      for each message of input 0, with the messages that fusion found for the other inputs
 *   shutdown  once, after the last proc
 *
 * Fusion, for components of several inputs:
 *
 *   all-latest  (Cyber's) the message of input 0 with the newest of each other input. While another input has never had
 *               a message, the message of input 0 is dropped, and counted for the input that was missing. A message of
 *               another input is used any number of times
 *   hold        the same, but the message waits until each of the other inputs has had one
 *   by-time     of each other input the message whose stamp is nearest, within a tolerance; a message waits until every
 *               input has shown one at or after its stamp, or is dropped and counted if the nearest are too far off
 *
 * Complete tuples wait in a ring of input 0's pending size; when it overflows, proc continues with the newest, and the
 * skipped tuples are counted. hold and by-time keep max(pending, 16) messages of input 0 that wait for partners
 * (by-time: as many of each partner); since one partner may complete all of them at once, their ring has that size too.
 * When more messages wait, the oldest is dropped, and counted for each input that was missing.
 *
 * Threads: init and shutdown run in the thread that creates and destroys the component; proc on a worker, never twice
 * at a time, in simulation in the host's thread. `self` is the component's own memory, zeroed before init.
 */
#ifndef SIM_COMPONENT_H
#define SIM_COMPONENT_H

#include <sim/node.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_COMPONENT_ABI    1u
#define SIM_COMPONENT_INPUTS 4u

struct sim_component;

/* A class of components: a constant in its shared object. */
struct sim_component_class {
	uint32_t abi;      /* SIM_COMPONENT_ABI */
	uint32_t size;     /* sizeof(struct sim_component_class) when it was compiled */
	const char *name;  /* "GridClusters", as in DAG files */
	size_t self_size;  /* bytes of self */
	uint32_t n_inputs; /* 0..4; 0: a timer drives it, or it only has an init */
	uint32_t reserved; /* 0 */
	const struct sim_type *inputs[SIM_COMPONENT_INPUTS]; /* their types; NULL: any */
	/* Returns 0, or a negative errno, with a reason set by sim_component_fail(). May be NULL. */
	int (*init)(struct sim_component *c, void *self);
	/*
	 * m[0..n_inputs): valid until it returns; NULL for a timer component. A negative errno is counted and shown,
	 * and has no other effect (Cyber's proc and init return a bool: here 0 is success). Must return: a proc that
	 * waits blocks a worker, and in simulation the whole run.
	 */
	int (*proc)(struct sim_component *c, void *self, const struct sim_message *const *m);
	void (*shutdown)(struct sim_component *c, void *self); /* also after a failed init; may be NULL */
};

/*
 * Exports a class by the name in its struct: SIM_COMPONENT(GridClusters) exports `sim_component_GridClusters`, an
 * object of this name.
 */
#define SIM_COMPONENT(name) \
	SIM_API extern const struct sim_component_class sim_component_##name; \
	const struct sim_component_class sim_component_##name

/* ---- in its functions ---- */

SIM_API const char *sim_component_name(const struct sim_component *c); /* the component's name: that of its node */
SIM_API struct sim_node *sim_component_node(const struct sim_component *c);
/*
 * The reader of that input, to observe its history (depth); borrows. In proc use m[input], not the history, which may
 * be ahead of it. NULL: no such input, or in init: readers are made after it.
 */
SIM_API struct sim_node_reader *sim_component_reader(const struct sim_component *c, uint32_t input);
/* Its configuration: JSON text, "{}" if there is none; borrows until shutdown has returned. */
SIM_API const char *sim_component_config(const struct sim_component *c);
/* Simulated time; in simulation that of the turn. */
SIM_API int64_t sim_component_now(const struct sim_component *c);
/*
 * Sets the reason of a failure and returns r: `return sim_component_fail(c, -EINVAL, "\"cell_m\": %g is not positive",
 * cell);`
 */
SIM_API int sim_component_fail(struct sim_component *c, int r, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Reports that a callback of the component that returns nothing has failed with r (negative): counted and shown as a
 * failed proc, with this thread's sim_why().
 */
SIM_API void sim_component_failed(struct sim_component *c, int r);

/* ---- making them ---- */

enum sim_fusion {
	SIM_FUSION_ALL_LATEST = 0,
	SIM_FUSION_HOLD = 1,
	SIM_FUSION_BY_TIME = 2,
};

struct sim_component_input {
	const char *channel; /* borrows */
	uint32_t depth;      /* history, as sim_node_reader_options; 0: 1 */
	/*
	 * unprocessed messages; for input 0 the size of the ring of tuples; 0: 1. hold, by-time: also the waiting ones,
	 * at least 16
	 */
	uint32_t pending;
};

struct sim_component_options {
	size_t size;        /* sizeof(struct sim_component_options) of the caller */
	const char *name;   /* of its node; borrows */
	const char *config; /* JSON text, an object; NULL: "{}"; borrows */
	uint32_t n_inputs;  /* no fewer than the class has; further ones are ignored */
	struct sim_component_input input[SIM_COMPONENT_INPUTS];
	enum sim_fusion fusion;
	int64_t tolerance_dur_ns; /* by-time: the greatest difference of stamps; > 0 */
	int64_t interval_dur_ns;  /* for a timer component (no inputs), simulated time; 0: no timer */
};

/*
 * Creates a component: its node, init, its readers (1, 2, 3, then 0, as Cyber does), its timer. Messages flow once the
 * host has started.
 * Returns: 0; -EINVAL the class or an option; the errno of init; as sim_node_create() and sim_node_reader_create().
 */
SIM_API SIM_MUST_CHECK int sim_component_create(struct sim_host *h, const struct sim_component_class *cls,
						const struct sim_component_options *o, struct sim_component **ret);
/*
 * Stops proc (waits for one that runs), calls shutdown, then frees the readers and the node. Not from the component's
 * own functions. NULL is fine. sim_why() then holds the reason that shutdown set with sim_component_fail(), or "".
 */
SIM_API void sim_component_destroy(struct sim_component *c);

struct sim_component_stats {
	uint64_t proc;    /* calls */
	uint64_t failed;  /* of those: returned a negative errno */
	uint64_t overrun; /* tuples that were skipped because proc was too slow */
	uint64_t refused; /* messages that its writers could not send */
	/* messages of input 0 dropped because this input had no message (by-time: none near enough) */
	uint64_t unmatched[SIM_COMPONENT_INPUTS];
	int64_t busy_dur_ns; /* wall time in proc, total */
	int64_t longest_dur_ns;
	int64_t since_mono_ns; /* start of the proc that runs now; 0: none runs */
};
SIM_API void sim_component_stats(const struct sim_component *c, struct sim_component_stats *ret);
/* The reason of the last proc that failed, "" if none has. Any thread. */
SIM_API void sim_component_last_failure(const struct sim_component *c, char *ret, size_t size);
/*
 * The component or node whose function this thread runs; NULL: none. Handlers of services that a component's function
 * offers, and callbacks of parameters that it declares, are functions of that component too. For crash handlers, to
 * name it: may be called in a signal handler. Valid until the function returns.
 */
SIM_API const char *sim_component_current(void);

/* A function of a component or node that has been running for a while. */
struct sim_component_call {
	const char *name; /* of the component or node; borrows, like `of`, until fn returns */
	const char *what; /* "proc", "reader", "timer", "service" or "parameter" */
	const char *of;   /* the channel, timer, service or parameter; "" of proc */
	uint64_t thread;  /* number of the thread that runs it */
	/* functions may call each other: of one thread, the call with the greatest depth is the innermost */
	uint32_t depth;
	int64_t since_mono_ns; /* when it was first seen; it may have run for longer */
};
typedef void (*sim_component_call_fn)(void *user, const struct sim_component_call *call);
/*
 * For watchdogs that look repeatedly, e.g. once a second: calls fn for each function of a component or node of this
 * process that has run since an earlier look. fn must not create or destroy anything. Thread: one at a time. The
 * functions watched do not read a clock for this.
 */
SIM_API void sim_component_calls(sim_component_call_fn fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
