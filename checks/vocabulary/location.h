/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Location
 *
 * Where something is, in one grammar for scenarios, findings, records and the command line:
 *
 *     SERVER/chipN/hbmN/chN/pcN/sidN/bgN/baN/rowN/colN/bitN     a cell; col is one 32-byte access, bit 0…255 of it
 *     SERVER/chipN/hbmN/chN/pcN/sidN/bgN/baN/rowN/swlN          a sub-wordline: symbol swl (bits 16 swl …) of all of a row
 *     SERVER/chipN/hbmN/chN/pcN/sidN/bgN/baN/subN/colN/bitN     a bit line: one bit of one column in all rows of a subarray
 *     SERVER/chipN/hbmN/chN/pcN/sidN/bgN/baN/colN[/bitN]        a column select line: a column in all rows of a bank
 *     SERVER/chipN/hbmN/chN/pcN/dqN                             one data lane of a pseudo-channel
 *     SERVER/chipN/hbmN/chN/pcN/sidN/dqN                        the data TSV of that lane into one stack ID
 *     SERVER/chipN/hbmN/dieN                                    a die: 4 channels of one stack ID, N = 4 × SID + channel / 4
 *     SERVER/chipN/coreN/peROW.COLUMN                           a processing element; row = contraction, column = output
 *     SERVER/chipN/coreN/{psumN,sbuf}/partN/rowN/bitN           a cell of a partition of a PSUM bank or of the SBUF
 *     SERVER/chipN/coreN/{psumN,sbuf}/partN/bitN                a bit line: that bit of all rows of the partition
 *     SERVER/chipN/coreN/{vector,scalar,gpsimd}/laneN
 *     SERVER/chipN/coreN/sparse/rowN/slotN                      the tag of the element in PE row N, PE column (slot) N
 *     SERVER/chipN/coreN/sparse/slotN                           the tags of that column in all rows
 *     SERVER/chipN/link-{x,y,z}{+,-}/laneN                      a NeuronLink port and one of its lanes
 *     SERVER/chipN/nicN/pathN                                   the EFA adapter beside the chip, and one of its paths through the fabric
 *
 * Every prefix names the whole part. The ranges here are those of the grammar (the largest part any model has);
 * whoever knows a geometry checks against it. Numbers are decimal without leading zeros.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LocationKind {
        LOCATION_SERVER,
        LOCATION_CHIP,
        LOCATION_HBM,
        LOCATION_CHANNEL,
        LOCATION_PSEUDO_CHANNEL,
        LOCATION_DQ,
        LOCATION_DIE,
        LOCATION_SID,
        LOCATION_BANK_GROUP,
        LOCATION_BANK,
        LOCATION_SUBARRAY,
        LOCATION_ROW,
        LOCATION_SUB_WORDLINE,
        LOCATION_COLUMN,
        LOCATION_BIT,
        LOCATION_CORE,
        LOCATION_PE,
        LOCATION_PSUM,
        LOCATION_PSUM_PARTITION,
        LOCATION_SBUF,
        LOCATION_SBUF_PARTITION,
        LOCATION_SRAM_ROW,
        LOCATION_SRAM_BIT,
        LOCATION_VECTOR,
        LOCATION_SCALAR,
        LOCATION_GPSIMD,
        LOCATION_ENGINE_LANE,
        LOCATION_SPARSE,
        LOCATION_SPARSE_ROW,
        LOCATION_SPARSE_SLOT,
        LOCATION_LINK, /* index is a LinkPort */
        LOCATION_LANE,
        LOCATION_NIC,
        LOCATION_PATH, /* as flows from and to its adapter use it */
        _LOCATION_KIND_MAX,
        _LOCATION_KIND_INVALID = -EINVAL,
} LocationKind;

typedef enum LinkPort {
        LINK_X_PLUS,  /* to column + 1 of the 4×4 torus */
        LINK_X_MINUS,
        LINK_Y_PLUS,  /* to row + 1 */
        LINK_Y_MINUS,
        LINK_Z_PLUS,  /* to the same chip of the next server in the ring of an UltraServer */
        LINK_Z_MINUS,
        _LINK_PORT_MAX,
        _LINK_PORT_INVALID = -EINVAL,
} LinkPort;

#define LOCATION_SERVER_NAME_MAX 32  /* with the final zero */
#define LOCATION_DEPTH_MAX       11  /* parts after the server */
#define LOCATION_STRING_MAX      160 /* with the final zero; every valid location fits */

typedef struct LocationPart {
        LocationKind kind;
        uint16_t index;  /* the PE row for LOCATION_PE, 0 for parts without a number (sbuf, vector, sparse …) */
        uint16_t column; /* the PE column, else 0 */
} LocationPart;

/* A value type: copy it freely. Only the first n_parts are meaningful. */
typedef struct Location {
        char server[LOCATION_SERVER_NAME_MAX];
        unsigned n_parts;
        LocationPart parts[LOCATION_DEPTH_MAX];
} Location;

/* The word of the grammar ("chip", "pe", "link-"), for messages and listings. */
const char *location_kind_to_string(LocationKind kind);
LocationKind location_kind_from_string(const char *word);

const char *link_port_to_string(LinkPort port); /* "x+" … "z-" */
LinkPort link_port_from_string(const char *text);
LinkPort link_port_opposite(LinkPort port);

/* Lower-case letters, digits and '-', starting with a letter, shorter than LOCATION_SERVER_NAME_MAX. */
bool location_server_name_is_valid(const char *name);

/*
 * Parses TEXT. Returns 0, or -EINVAL and, where wanted, what is wrong (a static sentence) and the byte offset in
 * TEXT it stands at.
 */
int location_parse(const char *text, Location *ret, const char **ret_wrong, size_t *ret_offset);

/* Writes the text of LOCATION and returns BUFFER. */
char *location_format(const Location *location, char buffer[static LOCATION_STRING_MAX]);

/* What the last part is; LOCATION_SERVER where there is none. */
LocationKind location_kind(const Location *location);

/* The number of the part of KIND, or -ENOENT where the location does not go through one. */
int location_index(const Location *location, LocationKind kind);

/* Adds one part below LOCATION. Returns -EINVAL where the grammar has no such part there or INDEX is out of range. */
int location_append(Location *location, LocationKind kind, unsigned index);
int location_append_pe(Location *location, unsigned row, unsigned column);

/* Cuts LOCATION after its part of KIND (LOCATION_SERVER cuts all). Returns -ENOENT, and changes nothing, without one. */
int location_truncate(Location *location, LocationKind kind);

/* True where PART is WHOLE itself or lies within it. */
bool location_contains(const Location *whole, const Location *part);
bool location_equal(const Location *a, const Location *b);

/* Orders by server name, then part by part by kind and number: the order of tables. <0, 0, >0. */
int location_compare(const Location *a, const Location *b);
