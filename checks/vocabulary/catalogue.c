/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Catalogue
 *
 * One entry per finding code, grouped by the check that finds it. Severity and action are judgements about the unit:
 * what would happen to a job that runs on it, and the first thing worth doing. The remedy goes on from there.
 */

#include "checks/vocabulary/catalogue.h"

#include <string.h>

#include "checks/text/cleanup.h"

static const char *const action_words[_ACTION_MAX] = {
        [ACTION_NONE]            = "none",
        [ACTION_MONITOR]         = "monitor",
        [ACTION_RETEST]          = "retest",
        [ACTION_RELOAD_DRIVER]   = "reload-driver",
        [ACTION_RESET_CHIP]      = "reset-chip",
        [ACTION_REBOOT_SERVER]   = "reboot-server",
        [ACTION_REPAIR_MEMORY]   = "repair-memory",
        [ACTION_RESEAT_CABLE]    = "reseat-cable",
        [ACTION_REPLACE_CABLE]   = "replace-cable",
        [ACTION_REPLACE_NIC]     = "replace-nic",
        [ACTION_REPLACE_TRAY]    = "replace-tray",
        [ACTION_RESEAT_TRAY]     = "reseat-tray",
        [ACTION_QUARANTINE]      = "quarantine",
        [ACTION_INSPECT_STATION] = "inspect-station",
        [ACTION_MOVE_CABLE]      = "move-cable",
        [ACTION_PLUG_IN_CABLE]   = "plug-in-cable",
};

/* A row that fails: what every plan finds, and what production alone finds. */
#define REPAIR_STEPS                                                                                                    \
        "Then reset the chip, and scan it with that plan again, which proves the row, and with the one that found this. " \
        "Where the bank has no spare row left, replace the tray."
#define REPAIR_ROW                                                                                                       \
        "Scan the chip with plan repair, which asks for a spare row, or with repair-production where production alone "   \
        "finds this. " REPAIR_STEPS
#define REPAIR_PRODUCTION "Scan the chip with plan repair-production, which asks for a spare row. " REPAIR_STEPS

/* Of links: both ends of a trace sit on one board. */
#define WITHIN_TRAY "Replace the tray: what is broken is the port itself, or a trace of the board between the two chips of the tray."

static const CatalogueEntry entries[] = {
        /* ---- the worker itself ---- */
        { "device-hang", "device", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "does not answer while its neighbours do",
          "The unit let a command pass its deadline although other units of the same server, asked again and again in that "
          "very time, answered, so neither the server nor the driver is to blame, nor a machine that stood still.",
          "Reset the chip and scan it again. If it hangs again, replace its tray." },
        { "device-garbled", "device", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "answers with what no device may say",
          "A completion came back with a length, sequence, status or value outside of what the device port allows. "
          "Nothing the unit says can be relied on, so nothing it was tested for counts.",
          "Reset the chip and scan it again. If it does it again, replace its tray." },

        { "suspect-station", "device", SEVERITY_WARN, ACTION_INSPECT_STATION,
          "every chip of the server failed alike",
          "The same failure was found on every chip that was tested here. Sixteen parts do not break in the same way at "
          "once: power, cooling, firmware, driver or the test station itself is the likelier cause.",
          "Inspect what the chips share before any of them is replaced, then scan the server again." },

        /* ---- identity ---- */
        { "identity-missing", "identity", SEVERITY_FAIL, ACTION_REBOOT_SERVER,
          "a part that belongs to the server is not there",
          "A chip, core, memory stack or adapter that the model of the server has did not enumerate, or has no serial "
          "number.",
          "Reboot the server and scan it again. If the part stays away, reseat its tray, then replace it." },
        { "identity-tray-missing", "identity", SEVERITY_FAIL, ACTION_RESEAT_TRAY,
          "neither chip of a tray is there",
          "Both chips of one tray did not enumerate. They share its connector and its power, and two chips seldom fail at once, so "
          "the tray is without power or does not sit right.",
          "Reseat the tray, see that it has power, and boot the server again. If its chips stay away, replace the tray." },
        { "identity-duplicate", "identity", SEVERITY_FAIL, ACTION_QUARANTINE,
          "two parts carry the same serial number",
          "Serial numbers are what records are kept by. With the same number on two parts nobody can say which of them "
          "a record is about.",
          "Keep both parts out of service. Compare the labels with the inventory and have the wrong one programmed "
          "anew or replaced." },
        { "identity-mismatch", "identity", SEVERITY_FAIL, ACTION_QUARANTINE,
          "the part is not the one its slot is for",
          "Architecture, instance type, number of cores or position of the part differ from those of the server it "
          "is in.",
          "Keep the chip out of service and compare tray and slot with the inventory. Put in a tray of the right kind, then scan again." },
        { "identity-firmware", "identity", SEVERITY_WARN, ACTION_REBOOT_SERVER,
          "firmware differs from that of its neighbours",
          "Most chips of the server run another firmware version than this one. They may behave differently in timing "
          "and in error handling.",
          "Reboot the server with the firmware version of the others, and scan again." },

        /* ---- telemetry ---- */
        { "hbm-uncorrected", "telemetry", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "HBM errors that ECC could not correct and repair cannot mend",
          "The chip counted uncorrectable errors of its HBM that it does not call repairable. Results since then may be "
          "wrong.",
          "Take the chip out of service and replace its tray." },
        { "hbm-repairable", "telemetry", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "HBM errors that a repair at the next reset will mend",
          "The chip counted uncorrectable errors of its HBM and has a spare row ready for them. The spare takes the "
          "place of the row at the next reset; until then the row loses data.",
          "Reload the driver of the drained chip, or reboot the server, so that the repair takes effect, then scan its HBM again. If "
          "errors are left, replace the tray." },
        { "hbm-corrected", "telemetry", SEVERITY_WARN, ACTION_MONITOR,
          "more corrected HBM errors than a healthy stack has",
          "ECC corrected more errors than the limit. No data was lost, but weak cells tend to become weaker.",
          "Watch the counter. If it keeps growing, run the hbm check over all of the memory at the next chance." },
        { "sram-uncorrected", "telemetry", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "SRAM errors that ECC could not correct",
          "The chip counted uncorrectable errors of its on-chip memory. There are no spare rows for SRAM, and results "
          "since then may be wrong.",
          "Take the chip out of service and replace its tray." },
        { "sram-corrected", "telemetry", SEVERITY_WARN, ACTION_MONITOR,
          "more corrected SRAM errors than a healthy chip has",
          "ECC corrected more errors of the on-chip memory than the limit. No data was lost.",
          "Watch the counter. If it keeps growing, replace the tray at the next chance." },
        { "counter-lies", "telemetry", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "an error counter disagrees with what it counts",
          "A counter fell, jumped, differs from the same fact in another place, or stood still while it must have "
          "moved. A chip that cannot tell its errors cannot be watched in service.",
          "Reset the chip and scan it again. If the counter lies again, replace the tray." },
        { "component-unhealthy", "telemetry", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "the firmware calls one of its components unhealthy",
          "A bit of the health register is set, and no error counter explains it: a link, the fabric or the management "
          "processor has given up as far as the firmware can tell.",
          "Reset the chip and scan it with a plan that tests the component named. If the bit comes back, replace the "
          "tray." },
        { "heartbeat-stalled", "telemetry", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "the firmware's heartbeat stands still",
          "The heartbeat of the management firmware did not move between readings. All the health the chip reports is "
          "from before it stopped.",
          "Reset the chip and scan it again. If the heartbeat stops again, replace the tray." },
        { "overheated", "telemetry", SEVERITY_FAIL, ACTION_INSPECT_STATION,
          "hotter than the limit",
          "The chip's temperature is beyond the limit. Heat makes weak cells and slow paths fail, and it wears the chip "
          "out.",
          "Inspect fans, filters, air flow and heat sink of the server, let it cool, then scan again. If this chip alone stays hot, "
          "replace its tray." },

        { "temperature-outlier", "telemetry", SEVERITY_WARN, ACTION_INSPECT_STATION,
          "hotter than the other chips of the server",
          "The chip is within the limit and much hotter than the median of the other idle chips of its server. Where the room is "
          "warmer or a job runs it may be too hot.",
          "Inspect the heat sink of this chip and fans and air flow of its tray, then scan again. If it stays hotter than the others, "
          "replace its tray." },

        /* ---- hbm ---- */
        { "hbm-cell", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "one memory cell does not hold what is written",
          "The march test read one bit of one column of one row wrongly, and its neighbours rightly. Which of its reads "
          "failed narrows what is wrong with the cell; where another cell disturbs it, the message names that one.",
          REPAIR_ROW },
        { "hbm-word", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "several bits of one memory access fail",
          "The march test read more than one bit of a single 32-byte access wrongly, more than ECC may correct, and the "
          "rest of its row rightly.",
          REPAIR_ROW },
        { "hbm-row", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "a memory row fails",
          "Most columns of one row failed the march test while the other rows of the bank did not: its word line is broken, "
          "or the row decoder selects nothing there.",
          REPAIR_ROW },
        { "hbm-sub-wordline", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "a sub-wordline of a memory row fails",
          "One and the same 16-bit symbol failed in the columns of one row and the rest of the row is sound: the driver of "
          "this part of the word line is broken. On-die ECC corrects it until another symbol of the row fails too.",
          REPAIR_ROW },
        { "hbm-wordline-short", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "two neighbouring memory rows are tied together",
          "What is written to one of two neighbouring rows is read from the other: their word lines touch. Neither can be "
          "used.",
          "Scan the chip with plan repair, which asks for two spare rows (repair-production where production alone finds "
          "this), reset the chip, and scan it with that plan again; then with the one that found this. Where the bank has no "
          "two spare rows left, replace the tray." },
        { "hbm-retention", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "a memory cell loses its data between refreshes",
          "The place is right as long as it is used and wrong after a pause without refresh: its charge leaks away. Heat "
          "makes it worse, by about twice for every 10 degrees.",
          REPAIR_PRODUCTION },
        { "hbm-hammer", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "a memory row is disturbed by its neighbours",
          "The place is right until the rows beside it are opened many times: then bits of it flip. A program that uses "
          "these rows hard corrupts data that is not its own.",
          REPAIR_PRODUCTION },
        { "hbm-bit-line", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a bit line of a memory subarray fails",
          "The same bit of the same column failed in most rows of one subarray: a bit line or its sense amplifier is "
          "broken. Spare rows cannot mend it.",
          "Replace the tray." },
        { "hbm-column", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory column fails",
          "The same column failed in most rows of one bank, beyond the borders of its subarrays: a column select line or "
          "the wires behind it are broken. Spare rows cannot mend a column.",
          "Replace the tray." },
        { "hbm-decoder", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory address reaches the wrong place",
          "Data that tells addresses apart came back from another place of the same bank, or one address reaches no cell at "
          "all: the decoder of rows or columns is wrong at this address. The message names the partner and the class of the "
          "fault.",
          "Replace the tray. A spare row takes the place of cells, not of the decoder that reaches others through it." },
        { "hbm-address-tsv", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "an address line into a memory die is stuck",
          "Of all addresses in one stack ID of a pseudo-channel those that differ in one and the same bit reach the same "
          "place: the line that carries this bit is stuck.",
          "Replace the tray." },
        { "hbm-data-tsv", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a data line into a memory die fails",
          "One data lane is wrong in all banks of one stack ID and right in the others: the through-silicon line into that "
          "die is broken, not the lane between chip and stack.",
          "Replace the tray." },
        { "hbm-lane", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a data lane of a memory channel fails",
          "Every failing bit of a pseudo-channel lies on one of its 32 data lanes, in banks of more than one stack ID: the "
          "lane between chip and stack is broken, not the memory behind it.",
          "Replace the tray: it has no spare lane that could be asked for." },
        { "hbm-bank", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory bank fails",
          "Failures fill one bank and stop at its borders: what the bank has in common, such as its row decoder or its "
          "supply, is broken.",
          "Replace the tray." },
        { "hbm-pseudo-channel", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory pseudo-channel fails",
          "Failures spread over most banks of one pseudo-channel and over its lanes, and its neighbours are sound: its "
          "controller, clock or command lines are broken.",
          "Replace the tray." },
        { "hbm-channel", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory channel fails",
          "Both pseudo-channels of one channel fail in most of their banks and the other channels are sound: what they "
          "share, such as clock and commands, is broken.",
          "Replace the tray." },
        { "hbm-die", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a die of a memory stack fails",
          "Four channels fail in all banks of one stack ID and are sound in the others: that is what one die of the stack "
          "holds.",
          "Replace the tray." },
        { "hbm-stack", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory stack fails",
          "Most banks of all channels fail: the stack, its supply or its interface to the chip is broken.",
          "Replace the tray. If several stacks of the chip fail like this, say so with the tray: the chip's supply is "
          "suspect." },
        { "hbm-intermittent", "hbm", SEVERITY_FAIL, ACTION_QUARANTINE,
          "a memory place fails now and then",
          "The place failed, and not in every repeat of the same test; the message says how often, and what that means for "
          "the true rate with 95 % confidence. Nothing shows that a particle has hit it: it failed more than once, or the "
          "test could not be repeated with the data that were there before.",
          "Keep the chip out of service and scan its HBM again. If the same place fails again, run the memory repair for "
          "its row (plan repair, or repair-production), reset the chip and scan again; if it then fails elsewhere, replace the tray." },
        { "hbm-soft-error", "hbm", SEVERITY_WARN, ACTION_MONITOR,
          "a memory bit flipped once",
          "A bit was wrong once, was right again after it had been written anew, and stayed so in every repeat of the test, each "
          "of which began with the data that were there before, and after pauses where no live data forbid them. Particles do this to sound memory; no repair is due.",
          "Watch the place: if a later scan names it again, it is not a soft error. Run the memory repair for its row then." },
        { "hbm-scattered", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "memory failures that follow no structure",
          "There are more failing cells than single faults would explain, and they share no row, column, bank or lane: a "
          "weak process, or heat. The message says whether they are spread evenly over the banks.",
          "Replace the tray. Where overheated is found on the chip too, mend the cooling before that and scan again: heat does this to "
          "sound memory." },
        { "hbm-map", "hbm", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "device addresses reach another place of the memory than they should",
          "Data that was written by channel, bank, row and column did not come back from the device address that the chip's "
          "address map gives for it, while the memory itself held it: the address decoder of the stack's controller is wrong. "
          "Two addresses may reach one place, and data is lost without any error.",
          "Reset the chip and scan it again: the map is configured at reset. If addresses still lead astray, replace the tray." },
        { "hbm-comparator", "hbm", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "the chip does not report mismatches that were planted",
          "The check had written cells that must fail, and the march over them did not report them, or reported others. "
          "What compares data on the chip cannot be trusted, so its clean reports count for nothing.",
          "Reset the chip and scan it again. If planted mismatches are lost again, replace the tray." },
        { "hbm-stale", "hbm", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "reads of the memory return old data",
          "A place gave back what it had held before the last write, and the march over it reported nothing or the same: "
          "somewhere on the way a copy is kept that nobody refreshes.",
          "Reset the chip and scan it again. If old data comes back again, replace the tray." },
        { "hbm-ecc", "hbm", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "on-die ECC does not correct or count as it should",
          "Errors that the check had put into memory were read through ECC: one it must correct came back wrong, one it "
          "cannot correct went unreported, or a counter did not move. In service errors would pass unseen.",
          "Reset the chip and scan it again. If it is the same again, replace the tray." },
        { "hbm-spares-exhausted", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory bank has no spare row left for what fails",
          "A place that a spare row would mend fails in a bank that has used up its spare rows, or has fewer of them than "
          "rows that fail.",
          "Replace the tray. Until then the rows named beside this finding lose data." },
        { "hbm-repair-failed", "hbm", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a memory row fails after it was repaired",
          "A spare row was put in this row's place, or should have been, and the march over it still fails: the repair did "
          "not take, or the spare is bad too.",
          "Replace the tray. A second repair of the same row is not worth its spare." },
        { "hbm-region-failed", "hbm", SEVERITY_FAIL, ACTION_REPAIR_MEMORY,
          "a part of memory failed in an earlier scan and has not passed since",
          "Scans in service test memory region by region. This one failed when it was last tested, and this scan could not "
          "test it again, most often because a job uses it now. Or regions failed when they were tested in one pass, and those "
          "that failed passed by themselves: a row of one of them disturbs, or answers for, a row of another. Its own finding "
          "stands in the record of that scan.",
          "Repair the memory, or do whatever else the earlier finding says; it names the row. Where the job can be moved, drain the chip "
          "and scan it with the plan preflight. The finding goes when the region has passed, or regions that failed together have "
          "passed together." },
        { "hbm-region-overdue", "hbm", SEVERITY_WARN, ACTION_MONITOR,
          "parts of memory have not been tested for longer than the plan allows",
          "Scans in service leave memory alone that carries live data, and test the rest by and by. For some regions the last "
          "test, or where there was none the first scan of this chip, is longer ago than the plan's rotation.",
          "Watch it: scan more often, or give the slices more seconds. Where live data is what keeps them from being tested, scan when "
          "the job has ended." },

        { "hbm-region-unproven", "hbm", SEVERITY_WARN, ACTION_RETEST,
          "reading does not show that a row beside live data reaches no live row",
          "Before anything is written beside a job, each row must give back what the last test left there, and rows with live data "
          "nothing of that. This row does not, though those around it do: it may reach another row, it may have failed, or a job "
          "has written there and given it back. Nothing was written to its region, which is not tested, and no live data was touched.",
          "Scan the chip with the plan preflight when the job has ended: that writes to all rows, and it tells what it is, or leaves the "
          "row so that scans in service can test it again." },
        { "hbm-region-altered", "hbm", SEVERITY_FAIL, ACTION_QUARANTINE,
          "a part of memory beside live data has lost what the last test left there",
          "Before anything is written beside a job, each row must give back what the last test left there. In a part of a stack, a bank "
          "or more, many rows do not, and in the rest of that stack they do: data of a job lie all over a stack, so the part is broken, or "
          "its addresses lead elsewhere. Nothing was written, and no live data was touched.",
          "Take the chip out of service when the job can be moved, and scan it with preflight: it names what is broken." },
        { "hbm-region-stopped", "hbm", SEVERITY_FAIL, ACTION_QUARANTINE,
          "memory failed beside live data as only decoders, lines and whole rows do",
          "Reads had shown the rows to be sound. While they were written, more failed than single cells: a fault that comes and "
          "goes. Nothing more was written, but a decoder that leads to other rows now and then may have reached live data before.",
          "Take the chip out of service when the job can be moved; do not trust what the job has computed since its last checkpoint. "
          "Then scan with preflight, and several times, for what comes and goes: it names the part." },

        /* ---- sram ---- */
        { "sram-cell", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "one bit of the on-chip memory does not hold what is written",
          "The march test read one bit of one row of an SBUF or PSUM partition wrongly, and its neighbours rightly. Under "
          "SECDED it uses up what the code can correct, under parity every word that meets it is lost.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-word", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "several bits of one row of the on-chip memory fail",
          "The march test read more than one bit of a single 32-byte row wrongly: more than SECDED corrects, and an even "
          "number passes parity unseen.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-row", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a row of the on-chip memory fails",
          "Most bits of one row of a partition failed while other rows did not: its word line or the decoder behind it is "
          "broken.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-column", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a bit line of the on-chip memory fails",
          "The same bit failed in most rows of one partition: the bit line or its sense amplifier is broken.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-decoder", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "two rows of the on-chip memory reach each other's cells",
          "A row gave back exactly what another row of its partition was given: the row decoder leads an address to the "
          "wrong place. Data are lost without a wrong bit that a code could see.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-partition", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a partition of the on-chip memory fails",
          "Many rows of one partition failed in most of their bits and the partitions beside it did not: what the "
          "partition has in common, such as its row decoder or its port, is broken.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-array", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "an SBUF or a PSUM bank fails",
          "Failures fill most partitions of one core's SBUF or of one of its PSUM banks: its control, clock or supply is "
          "broken.",
          "Take the chip out of service and replace its tray: there are no spare rows for SRAM." },
        { "sram-scattered", "sram", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "failures of the on-chip memory that follow no structure",
          "There are more failing bits in one array than single faults would explain, and they share no row, bit line or "
          "partition: a weak process, low voltage, or heat.",
          "Replace the tray. Where overheated is found on the chip too, mend the cooling before that and scan again: heat does this to "
          "sound memory." },
        { "sram-ecc", "sram", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "parity or SECDED of the on-chip memory does not do its work",
          "Words were given wrong bits that their check bits do not know of, and the code did not correct them, did not "
          "tell them, or did not count them. Errors of this memory can pass into results with nobody to notice.",
          "Reset the chip and scan it again. If planted errors pass again, replace the tray." },
        { "sram-comparator", "sram", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a core does not report mismatches that were planted",
          "The check had written words that must fail, and the march over them did not report them, or reported others. "
          "What compares data on that core cannot be trusted, so its clean reports count for nothing.",
          "Reset the chip and scan it again. If planted mismatches are lost again, replace the tray." },

        /* ---- systolic ---- */
        { "systolic-pe", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a processing element computes wrongly",
          "Numbers that passed one element of the tensor engine came out with wrong bits, while those that passed the other "
          "elements of its row and column were right. This is silent data corruption: no counter tells.",
          "Take the chip out of service and replace its tray." },
        { "systolic-row", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a row of the tensor engine computes wrongly",
          "Products of most columns are wrong in one row of the array: what feeds that row is broken.",
          "Take the chip out of service and replace its tray." },
        { "systolic-column", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a column of the tensor engine computes wrongly",
          "Products of most rows are wrong in one column of the array: its chain of partial sums or its way into PSUM "
          "is broken.",
          "Take the chip out of service and replace its tray." },
        { "systolic-block", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a block of the tensor engine gives zero",
          "All products of 32 rows in 32 columns of the array are zero while those around them are right: supply, clock or enable of "
          "that block is broken.",
          "Take the chip out of service and replace its tray." },
        { "systolic-array", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "the tensor engine computes wrongly in many places",
          "Wrong products fill no single element, row or column: several parts at once, or clock, supply or control of the "
          "whole array.",
          "Take the chip out of service and replace its tray." },
        { "systolic-mode", "systolic", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a tensor engine lacks or confuses a format or mode",
          "One core refuses a format or mode that it says it has, or that the other cores of its chip carry out, or it treats "
          "operands of one format as if they were of another.",
          "Reset the chip and scan it again. If it fails again, take the chip out of service and replace its tray." },
        { "systolic-psum", "systolic", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "the accumulator of a tensor engine does not keep or add what it should",
          "Sums of matrix products are kept in PSUM. An element, a line of its address, or the flag that tells adding from "
          "overwriting is stuck, so that sums are wrong though all products are right.",
          "Take the chip out of service and replace its tray. Where sram names cells of the same PSUM bank, both mean one "
          "defect." },

        /* ---- rounding ---- */
        { "rounding-nearest", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "rounding to nearest gives a wrong neighbour",
          "A conversion in the mode nearest-even differs in some bit from IEEE 754. Every conversion of that lane is "
          "suspect.",
          "Take the chip out of service and replace its tray." },
        { "rounding-mode", "rounding", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "conversions round in another mode than they were told to",
          "Conversions with stochastic rounding give one result however often they are repeated, so that training in low "
          "precision drifts without any error being seen; or conversions to nearest give different ones.",
          "Reset the chip and scan it again. If the mode is wrong again, replace the tray." },
        { "rounding-generator", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a random generator leaves its sequence",
          "The state of a lane's generator, or the words it gives, are not those that follow from its seed. Results can "
          "be neither repeated nor trusted to be random.",
          "Take the chip out of service and replace its tray." },
        { "rounding-bias", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "stochastic rounding is biased",
          "A lane rounds up more or less often than the discarded bits say, by more than chance allows in two counts, the "
          "second with a fresh seed. The finding has the count and its exact binomial tail.",
          "Take the chip out of service and replace its tray." },
        { "rounding-lanes", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "lanes round alike",
          "Two or more lanes of an engine draw the same or dependent random numbers. Their errors add up instead of "
          "averaging out.",
          "Take the chip out of service and replace its tray." },
        { "rounding-seed", "rounding", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a random generator does not take its seed",
          "A seed that was set, or a reset, has no effect: the random numbers go on as if nobody had asked. Runs can then not be repeated, "
          "and engines that should differ may draw alike.",
          "Reset the chip and scan it again. If the seed is still not taken, replace the tray." },
        { "rounding-width", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "rounding looks at the wrong number of bits",
          "Stochastic rounding compares too few or too many bits, or those of another number format, with its random number. "
          "Results are biased by a small amount that no single run shows.",
          "Take the chip out of service and replace its tray." },
        { "rounding-sign", "rounding", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "negative numbers are rounded the other way",
          "Stochastic rounding treats the two signs differently: sums of negative numbers drift where those of positive "
          "numbers do not.",
          "Take the chip out of service and replace its tray." },

        /* ---- sparsity ---- */
        { "sparsity-tag", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a tag bit of a sparse weight is stuck",
          "The element at this row and slot selects an input that differs from the one its tag names in one and the same "
          "bit, whatever is loaded.",
          "Take the chip out of service and replace its tray. Until then only dense work gives right results." },
        { "sparsity-select", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "the selector of a sparse weight picks the wrong input",
          "The selection matrix read back from the array differs from the tags that were loaded, and no single stuck tag "
          "bit explains it.",
          "Take the chip out of service and replace its tray. Until then only dense work gives right results." },
        { "sparsity-lane", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a wire that brings tags to a row of the array is stuck",
          "In every fourth column of this row the tags that arrive differ from those that were loaded in one and the same bit.",
          "Take the chip out of service and replace its tray. Until then only dense work gives right results." },
        { "sparsity-stale", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a tag of an earlier load is still in force",
          "What is selected here is what an earlier load asked for: the tag was not taken over from the last one, not after a "
          "change of the mode, or still acts on dense work.",
          "Take the chip out of service and replace its tray. Nothing that runs after sparse work is safe on this core until "
          "then." },
        { "sparsity-order", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "stored weights of a group have each other's tags",
          "Two slots of a compressed group select the inputs that the tags of each other name.",
          "Take the chip out of service and replace its tray. Until then only dense work gives right results." },
        { "sparsity-mode", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "a sparsity mode does not work",
          "One of the M:N modes is refused or selects wrongly all over the array while the other modes are right.",
          "Take the chip out of service and replace its tray." },
        { "sparsity-sums", "sparsity", SEVERITY_FAIL, ACTION_REPLACE_TRAY,
          "sparse products were wrong, and not again",
          "Sums of sparse products were wrong in a few columns, and right whenever the same was done again. A selector that works wrongly at "
          "times makes that, and so does a cell of PSUM that gives way to what was written before.",
          "Take the chip out of service and replace its tray. Where sram names cells of a PSUM bank of the core, both mean one defect." },

        /* ---- host-link ---- */
        { "host-link", "host-link", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "a PCIe link to the host is narrower or slower than built",
          "The link of the chip, or of the adapter beside it, trained with fewer lanes or at a lower speed than it is built for, or "
          "looks right and moves data too slowly. Loading, checkpoints and whatever passes the host wait for it.",
          "Reseat the cable between the tray and the CPU tray at both ends and reboot the server. If it stays, replace the cable, then the "
          "tray; at an adapter, the adapter." },
        { "host-link-errors", "host-link", SEVERITY_WARN, ACTION_MONITOR,
          "a PCIe link to the host corrects too many errors",
          "The link counted more corrected errors while it was tested than its error rate allows. Nothing is lost yet; such links fail "
          "or train slower next.",
          "Watch it. When the server is next out of service, reseat the cable between the tray and the CPU tray at both ends and scan "
          "again. If the errors stay, replace the cable." },

        /* ---- neuronlink ---- */
        { "link-errors", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "more bit errors than a sound lane makes",
          "The receiving port counted more blocks with bit errors in a known pattern than a sound lane has in one of 1e12 scans. Its error "
          "ratio is told with the bounds between which it lies. The finding sits at the receiver; the far end is named with it.",
          "Reseat the cable at both ends and scan again. If errors stay, replace the cable, then the tray of the receiver.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-lane", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "a lane of a link is dead or in the wrong place",
          "A lane carries nothing, never locks to its pattern, or carries the pattern of another lane, while the other "
          "lanes of the link are sound.",
          "Reseat the cable at both ends and scan again. If the lane stays away, replace the cable, then the trays at its ends one by "
          "one.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-clock", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "the clock of a lane slips",
          "The receiver loses its place in the pattern and finds it again some bits further on: it does not hold the clock of what it "
          "receives. In service every slip makes the link start anew.",
          "Reseat the cable at both ends and scan again. If it slips on, replace the cable, then the trays at its ends one by one.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-crosstalk", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "another lane disturbs a lane of a link",
          "The lane makes bit errors, and none while one other lane of the link is quiet: what that one sends couples into it. That was asked in "
          "runs with that lane alone and without it, in an order that was drawn. The finding names both.",
          "Reseat the cable at both ends and scan again: a bent contact or a shield without ground does this. If it stays, replace the "
          "cable, then the trays at its ends one by one.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-margin", "neuronlink", SEVERITY_WARN, ACTION_MONITOR,
          "a lane of a link is close to failing",
          "The lane delivers its bits now. Sampled away from the middle of its eye it makes errors far sooner than a good lane: its eye "
          "closes, and it will fail before others do, warmth first.",
          "Watch it; nothing is due at once. When the server is next out of service, reseat or replace the cable, or the tray where the "
          "finding names one, and scan again as warm as the finding says." },
        /* Of earlier versions; now such a port is not tested and its chip not judged, for a sound lane may make the errors that it had. */
        { "link-undecided", "neuronlink", SEVERITY_WARN, ACTION_RETEST,
          "a lane of a link could not be judged in the time that the plan has",
          "The lane made bit errors, more than one that passes and fewer than one that fails, and the device seconds of the scan were over before "
          "it was counted to the end. Its port counts as not tested; the other chips are judged.",
          "Scan with the whole budget of the plan, or one of four times the bits of its links: such a scan decides. The same scan again would end as "
          "this one." },
        { "link-down", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "a link is down",
          "The port has no link to its neighbour although both were asked to bring it up. The finding says whether the "
          "port hears itself: if it does, and the far one too, it is what lies between them.",
          "Reseat the cable at both ends, once it is seen that there is one, and scan again. If the link stays down, replace the cable, "
          "then the trays at its ends one by one.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-either-end", "neuronlink", SEVERITY_WARN, ACTION_RETEST,
          "a link is down at times, and which end is to blame cannot be told",
          "Nothing arrived over this link at times, and that so rarely that the loopbacks of the ports at both its ends, each of which heard itself "
          "whenever it was asked, do not tell a broken port from a broken cable. Neither end is called broken, and neither has passed.",
          "Scan the whole server again: a port that is dead at times does not hear itself in one of its loopbacks sooner or later, and is named then. "
          "Replace nothing before that. If several scans name neither, reseat the cable at both ends, once it is seen that there is one.",
          .names_two = true },
        { "link-degraded", "neuronlink", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a link is narrower or slower than built",
          "The link is up with fewer lanes or at a lower speed than it is built for, although all lanes deliver when they are tested: "
          "training gave up on the rest.",
          "Reset the chips at both ends and scan again. If it trains no better, reseat its cable, then replace that, then the trays at "
          "its ends one by one; where the link is a trace of the board, replace the tray." },
        { "link-bandwidth", "neuronlink", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "payload goes through a link too slowly",
          "The lanes are sound and trained as built, and what they could carry does not arrive: frames are held back or sent again "
          "without need. Collectives wait for the slowest link.",
          "Reset the chips at both ends and scan again. If it stays slow, replace the tray of the port, then that of its far end." },
        { "link-flap", "neuronlink", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "a link goes down and comes up again",
          "The port trained again while it was tested, without having been asked to. In service every such moment stops the job.",
          "Reseat the cable at both ends and scan again. If it comes again, replace the cable, then the trays at its ends one by one.",
          .without_cable = { ACTION_REPLACE_TRAY, WITHIN_TRAY } },
        { "link-miscabled", "neuronlink", SEVERITY_FAIL, ACTION_MOVE_CABLE,
          "a cable ends at the wrong port",
          "A frame sent into the link arrived at another port than the topology says. Both ports work; collectives "
          "would use the wrong way or stop.",
          "Exchange or move the plug as the finding says, then scan again. Two cables that are swapped are told at all of "
          "their ends: one exchange puts them right, a second one undoes it." },
        { "link-cabling", "neuronlink", SEVERITY_FAIL, ACTION_MOVE_CABLE,
          "cables are plugged in wrongly",
          "What every port hears differs from the torus of the server or the ring between servers. The finding tells the smallest number of "
          "moves that put it right, in order; each wrong port says which of them concerns it.",
          "Make the moves in this order, then scan again; if there are many, see first that names of servers and topology file are right. "
          "What stands at two servers in the same words is one move: made twice it is undone. If a port still hears the wrong one, "
          "compare the labels on both ends of its cable with those at the ports." },
        { "link-unplugged", "neuronlink", SEVERITY_FAIL, ACTION_PLUG_IN_CABLE,
          "nothing is plugged in at a port",
          "The port finds no plug in its socket. The finding names the port where the cable comes from.",
          "Plug in the cable from there and scan again. If the port still sees nothing, try another cable, then replace the tray." },
        { "link-frames", "neuronlink", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a port hands out other frames than were sent to it",
          "What the port hands out is not what a port of the scan sent into the link just then: frames of nobody, of earlier, of the port "
          "itself, or without end, which programs would take for answers; or none, though the link carries all else, and programs would wait.",
          "Reset the chip and scan it again. If the frames are still not those that were sent, replace the tray, then that of the far end." },
        { "link-serial", "neuronlink", SEVERITY_WARN, ACTION_INSPECT_STATION,
          "a cable tells a serial number that it should not have here",
          "The two ends of a cable tell different serial numbers, or two cables the same one; or the cable is another than the topology file "
          "wants at this port. The links work, but no record can say which cable was tested.",
          "Inspect the cables: compare the numbers with what is printed on them and with the topology file. Replace a cable that tells a "
          "wrong number." },
        { "link-label", "neuronlink", SEVERITY_WARN, ACTION_INSPECT_STATION,
          "the label on a plug names another port",
          "The link leads where it should, but on the plug stands another port: a label is wrong, or two whole cables are exchanged. Who "
          "follows the label the next time plugs it in wrongly.",
          "Inspect the plug, and put the right label on it or exchange the cables." },
        { "link-counter", "neuronlink", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "a port's own counters disagree with the traffic",
          "Frames and errors as the port counts them differ from what was sent through it. In service its errors would "
          "go unseen.",
          "Reset the chip and scan it again. If the counters stay wrong, replace the tray." },

        /* ---- collective ---- */
        { "collective-data", "collective", SEVERITY_FAIL, ACTION_RESET_CHIP,
          "collectives give wrong data",
          "What came out of a collective differs from what goes in at all ranks makes of it. The finding sits at the chip whose DMA "
          "engines spoil what they add or pass on, or at the port where blocks arrive changed.",
          "Reset the chip and scan it again; until it has passed, jobs across chips get wrong results. If data is wrong again, take the "
          "chip out of service and replace its tray. If the finding names a port, also the tray at its far end may be the one." },
        { "collective-cable", "collective", SEVERITY_FAIL, ACTION_MOVE_CABLE,
          "collectives get data from the wrong port",
          "What came in at a port is, block for block, what another port than the one that should be at the other end of its cable had "
          "sent: the cable ends at the wrong port. The message names the sender.",
          "Make the moves that neuronlink tells (link-cabling), in their order, and scan again." },
        { "collective-hang", "collective", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "collectives stop here",
          "A collective did not come to its end. All ranks wait for each other; here the waiting begins: what this chip or port needed "
          "was there, or was sent to it, and it did not go on.",
          "Reseat the cable at both ends and scan again. If collectives still stop there, replace the cable, then the tray.",
          .without_cable = { ACTION_RESET_CHIP, "Reset the chip and scan it again. If collectives still stop there, replace the tray." } },
        { "collective-slow", "collective", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "collectives wait for this",
          "Blocks take longer through this port, or this chip longer over its steps, than they may. Every rank of a ring waits for the "
          "slowest, so that whole jobs run at its speed.",
          "Reseat the cable at both ends and scan again. If it stays slow, replace the cable, then the tray.",
          .without_cable = { ACTION_RESET_CHIP, "Reset the chip and scan it again. If it stays slow, replace the tray." } },

        { "collective-either-end", "collective", SEVERITY_WARN, ACTION_RETEST,
          "one of two chips makes data wrong, and which cannot be told",
          "Blocks or sums between these two chips were wrong, and as often as all were asked after it, neither of them showed it with enough of its other "
          "neighbours. One of the two is sound, so neither is called broken and neither has passed.",
          "Scan the whole server again: what comes and goes shows with another neighbour which of the two it is. Replace nothing before that. "
          "If it is always the same two and no other, have the link between them looked at.",
          .names_two = true },

        /* ---- efa ---- */
        { "efa-loss", "efa", SEVERITY_FAIL, ACTION_REPLACE_NIC,
          "packets are lost",
          "Packets of a reliable flow that the adapter says were delivered did not all arrive, each exactly once. Their "
          "order does not matter here. It loses packets to itself too, which pass neither its cable nor a switch.",
          "Replace the adapter." },
        { "efa-cable", "efa", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "packets are lost, and none that the adapter sends to itself",
          "Packets of reliable flows did not all arrive, but those did that the adapter sends to itself, which pass neither its cable nor a "
          "switch. Where so many of these were sent that it is its cable or the switch port with 99.9 %, the finding says so; else packets "
          "are lost too rarely to tell these from the adapter.",
          "Reseat the cable of the adapter, look at the switch port and scan again. If packets are still lost, replace the cable, then the "
          "adapter." },
        { "efa-corruption", "efa", SEVERITY_FAIL, ACTION_REPLACE_NIC,
          "packets arrive changed",
          "The payload or its checksum is not what was sent, and the adapter did not notice.",
          "Take the adapter out of service and replace it." },
        { "efa-unresponsive", "efa", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "an adapter does not respond to its peers",
          "Flows from sound adapters to this one end with an unresponsive or unreachable remote, while they reach "
          "others.",
          "Reload the EFA driver and scan again. If it stays silent, look at cable and switch port, then replace the "
          "adapter." },
        { "efa-misdelivery", "efa", SEVERITY_FAIL, ACTION_REPLACE_NIC,
          "packets arrive at the wrong adapter, or twice",
          "A packet arrived that was sent to another adapter, belongs to no flow, or had arrived before.",
          "Take the adapter out of service and replace it. If several adapters show it, look at the fabric first." },
        { "efa-flood", "efa", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "an adapter sends packets that nobody asked it for",
          "Packets of no flow of this scan arrived that name this adapter as their sender. They take buffers and bandwidth from "
          "whoever gets them.",
          "Reload the EFA driver, so that nothing of another program runs on the adapter, and scan again. If the packets still come, "
          "replace the adapter." },
        { "efa-path", "efa", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "one path of an adapter loses, changes or delays packets",
          "Packets pinned to each path in turn show that one path of this adapter is bad. Its other paths are not, and the same path "
          "of other adapters is not, or loses far less.",
          "Reseat the cable of the adapter and look at the port of the first switch of that path. If it stays, replace the cable, then the "
          "adapter." },
        { "efa-fabric", "efa", SEVERITY_FAIL, ACTION_INSPECT_STATION,
          "one path of the fabric loses, changes or delays packets of many adapters",
          "The same path is bad for so many adapters of the server that they cannot all be broken: it is a switch of that path, or the "
          "links to it.",
          "Inspect the switches of that path, and scan again. Replace nothing in the server." },
        { "efa-retransmission", "efa", SEVERITY_WARN, ACTION_MONITOR,
          "packets are lost on the way and sent again",
          "More packets from or to this adapter were late and sent again than a sound fabric loses, on all of its paths. Nothing is "
          "lost in the end, but work waits for it.",
          "Watch it. When the server is next out of service, reseat the cable of the adapter and scan again. If it stays, replace the "
          "cable, then the adapter." },
        { "efa-slow", "efa", SEVERITY_FAIL, ACTION_RESEAT_CABLE,
          "an adapter is slow",
          "Long messages from or to this adapter reach less bandwidth than a sound adapter, or packets on all of its paths take longer "
          "than a sound fabric, though none was sent again. Every collective runs at the pace of the slowest adapter.",
          "Reseat the cable of the adapter, look at the speed of the switch port and scan again; where host-link names the adapter too, "
          "do first what that says. If it stays slow, replace the adapter." },
        { "efa-not-ready", "efa", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "an adapter has no buffers for what it receives",
          "Senders were told that the receiver was not ready. The device does not try again: such packets are gone.",
          "Reload the EFA driver and scan again. If it stays, replace the adapter." },
        { "efa-single-path", "efa", SEVERITY_WARN, ACTION_RELOAD_DRIVER,
          "an adapter uses one path of many",
          "What should be sprayed over all paths of the fabric arrived on one, or in the order in which it was sent, which sprayed packets "
          "do not do. One bad switch would cut this adapter off, and its traffic jams where others' flows around.",
          "Reload the EFA driver and scan again. If it stays, look at the configuration of the switch port, then replace the adapter." },
        { "efa-clock", "efa", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "an adapter's clock is wrong",
          "By its time stamps packets arrived before they were sent, or were sent faster or slower than its chip says it took. How fast "
          "the adapter is, and how late packets are, cannot be told.",
          "Reload the EFA driver, see that the adapter's clock follows the grandmaster (PTP) like the others', and scan again. If it "
          "stays, replace the adapter." },
        { "efa-counter", "efa", SEVERITY_FAIL, ACTION_RELOAD_DRIVER,
          "the adapter's counters disagree with the traffic",
          "The hardware counters did not move by what was sent and received, or completions say of packets what did not become of them. In "
          "service its errors would go unseen.",
          "Reload the EFA driver and scan again. If the counters stay wrong, replace the adapter." },
        { "efa-either-end", "efa", SEVERITY_WARN, ACTION_RETEST,
          "one of two adapters is to blame, and which cannot be told",
          "Packets between these two adapters were lost, changed, slow or late, and all was well with others, or all but one, as often as these were asked after "
          "it. One of the two is sound, or both are and the fabric between them is not, so neither is called broken and neither has passed.",
          "Scan the whole server again: what comes and goes shows with another partner which of the two it is. Replace nothing before that. "
          "If it is always the same two and no other, have the switches between them looked at.",
          .names_two = true },
};

const CatalogueEntry *catalogue_find(const char *code) {
        for (size_t i = 0; code && i < ELEMENTS(entries); i++)
                if (strcmp(entries[i].code, code) == 0)
                        return &entries[i];

        return NULL;
}

const CatalogueEntry *catalogue_at(size_t index) {
        return index < ELEMENTS(entries) ? &entries[index] : NULL;
}

Remedy catalogue_remedy(const CatalogueEntry *entry, const char *replaceable) {
        bool has_cable = replaceable && strncmp(replaceable, "cable", strlen("cable")) == 0;

        return entry->without_cable.text && !has_cable ? entry->without_cable : (Remedy) { entry->action, entry->remedy };
}

Remedy catalogue_remedy_of(const CatalogueEntry *entry, Action action) {
        bool is_other = entry->without_cable.text && entry->without_cable.action == action && entry->action != action;

        return is_other ? entry->without_cable : (Remedy) { entry->action, entry->remedy };
}

const char *action_to_string(Action action) {
        return action >= 0 && action < _ACTION_MAX ? action_words[action] : NULL;
}

Action action_from_string(const char *word) {
        for (Action action = 0; word && action < _ACTION_MAX; action++)
                if (strcmp(action_words[action], word) == 0)
                        return action;

        return _ACTION_INVALID;
}
