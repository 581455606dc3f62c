/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* `keys ring` and `keys sign`: for who holds a root key, away from any daemon. */

/* Signs a keyring with --key: one of which a file has the text, or one that others have signed. */
int keys_ring(int argc, char **argv);
