/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Wire
 *
 * The device port as bytes: what travels between a worker and a simulated server. Native byte order, same machine.
 *
 * A SOCK_SEQPACKET Unix connection carries one WireHello and its WireWelcome, then batches: a WireBatch header and up
 * to WIRE_BATCH_MAX commands in one packet, answered by a WireBatch header and as many completions in one packet.
 * Bulk data lies in the window: a memfd that the simulator makes, seals against any change of size (F_SEAL_SHRINK |
 * F_SEAL_GROW | F_SEAL_SEAL) and passes with the welcome. The client checks seals and size before it maps it.
 * Both sides treat whatever they receive as untrusted: lengths, offsets and counts are checked against the packet and
 * the window before use, and data in the window may change while it is read.
 *
 * Commands of one batch run in order per engine, engines side by side: each starts at the later of the batch's start
 * and its own engine's last end, and the chip's clock moves to the latest end. Engines of a chip are the 8 cores,
 * the 4 HBM stacks, the 6 link ports, the NIC, and management (attributes, reset).
 *
 * A chip that hangs says nothing on a connection that reaches only this chip: the batch is never answered. On a
 * connection that reaches the whole server (WIRE_CHIP_ALL) the host's driver gives up on it instead: its commands
 * complete with STATUS_NRT_TIMEOUT and those of the other chips as ever.
 *
 * Numbers of the device are from the public Neuron documents and driver (see README, "Sources"): NRT status codes,
 * 128 × 128 processing elements, K ≤ 128, M ≤ 128, N ≤ 512, PSUM 8 banks × 2 KiB × 128 partitions.
 */

#include <assert.h>
#include <stdint.h>

#include "checks/wire/wire-collective.h"
#include "checks/wire/wire-link.h"

#define WIRE_MAGIC       0x79617373u /* "ssay" */
#define WIRE_VERSION     1u
#define WIRE_BATCH_MAX   256u
#define WIRE_WINDOW_MIN  (64u << 10)
#define WIRE_WINDOW_MAX  (64u << 20)
#define WIRE_ALIGNMENT   64u /* offsets of data in the window */
#define WIRE_CHIP_ALL    0xffu

#define CHIPS            16u  /* of a server */
#define CORES            8u   /* of a chip */
#define STACKS           4u   /* HBM stacks of a chip */
#define PORTS            6u   /* NeuronLink ports of a chip, numbered as LinkPort */
#define PE_ROWS          128u /* contraction, K */
#define PE_COLUMNS       128u /* output, M */
#define MOVING_MAX       512u /* N */
#define ENGINE_LANES     128u

typedef struct WireHello {
        uint32_t magic;
        uint32_t version;
        char server[WIRE_SERVER_MAX]; /* zero-terminated */
        uint32_t chip;                /* the only chip this connection may reach, or WIRE_CHIP_ALL */
        uint32_t window_bytes;        /* WIRE_WINDOW_MIN … WIRE_WINDOW_MAX, a multiple of 4096 */
} WireHello;

typedef struct WireWelcome { /* with the window's descriptor as SCM_RIGHTS when status is 0 */
        uint32_t magic;
        uint32_t version;
        uint32_t status; /* an errno: ENOENT no such server or chip, EPROTO, ENOMEM */
        uint32_t window_bytes;
} WireWelcome;

typedef struct WireBatch {
        uint32_t magic;
        uint32_t sequence; /* the client's; the answer repeats it */
        uint32_t n;
        uint32_t reserved;
} WireBatch;

/* NRT status codes, the ones a device port can give. */
typedef enum WireStatus {
        STATUS_NRT_SUCCESS           = 0,
        STATUS_NRT_FAILURE           = 1,
        STATUS_NRT_INVALID           = 2,  /* a field out of range */
        STATUS_NRT_INVALID_HANDLE    = 3,  /* no such chip, core, stack, port */
        STATUS_NRT_RESOURCE          = 4,
        STATUS_NRT_TIMEOUT           = 5,  /* the device says so itself, or a hang seen from its server: see above */
        STATUS_NRT_HW_ERROR          = 6,
        STATUS_NRT_UNSUPPORTED       = 10, /* a format or mode the core does not have */
        STATUS_NRT_QUEUE_EMPTY       = 15, /* nothing received */
        STATUS_NRT_COMPLETED_NUM_ERR = 1003,
        STATUS_NRT_HW_ERR_COLLECTIVES = 1200, /* a collective did not come to its end */
        STATUS_NRT_HBM_UE            = 1201, /* read through ECC, which could not correct something; the results are there, as with the next */
        STATUS_NRT_NC_UE             = 1202, /* the same in an SRAM */
        STATUS_NRT_REPAIRABLE_HBM_UE = 1205,
} WireStatus;

typedef enum WireCommandType {
        COMMAND_ATTRIBUTE = 1,  /* in: path (no zero); out: its text (no newline). unit unused. QUEUE_EMPTY: no such attribute */
        COMMAND_ATTRIBUTE_WRITE,/* in: path, a zero byte, text */
        COMMAND_RESET,          /* unit: core, or WIRE_CHIP_ALL for the whole chip. Repairs, RNG states and latches take effect */
        /* HBM; unit: stack */
        COMMAND_HBM_MARCH,      /* out: WireMismatch[]; result[0] = mismatches in all (beyond 2^20: at least so many), result[1] = accesses of the box */
        COMMAND_HBM_COPY_IN,    /* in: 32-byte accesses of copy.box in its order */
        COMMAND_HBM_COPY_OUT,   /* out: the same */
        COMMAND_HBM_PAUSE,      /* retention: pause.nsec of device time without refresh */
        COMMAND_HBM_HAMMER,     /* hammer: activate the rows around victims */
        COMMAND_HBM_REPAIR,     /* repair: ask for a row to be remapped at the next reset. RESOURCE: its bank has no spare row left */
        COMMAND_HBM_SPARES,     /* repair.box: a row; result[0] = spare rows its bank has left, result[1] = WireRepairState of the row */
        COMMAND_HBM_READ_ADDRESS, /* read_address: copies out by device physical address. out: read_address.accesses × 32 bytes */
        /* SRAM; unit: core; march.array, copy.array: WireArray */
        COMMAND_SRAM_MARCH,     /* as COMMAND_HBM_MARCH */
        COMMAND_SRAM_COPY_IN,
        COMMAND_SRAM_COPY_OUT,
        /* tensor engine; unit: core */
        COMMAND_LOAD_STATIONARY,
        COMMAND_MATMUL,
        /* rounding; unit: core */
        COMMAND_CONVERT,
        COMMAND_RNG_SEED,
        COMMAND_RNG_STATE,      /* out: 128 lanes × 6 × uint32 of the engine */
        /* links; unit: port */
        COMMAND_LINK_STATUS,    /* out: WireLinkStatus. A port the chip does not have is INVALID_HANDLE, for all link commands */
        COMMAND_LINK_SEND,      /* in: one frame, at most WIRE_FRAME_MAX bytes */
        COMMAND_LINK_RECEIVE,   /* out: the oldest frame that has arrived here; QUEUE_EMPTY without */
        COMMAND_LINK_PRBS,      /* out: WireLane[lanes]: what this port received while its far end sent */
        COMMAND_LINK_LOOPBACK,
        COMMAND_LINK_TRANSFER,  /* result[0] = bytes that arrived, checked; result[1] = frames that were sent once more; the time is what it took */
        /* NIC; unit: 0 */
        COMMAND_NIC_SEND,
        COMMAND_NIC_RECEIVE,
        /* collectives; unit: 0, on the engine of management */
        COMMAND_COLLECTIVE_POST,
        COMMAND_COLLECTIVE_WAIT,
        /* host PCIe; unit: 0 */
        COMMAND_HOST_TRANSFER,  /* result[0] = bytes that were moved */
        _COMMAND_MAX,
} WireCommandType;

/* ---------------------------------------------------------------- HBM */

/*
 * Coordinates of one stack, slowest to fastest in the arrays below. Geometry is an attribute (assay/hbm/geometry:
 * "channels pseudo_channels sids bank_groups banks rows columns", by default 16 2 3 4 4 16384 32; assay/hbm/part names it,
 * assay/hbm/subarray tells how many rows share sense amplifiers); an access is 32 bytes = 256 bits, bit b of it is bit b % 8 of byte b / 8. Data lane (DQ) d of 32 carries bits b with b % 32 == d, one
 * per beat of a burst of 8.
 */
typedef enum MemoryAxis {
        HBM_CHANNEL,
        HBM_PSEUDO_CHANNEL,
        HBM_SID,
        HBM_BANK_GROUP,
        HBM_BANK,
        HBM_ROW,
        HBM_COLUMN,
        _MEMORY_AXIS_MAX,
} MemoryAxis;

/*
 * The arrays of a core have the same axes, most of size 1 (attributes assay/sram/{sbuf,psum}/geometry): 128 partitions;
 * PSUM has 8 banks of 64 rows, SBUF one bank of 7168 rows; one access of 32 bytes to a row: by default
 * "128 1 1 1 1 7168 1" and "128 1 1 1 8 64 1".
 */
#define SRAM_PARTITION HBM_CHANNEL
#define SRAM_BANK      HBM_BANK
#define SRAM_ROW       HBM_ROW

typedef enum WireArray {
        ARRAY_SBUF,
        ARRAY_PSUM,
        _ARRAY_MAX,
} WireArray;

#define MEMORY_ACCESS_BYTES 32u

/*
 * Rows with live data of a job (attribute assay/hbm/in-use): "SID:FIRST-LAST" with commas between, ascending and disjoint,
 * of all banks and of the four stacks together; "none". It may tell more than is in use, never less. Nothing else on the
 * chip needs to be idle while other rows are marched over, copied or hammered at a distance of more than two rows; a
 * pause without refresh needs a stack without live data. A chip without this attribute does not tell. A chip that names rows carries
 * work, whatever assay/occupied says. A test asks before each pass and behind the last: a job whose rows are told before it writes to them,
 * by the longest pass (tenths of a device second), is not harmed.
 */

/*
 * Rows under test. Attribute assay/hbm/under-test: rows, in the words of assay/hbm/in-use, of which tests have said that they write them and not yet
 * that they are through. Written: "begin SID:FIRST-LAST" before the first write, "end SID:FIRST-LAST" once the rows hold what the test leaves
 * there. It may tell more than was begun, never less. It stands when the connection closes, and through a reset, as what the rows hold does;
 * with that it is gone when the chip loses its power. So a test that was interrupted in the middle is known to the next one, whoever runs it.
 * A chip without this attribute keeps no account.
 *
 * Chosen by us: a driver keeps it beside the memory of the chip, for as long as it keeps that refreshed.
 */

/*
 * Errors that are planted. Attribute assay/planted/COUNTER, COUNTER being mem_ecc_{corrected,uncorrected,repairable_uncorrected} or
 * sram_ecc_{corrected,uncorrected} of stats/hardware, is where a client says that errors will be counted which are none of the
 * chip's, so that whoever reads the counter later knows of them, also where the client was killed meanwhile.
 * Written: "N", 1 … PLANTED_MAX: from now on up to N of the errors that each word of this counter counts are planted; until
 * the same client writes again ("0": no more) or its connection closes. INVALID where another client's announcement stands.
 * Read: how many of what the counter has counted were planted, "N" or for mem_… "N N N N" by stack: as many as it moved by while an
 * announcement stood, and no more than announced. Then " open" where one stands.
 * It counts by the words of the mailbox, lives as long as the counter does, and clearing the one clears the other. Whoever
 * may write here may also clear the counter, so nothing can be hidden by it that could not be lost anyway.
 *
 * A batch that was sent is run to its end, whatever becomes of the client: what is planted and written over within one batch
 * is left behind by nobody.
 *
 * Both is chosen by us: a driver does the one when its file is released, and the other because queues are the device's.
 */
#define PLANTED_MAX 65535u

/*
 * Who scans. Attribute assay/claim of a chip, so that two scans of one chip at once, of two stations or of one beside its daemon, do not
 * take each other's data and traffic for faults.
 * Written: "1": the connection's client holds the claim until it writes "0" or its connection closes, in all processes that have it open.
 * INVALID, and nothing is changed, where another client holds it. One batch that claims several chips is not interleaved with another.
 * Read: "1" where somebody holds it, else "0".
 * It is advice: nothing else is refused to a client without it, since drivers, monitors and jobs know nothing of scans; and a reset
 * leaves it alone. A device without this attribute knows no claims, and then nobody is kept out.
 *
 * That it ends with the connection is chosen by us, as for planted errors: a scanner may be killed at any command.
 */

typedef struct WireBox { /* inclusive */
        uint16_t first[_MEMORY_AXIS_MAX];
        uint16_t last[_MEMORY_AXIS_MAX];
} WireBox;

/* Which coordinate moves fastest as addresses ascend; the others keep the order of MemoryAxis, last fastest. */
typedef enum MemoryOrder {
        MEMORY_ORDER_COLUMN_FAST, /* columns, then rows, then banks …: page hits */
        MEMORY_ORDER_ROW_FAST,    /* rows, then columns, then banks …: a new page at each access */
        MEMORY_ORDER_BANK_FAST,   /* bank groups and banks (fastest) before columns and rows: bank-interleaved */
        _MEMORY_ORDER_MAX,
} MemoryOrder;

/*
 * Backgrounds. A march operation with data D reads or writes background(bit) XOR D in every bit.
 * (row, column, b) below are the coordinates of the bit.
 */
typedef enum MemoryBackground {
        MEMORY_BACKGROUND_SOLID,         /* 0 */
        MEMORY_BACKGROUND_CHECKER,       /* (row ^ b) & 1 */
        MEMORY_BACKGROUND_ROW_STRIPE,    /* row & 1 */
        MEMORY_BACKGROUND_COLUMN_STRIPE, /* b & 1 */
        MEMORY_BACKGROUND_BIT_STRIPE,    /* (b >> parameter) & 1, parameter 0 … 7 */
        /*
         * 64-bit word w (0…3) of the access holds splitmix64(seed ^ (4 × linear index of the access + w)), little
         * endian; the linear index counts accesses of the whole stack in the order of MemoryAxis, column fastest.
         * splitmix64(x): x += 0x9e3779b97f4a7c15; x = (x ^ x >> 30) × 0xbf58476d1ce4e5b9;
         * x = (x ^ x >> 27) × 0x94d049bb133111eb; x ^ x >> 31 (Steele, Lea, Flood 2014).
         */
        MEMORY_BACKGROUND_ADDRESS,
        _MEMORY_BACKGROUND_MAX,
} MemoryBackground;

#define MARCH_OPS_MAX 24u
#define MARCH_WRITE   0x80u /* else a read that is compared */
#define MARCH_DATA    0x01u /* D = 1 */

typedef struct WireMarch {
        WireBox box;
        uint8_t order;      /* MemoryOrder */
        uint8_t descending; /* visit the accesses backwards */
        uint8_t background; /* MemoryBackground */
        uint8_t parameter;
        uint8_t ecc;        /* 1: through on-die ECC, 0: raw */
        uint8_t n_ops;
        uint8_t ops[MARCH_OPS_MAX];
        uint8_t array;      /* WireArray of SRAM marches, else 0 */
        uint8_t reserved;
        uint32_t mismatches_max; /* the most WireMismatch wanted back, ≤ out_bytes / sizeof(WireMismatch) */
        uint64_t seed;
} WireMarch;

typedef struct WireMismatch { /* in the order they were met */
        uint16_t at[_MEMORY_AXIS_MAX];
        uint16_t op; /* index of the operation in ops[] */
        uint8_t actual[MEMORY_ACCESS_BYTES];
} WireMismatch;

typedef struct WireCopy {
        WireBox box; /* visited column fastest, ascending */
        uint8_t ecc;
        uint8_t array; /* WireArray of SRAM copies, else 0 */
        uint8_t plant; /* copy in: the check bits stay what they were, so that these data are wrong by as much as they differ */
} WireCopy;

/*
 * Device physical addresses. Stack s of a chip has those from HBM_ADDRESS(s) on, as many as it has bytes (24 GiB of a window
 * of 64 GiB; the public driver's v3/address_map.h). The offset in it is, low to high, the byte of the access (5 bits), then
 * channel, pseudo-channel, bank group, bank, column, row, stack ID, each counting as many as the geometry has: with 16,384
 * rows they are 4, 1, 2, 2, 5, 14 bits, and SID = offset / 8 GiB. In the address, bit i of channel and bank group
 * is XORed with the parity of the row AND a mask, so that strides of rows spread over them; rows stand in the address as they
 * are, so this is one to one for any number of rows. Sizes that are no power of two are not hashed.
 *
 * Attribute assay/hbm/map: "channel M0 M1 M2 M3 group M0 M1", hexadecimal masks of bits 0 …, as many as the axis has bits:
 * by default "channel 1111 2222 4444 0888 group 1249 2492". How the real chip hashes is not public; this is chosen by us.
 */
#define HBM_ADDRESS(stack) ((uint64_t) ((stack) / 2) << 47 | (uint64_t) ((stack) % 2) << 38)

#define READ_ADDRESS_MAX 4096u /* accesses of one command */

typedef struct WireReadAddress {
        uint64_t address;  /* a multiple of 32, in the range of the command's stack */
        uint32_t accesses; /* 1 … READ_ADDRESS_MAX, from there on upwards */
        uint8_t ecc;
        uint8_t reserved[3];
} WireReadAddress;

/*
 * A pause begins and ends with a refresh of all rows. Cells keep their charge for 32 ms at 85 °C, and twice as long for every 10 °C
 * less (512 ms at 45 °C): a longer pause may lose data in sound stacks too. Refresh goes on in all other commands, once
 * in 32 ms for every row, above 85 °C in 16 ms.
 */
typedef struct WirePause {
        uint64_t nsec; /* at most a day */
} WirePause;

/*
 * For every `step`-th row v of the box, one after another and in all banks of the box at the same time: the rows v - 1 and
 * v + 1, as far as the bank has them, are opened in turn, `activations` times each, for open_nsec longer than tRAS. What counts
 * for a cell is what happened since its row was last opened or refreshed; refresh goes on meanwhile. An opening counts 1 for the
 * rows beside it and about a fifth for those two away, so that a sweep endangers rows up to three from a victim; data of
 * aggressors are safe. Sound rows bear 15,000 openings that are not prolonged, and fewer in proportion as open_nsec grows: 750
 * where each lasts one refresh interval, 3,900 ns.
 *
 * Device time: opening a row takes tRC + open_nsec (45 ns), or longer where four activations of a pseudo-channel in tFAW
 * (15 ns) do not reach round all of its banks in the box: 180 ns for 48 of them.
 */
#define HAMMER_OPEN_NSEC_MAX 35100u /* nine refresh intervals: as long as a row may stay open */

typedef struct WireHammer {
        WireBox box; /* any banks; victims, whole rows whatever its columns */
        uint64_t activations; /* all in all at most a day */
        uint32_t open_nsec; /* row press: 0 … HAMMER_OPEN_NSEC_MAX */
        uint32_t step;      /* 1 … */
} WireHammer;

typedef struct WireRepair {
        WireBox box; /* one row of one bank */
} WireRepair;

typedef enum WireRepairState {
        REPAIR_NONE,    /* nobody has asked for it */
        REPAIR_PENDING, /* a spare takes its place at the next reset */
        REPAIR_DONE,
        REPAIR_FAILED,  /* a spare was used up and the row is as before */
        _REPAIR_STATE_MAX,
} WireRepairState;

/* ---------------------------------------------------------------- tensor engine */

typedef enum WireFormat {
        FORMAT_FP32,
        FORMAT_BF16,
        FORMAT_FP16,
        FORMAT_TF32,
        FORMAT_FP8_E4M3, /* IEEE style: infinities, max 240 */
        FORMAT_FP8_E5M2,
        FORMAT_FP8_E3M4,
        _FORMAT_MAX,
} WireFormat;

/* "fp32", "bf16", … by WireFormat, ends with NULL: in plans, attributes and findings. */
extern const char *const wire_format_words[_FORMAT_MAX + 1];

/* Those that TEXT names, as attribute assay/tensor/formats does: a bit for each WireFormat. Words that are none are passed over. */
unsigned wire_formats_of(const char *text);
/* The other way round: "bf16, fp16", in TEXT, which is returned. */
#define WIRE_FORMATS_TEXT 64u
const char *wire_formats_to_text(unsigned formats, char text[static WIRE_FORMATS_TEXT]);

/* Bytes of one number in the window; tf32 (1-8-10) lies in the upper 19 bits of a word, its low 13 bits are ignored. */
unsigned wire_format_bytes(WireFormat format);

/*
 * The array. W[k][m] sits in the processing element (PE) of row first_row + k, column first_column + m. For each moving column n
 *     out[m][n] = the chain over k = 0 … K−1, in this order, of psum = round32(psum + round32(W[k][m] × X[k][n]))
 * from +0, in IEEE 754 binary32, round to nearest even; then it is added once (round32) to PSUM or, with MATMUL_OVERWRITE, stored
 * there. NaN results are 0x7fc00000, whatever the payload that went in. Rows and columns outside take no part.
 *
 * Registers of a PE, as faults and checks number their bits: weight and activation 32 bits: a 16-bit format in bits 0 … 15, fp32
 * and tf32 in all, fp8 in bits 0 … 7 and, in double rows, the second one in bits 8 … 15; the rest is 0. Product and partial sum
 * 32 bits, binary32. A second product register serves the second multiplier of double rows. The activation register of column c
 * feeds column c and the register of c + 1; what enters a tile has passed the registers of all columns before it. Weights are
 * shifted in from row 0 downwards, so they pass the shift registers of all rows above. Sums leave a tile below its last row.
 *
 * Formats. Every product of two of bf16, fp16, fp8 is exact in 24 bits of significand, and so is tf32 × tf32; only results below
 * 2^-126 or beyond the largest number round. Formats of W and X may differ, but fp32 goes with fp32 and tf32 with tf32 only.
 * fp32 takes four passes: the 24-bit significands are cut in halves of 12 bits, the PE adds the four exact partial products in 48
 * bits (high × high, high × low, low × high, low × low) and rounds once: the same as round32 of the exact product. fp8_e4m3,
 * fp8_e5m2 and fp8_e3m4 are IEEE style: the highest exponent is infinity and NaN; e4m3 ends at 240, e3m4 at 15.5.
 *
 * Subnormal numbers. Attribute assay/tensor/ftz "0": gradual underflow everywhere. "1": an operand, product or sum, each as
 * binary32 after rounding, whose magnitude is below 2^-126 becomes a zero of the same sign, before it goes on; so do the addends
 * of every adder, as registers and PSUM hold them.
 *
 * Double rows (LOAD_DOUBLE_ROW, fp8 only): in is W as [2][K][M], X as [2][K][N]; each PE multiplies twice and
 *     psum = round32(psum + round32(p0 + p1)), p0 = round32(W[0][k][m] × X[0][k][n]), p1 = round32(W[1][k][m] × X[1][k][n])
 * Not with sparsity, transposition or tiles: it takes the whole array, whatever its K and M.
 *
 * Transposition (MATMUL_TRANSPOSE, with MATMUL_OVERWRITE; not sparse, not double rows): bits pass through, NaN and infinity too.
 *     out[m][n] = the or over k, X[k][n] not being a zero, of the register image of W[k][m] (16 or 8 bits in the lower part)
 *
 * Tiles. The array is cut in row groups and column groups of 32. A load takes the smallest tile of 32, 64 or 128 rows that holds
 * its K (and columns its M); first_row and first_column are multiples of that size. Other tiles keep their weights; a tile of
 * which a part is loaded anew is gone. A matmul names the tile by its first row and column and needs one that is loaded exactly
 * there; its results go to the PSUM partitions first_column + m.
 *
 * PSUM: 8 banks × 128 partitions × 512 binary32. Column n goes to element offset + n of the bank. out_bytes 0: nothing is read
 * back. PSUM is the SRAM of that name (see WireArray): element e is row e / 8 of its bank, byte 4 (e % 8) of the access. What a
 * matmul left is what marches and copies find, and what they left is what the next one adds to; after power-up that is anything,
 * and a reset leaves it. A matmul reads PSUM through its code, to add and for its output: NC_UE, with all results, where that met
 * an error it could not correct.
 *
 * Sparse (LOAD_SPARSE): stationary is compressed, K rows in groups of `keep` (M of M:N); the group g = k / keep
 * chooses among N = `group` logical rows: the row k uses X[g × group + tag[k][m]], so X has (K / keep) × group
 * rows, up to 512. Tags are 4 bits, [K][M/4] uint16, column m in bits 4 × (m % 4) of word m / 4. A tag ≥ group
 * selects nothing: +0. Equal tags in a group both contribute. Modes: 4:16 4:12 4:8 2:8 2:4 1:4 1:2. Any format but fp32 and
 * tf32; tiles of rows, not of columns: it takes all 128. Tag registers keep their content through dense loads, which do not use them.
 *
 * A format that a core does not have (attribute assay/tensor/formats, words of wire_format_words, a blank between) is UNSUPPORTED.
 * Time: 2.4 GHz, one moving column per cycle (fp32: four), 64 cycles of start-up; a load takes one cycle per row.
 */
#define LOAD_SPARSE      1u
#define LOAD_DOUBLE_ROW  2u
#define MATMUL_OVERWRITE 1u
#define MATMUL_TRANSPOSE 2u
#define TILE_UNIT        32u
#define PSUM_BANKS       8u
#define PSUM_ELEMENTS    512u /* of a bank, per partition */

typedef struct WireLoad { /* in: W as [K][M] of format; with LOAD_SPARSE followed at tags_offset by the tags */
        uint16_t rows;    /* K, 1 … 128 */
        uint16_t columns; /* M, 1 … 128 */
        uint8_t format;
        uint8_t flags;
        uint8_t keep;
        uint8_t group;
        uint32_t tags_offset; /* in the window */
        uint8_t first_row, first_column;
        uint8_t reserved[2];
} WireLoad;

typedef struct WireMatmul { /* in: X as [rows][N] of format; out: this part of the PSUM bank as [M][N] fp32, or nothing */
        uint16_t moving;  /* N, 1 … 512 */
        uint8_t bank;     /* PSUM bank 0 … 7 */
        uint8_t flags;
        uint16_t offset;  /* offset + moving ≤ 512 */
        uint8_t first_row, first_column;
        uint8_t format;   /* of X */
        uint8_t reserved[3];
} WireMatmul;

/* ---------------------------------------------------------------- rounding */

typedef enum WireEngine {
        ENGINE_VECTOR,
        ENGINE_SCALAR,
        ENGINE_GPSIMD,
        _ENGINE_MAX,
} WireEngine;

/*
 * fp32 → format on 128 lanes at once: in [128][count] fp32, out [128][count] of the format (fp16, bf16, fp8, tf32; fp32 is none). Lane l
 * converts its row left to right.
 * Nearest: IEEE round to nearest even, overflow to infinity, NaN to the format's quiet NaN (sign kept).
 * Stochastic: the d discarded significand bits of a finite value are taken as the integer `frac`; the lane's
 * generator gives one 32-bit word x per element, whether it is needed or not; r = x >> (32 − d); the magnitude is
 * rounded up if and only if frac + r ≥ 2^d. So P(up) = frac / 2^d exactly. Carries into the exponent and overflow to
 * infinity follow. d is 16 for bf16, 13 for fp16 and tf32, 20 for e4m3, 21 for e5m2, 19 for e3m4; more by the amount of
 * denormalisation below the format's normal range, and with d > 32 frac's bits below 2^(d−32) are dropped.
 *
 * Generator: XORWOW (Marsaglia 2003), per lane x[5] and the Weyl counter d:
 *     t = x0 ^ (x0 >> 2); x0 = x1; x1 = x2; x2 = x3; x3 = x4; x4 = (x4 ^ (x4 << 4)) ^ (t ^ (t << 1)); d += 362437; x4 + d
 * RNG_SEED sets lane l of an engine from splitmix64 (see MemoryBackground) of seed ^ (l << 32) ^ (engine << 48), three
 * outputs of that stream (state += 0x9e37…7c15 each) cut in halves, low half first, to x0 … x4 and d; an all-zero x
 * takes x4 = 1. The state is lost at reset: as if seeded with 0.
 */
#define CONVERT_STOCHASTIC 1u

typedef struct WireConvert {
        uint8_t engine;
        uint8_t format;
        uint8_t flags;
        uint8_t reserved;
        uint32_t count; /* per lane, 1 … 65536 */
} WireConvert;

typedef struct WireSeed {
        uint8_t engine;
        uint8_t reserved[3];
        uint32_t seed;
} WireSeed;

/* ---------------------------------------------------------------- the frame of all commands */

typedef struct WireCommand {
        uint16_t type; /* WireCommandType */
        uint8_t chip;
        uint8_t unit; /* core, stack or port */
        uint32_t in_offset, in_bytes;
        uint32_t out_offset, out_bytes; /* the room there is */
        uint32_t reserved;
        union {
                WireMarch march;
                WireCopy copy;
                WirePause pause;
                WireHammer hammer;
                WireRepair repair;
                WireReadAddress read_address;
                WireLoad load;
                WireMatmul matmul;
                WireConvert convert;
                WireSeed seed;
                WireLinkPrbs prbs;
                WireLinkLoopback loopback;
                WireLinkTransfer transfer;
                WireNicSend nic_send;
                WireNicReceive nic_receive;
                WireCollectivePost collective_post;
                WireCollectiveWait collective_wait;
                WireHostTransfer host_transfer;
                uint8_t bytes[96];
        };
} WireCommand;

typedef struct WireCompletion {
        uint32_t status;      /* WireStatus */
        uint32_t out_bytes;   /* written to the window */
        uint64_t device_nsec; /* the time it took on its engine */
        uint64_t result[2];
} WireCompletion;

static_assert(sizeof(WireHello) == 48, "wire");
static_assert(sizeof(WireWelcome) == 16, "wire");
static_assert(sizeof(WireBatch) == 16, "wire");
static_assert(sizeof(WireBox) == 28, "wire");
static_assert(sizeof(WireMismatch) == 48, "wire");
static_assert(sizeof(WireMarch) == 72, "wire");
static_assert(sizeof(WireReadAddress) == 16, "wire");
static_assert(sizeof(WireCommand) == 120, "wire");
static_assert(sizeof(WireCompletion) == 32, "wire");
