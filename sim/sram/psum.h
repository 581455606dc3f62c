/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The PSUM of the tensor engine and the SRAM of that name are one content. A sound SRAM knows nothing of matmuls: it asks what they
 * left when a march or a copy comes by. What is not sound it keeps for itself: then matmuls write to it and read from it, access
 * by access, through faults and code.
 */

#include "sim/sram/sram.h"

/* Makes SRAM what lies below the PSUM of the tensor engine of its core. -ENOMEM. */
int sram_psum_attach(Sram *sram, Chip *chip, unsigned core);
/* Marches of PSUM: they find what matmuls left, and matmuls what they leave. */
int sram_psum_march(Sram *sram, Execution *execution);
/* After a fault came into PSUM: what it touches holds what matmuls left there. -ENOMEM, -ENOSPC. */
int sram_psum_settle(Sram *sram);
