/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets on the SEQPACKET sockets that simd hands out over the control socket:
 *
 *   lane        simd <-> one conversion thread of a bridge:  DELIVER, CHANNEL, CLOSE ->   <- DONE, STATUS
 *   completion  simd -> client: COMPLETE, up to LANE_BATCH at once
 *
 * One packet = struct lane_head, then `count` records (DELIVER, DONE, COMPLETE) or text (CHANNEL: JSON). The receiver
 * checks op, count and length against the packet's size; anything else closes the lane with a log line. Versioned by
 * WIRE_ABI.
 *
 * A lane carries the definition of a channel (CHANNEL) before its first DELIVER, so no other ordering is needed. Lane 0
 * of a bridge also carries STATUS, CONNECT and OPEN, and the definitions of all its channels as soon as it is
 * connected. If AttachBridge set "reports_channels", the bridge answers a definition with CARRIES.
 */
#ifndef WIRE_LANE_H
#define WIRE_LANE_H

#include <stdint.h>

#define LANE_BATCH      64
#define LANE_PACKET_MAX (192 * 1024)

enum lane_op {
	LANE_DELIVER = 1, /* simd -> bridge: struct lane_deliver[count]; in lock-step then struct lane_ticket[count] */
	LANE_DONE = 2,    /* bridge -> simd: struct lane_done[count] */
	LANE_CHANNEL = 3, /* simd -> bridge: JSON {"id","name","type":{...},"options":{...}} */
	/* bridge -> simd, lane 0: struct lane_status + text (detail sentence, then a line for each other /clock) */
	LANE_STATUS = 4,
	LANE_OPEN = 5,     /* simd -> bridge, lane 0: SCM_RIGHTS: one more lane; count = its number */
	LANE_CLOSE = 6,    /* simd -> bridge: everything is answered; this lane ends here */
	LANE_COMPLETE = 7, /* simd -> client: struct lane_complete[count] */
	LANE_IDLE = 8,     /* bridge -> a new simd: no slot of the old simd is held any more */
	LANE_CONNECT = 9,  /* simd -> bridge, lane 0: count 1: connect (text: connection string); 0: disconnect */
	LANE_CARRIES = 10, /* bridge -> simd: struct lane_carries + text: whether the bridge carries a channel */
	/* simd -> bridge, lane 0: struct lane_ticket: flush buffered output; count 0: lock-step is over */
	LANE_FLUSH = 11,
};

enum lane_status_flag {
	LANE_STATUS_KEEPS_DATA = 1u << 0, /* the plug-in sets SIM_BRIDGE_KEEPS_DATA */
};

struct lane_head {
	uint16_t op;
	uint16_t count;
	uint32_t length; /* bytes after this head */
};

struct lane_deliver {
	uint64_t delivery; /* simd's number of the delivery; unique per bridge process */
	int64_t ref;       /* ipc_export() of the slot */
	uint64_t size;     /* header + body bytes */
	uint32_t channel_id;
	uint32_t iox_generation;
};

/*
 * The place of a delivery, or of a flush, in the one order, over all its lanes, in which the bridge writes what
 * lock-step gives it. Numbers rise in the order of sending; each waits for its predecessor to have passed. A lost lane
 * may take deliveries with it that others would wait for: so with each lost lane (except lane 0, with which all end) a
 * new row begins, and its first ticket has no predecessor (0). The upper bits are the row: a bridge that loses a lane
 * stops the waiting of all tickets of rows before the new one.
 */
struct lane_ticket {
	uint64_t ticket, predecessor;
};
#define LANE_ROW_SHIFT 40

struct lane_done {
	uint64_t delivery;
	int32_t result;      /* 0, negative errno, or LANE_NOT_CARRIED */
	uint32_t service_us; /* time inside the plug-in's publish() */
};

/* Result of a delivery on a channel that the bridge refuses: neither sent nor failed. */
#define LANE_NOT_CARRIED INT32_MIN

/* The text, at most LANE_CARRIES_MAX bytes: carried: its name at the far side, then its type there; refused: why. */
#define LANE_CARRIES_MAX 640
struct lane_carries {
	uint32_t channel_id;
	int32_t result;    /* 0: carried; negative errno: refused, send no more until 0 is reported */
	uint32_t name_len; /* bytes of the text that are the name; all of it if refused */
	uint32_t reserved;
};

struct lane_status {
	uint32_t status;                       /* enum sim_bridge_status */
	uint32_t flags;                        /* enum lane_status_flag */
	uint64_t sent, failed, dropped, bytes; /* as the host of the plug-in counts them */
};

struct lane_complete {
	uint64_t sequence; /* sim_slot.sequence */
	uint32_t publisher_id;
	uint32_t reason; /* enum sim_reason; 0: delivered */
};

_Static_assert(sizeof(struct lane_head) == 8, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_deliver) == 32, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_ticket) == 16, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_done) == 16, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_carries) == 16, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_status) == 40, "lane packets are wire ABI");
_Static_assert(sizeof(struct lane_complete) == 16, "lane packets are wire ABI");

#endif
