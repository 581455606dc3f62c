/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `keys ring` and `keys sign`: for who holds a root key, away from any daemon. */

/* Makes a keyring of the draft in a file, signed with --key. */
int keys_ring(int argc, char **argv);
/* Adds the signature of --key to a keyring. */
int keys_sign(int argc, char **argv);
