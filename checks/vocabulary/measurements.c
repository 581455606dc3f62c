/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/vocabulary/measurements.h"

#include <string.h>

#include "checks/text/cleanup.h"

/* The columns of a row, by what the value is for. */
#define NONE            LIMIT_NONE, 0, 0, 0, STATISTIC_NONE
#define SOME            LIMIT_NONE, NAN, 1, COUNTS_MAX, STATISTIC_NONE /* a step that passed or warned has counted one at least */
#define NO_MORE_THAN(n) LIMIT_LESS_THAN_OR_EQUAL, n, n, n, STATISTIC_NONE
#define AT_LEAST(n)     LIMIT_GREATER_THAN_OR_EQUAL, n, n, n, STATISTIC_NONE
#define EXACTLY(n)      LIMIT_EQUAL, n, n, n, STATISTIC_NONE
/* One between LEAST and MOST. */
#define NO_MORE_THAN_SOME(least, most) LIMIT_LESS_THAN_OR_EQUAL, NAN, least, most, STATISTIC_NONE
#define AT_LEAST_SOME(least, most)     LIMIT_GREATER_THAN_OR_EQUAL, NAN, least, most, STATISTIC_NONE
#define EXACTLY_SOME(least, most)      LIMIT_EQUAL, NAN, least, most, STATISTIC_NONE
#define WORST_NO_MORE_THAN_SOME(least, most) LIMIT_LESS_THAN_OR_EQUAL, NAN, least, most, STATISTIC_MAX
#define WORST_AT_LEAST_SOME(least, most)     LIMIT_GREATER_THAN_OR_EQUAL, NAN, least, most, STATISTIC_MIN
#define COUNTS_MAX      0x1p53 /* beyond it counts are no doubles */
#define RATE_MAX        1e5    /* Gbit/s or GBy/s: no link has a tenth of it */
#define EACH            MEASUREMENT_EACH
#define ASKED           MEASUREMENT_ASKED
#define BEYOND          MEASUREMENT_BEYOND
#define FAILS           SEVERITY_FAIL
#define WARNS           SEVERITY_WARN
#define SAYS            SEVERITY_INFO /* it has no limit */

#define COVERAGE "it counts what was tested, which the plan's promises are held against"
#define OPEN     "it says what was left out and why, so that no later record takes a pass of this step for one of that part"
#define ALARMS   "it is worked out from the limits of the step and sums up over a fleet; no part can be better or worse by it"
#define CONTEXT  "it is context for who reads the record; nothing is decided by it"

static const MeasurementRow rows[] = {
        /* ---- the worker ---- */
        { "device", "@_findings_not_written", "1", NONE, ASKED, SAYS, "it counts findings beyond those that a stream can hold; the ones that are told decide", NULL },
        { "device", "@_chips_not_requested", "{chip}", NONE, ASKED, SAYS, OPEN, NULL },
        { "device", "device_answers_of_others", "{answer}", NO_MORE_THAN(9), BEYOND, FAILS,
          "so often may other chips of the server answer, a tenth of a deadline apart, while a command is left open", NULL },
        { "device", "device_runs_silent", "{run}", NO_MORE_THAN(1), BEYOND, FAILS, "in one run a chip may be silent while others answer, if it answers afterwards", NULL },
        { "device", "device_answers_garbled", "{answer}", EXACTLY(0), BEYOND, FAILS, "an answer that no device may give, while the others give none such", NULL },
        { "device", "device_chips_alike", "{chip}", NO_MORE_THAN_SOME(0, 1024), BEYOND, WARNS, "one chip less than there are in the server may fail alike", NULL },

        /* ---- identity ---- */
        { "identity", "identity_facts_missing", "1", EXACTLY(0), EACH, FAILS, "of all that a chip says of itself nothing may be missing or empty", NULL },
        { "identity", "identity_facts_differing", "1", EXACTLY(0), BEYOND, FAILS, "each fact is what the product, the place and the second telling say", NULL },
        { "identity", "identity_serial_carriers", "{chip}", EXACTLY(0), BEYOND, FAILS, "no other chip carries the serial number", NULL },
        { "identity", "identity_firmware_differing", "1", EXACTLY(0), BEYOND, WARNS, "the version is the one of the plan, or that of more than half of the chips", NULL },
        { "identity", "identity_serials_compared", "1", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "identity", "identity_tested_with_servers", "{server}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "identity", "identity_found_with_servers", "{server}", NONE, ASKED, SAYS, OPEN, NULL },

        /* ---- telemetry ---- */
        { "telemetry", "telemetry_hbm_uncorrected", "{error}", NO_MORE_THAN(0), EACH, FAILS, "no error may be left that no repair mends", NULL },
        { "telemetry", "telemetry_hbm_repairable", "{error}", NO_MORE_THAN(0), EACH, FAILS, "no error may be left that waits for a repair", NULL },
        { "telemetry", "telemetry_hbm_corrected", "{error}", NO_MORE_THAN_SOME(0, 65534), EACH, WARNS, "the plan's hbm_corrected_max", NULL },
        { "telemetry", "telemetry_sram_uncorrected", "{error}", NO_MORE_THAN(0), EACH, FAILS, "SRAM has no spares", NULL },
        { "telemetry", "telemetry_sram_corrected", "{error}", NO_MORE_THAN_SOME(0, 65534), EACH, WARNS, "the plan's sram_corrected_max", NULL },
        { "telemetry", "telemetry_counter_difference", "{error}", EXACTLY(0), BEYOND, FAILS, "driver and firmware count the same errors", NULL },
        { "telemetry", "telemetry_health_differing", "1", EXACTLY(0), BEYOND, FAILS, "the driver's list and the firmware's register both call something unhealthy, or neither does", NULL },
        { "telemetry", "telemetry_health_status", "1", NONE, ASKED, SAYS, "the register as it stands; bits that no counted error explains are a value of their own", NULL },
        { "telemetry", "telemetry_health_unexplained", "1", EXACTLY(0), BEYOND, FAILS, "bits of the register that no counted or planted error explains", NULL },
        { "telemetry", "telemetry_temperature", "Cel", NO_MORE_THAN_SOME(0, 150), EACH, FAILS, "the plan's temperature_max", NULL },
        { "telemetry", "telemetry_temperature_rise", "K", NO_MORE_THAN_SOME(0.1, 150), ASKED, WARNS, "the plan's temperature_rise_max, above the median of the others at rest", NULL },
        { "telemetry", "telemetry_heartbeats", "1", AT_LEAST(1), EACH, FAILS, "it moves within the plan's heartbeat_usec", NULL },

        /* ---- hbm ---- */
        { "hbm", "hbm_bytes_tested", "By", AT_LEAST_SOME(1, COUNTS_MAX), EACH, WARNS, "all of the memory that the plan asks for",
          "in slices it counts the regions that no job uses, and 0 stands where passes were left out: then the step is open" },
        { "hbm", "hbm_mismatches", "{error}", NO_MORE_THAN(0), EACH, WARNS, "what nothing repeats was a particle's; all else is hbm_reads_wrong as well", NULL },
        { "hbm", "hbm_reads_wrong", "{error}", NO_MORE_THAN(0), BEYOND, FAILS, "reads of a place that were wrong, again when it was read again or in a shape that no particle makes", NULL },
        { "hbm", "hbm_march_lies", "1", NO_MORE_THAN(0), BEYOND, FAILS, "a march reports what is planted, and what was written last", NULL },
        { "hbm", "hbm_plants_returned", "1", EXACTLY_SOME(0, COUNTS_MAX), EACH, FAILS, "as many as were planted", NULL },
        { "hbm", "hbm_samples_compared", "1", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_samples_wrong", "{error}", NO_MORE_THAN(0), EACH, FAILS, "what is copied out is what the march says was there", NULL },
        { "hbm", "hbm_addresses_compared", "1", EXACTLY_SOME(0, COUNTS_MAX), ASKED, WARNS, "as many as were asked, or the map is not proven", NULL },
        { "hbm", "hbm_addresses_astray", "1", NO_MORE_THAN(0), BEYOND, FAILS, "each device address leads where the map says", NULL },
        { "hbm", "hbm_accesses_walked", "1", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_rows_hammered", "1", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_openings_endured", "1", NONE, ASKED, SAYS, "how often a row was opened beside those that were read; what they lost is a mismatch", NULL },
        { "hbm", "hbm_ecc_planted", "{error}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_ecc_corrected", "{error}", NONE, ASKED, SAYS, "it counts what ECC did with errors that were planted; what it did wrongly is hbm_ecc_lies", NULL },
        { "hbm", "hbm_ecc_uncorrected", "{error}", NONE, ASKED, SAYS, "as hbm_ecc_corrected", NULL },
        { "hbm", "hbm_ecc_wrong", "{error}", NONE, ASKED, SAYS, "reads through ECC of what is wrong beside it may be wrong as well; where they may not be is hbm_ecc_lies", NULL },
        { "hbm", "hbm_ecc_lies", "{error}", NO_MORE_THAN(0), BEYOND, FAILS, "ECC corrects, tells and counts what reads beside it foretell, and nothing else", NULL },
        { "hbm", "hbm_seconds_paused", "s", NONE, ASKED, SAYS, "how long refresh was paused; what was lost is a mismatch", NULL },
        { "hbm", "hbm_retention_proven", "ms", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_temperature", "Cel", NONE, ASKED, SAYS, "what hbm_retention_proven was worked out with; telemetry holds it against a limit", NULL },
        { "hbm", "hbm_repairs_requested", "1", NONE, ASKED, SAYS, "it counts what was asked of the chip; whether it took effect is hbm_rows_proven, after a reset", NULL },
        { "hbm", "hbm_repairs_pending", "1", NONE, ASKED, SAYS, "it counts failing rows that a reset will mend; each of them is a defect", NULL },
        { "hbm", "hbm_rows_proven", "1", EXACTLY_SOME(0, COUNTS_MAX), ASKED, FAILS, "as many as have been repaired", NULL },
        { "hbm", "hbm_spares_wanted", "{row}", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, FAILS, "as many as are left in the bank", NULL },
        { "hbm", "hbm_repairs_failed", "{row}", NO_MORE_THAN(0), BEYOND, FAILS, "a row that was repaired is sound, and a repair that was asked for changes something", NULL },
        { "hbm", "hbm_regions", "1", NONE, ASKED, SAYS, "how many regions there are: the whole that the others are parts of", NULL },
        { "hbm", "hbm_regions_tested", "1", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "hbm", "hbm_regions_occupied", "1", NONE, ASKED, SAYS, OPEN, NULL },
        { "hbm", "hbm_regions_unproven", "1", NONE, ASKED, SAYS, OPEN, NULL },
        { "hbm", "hbm_regions_suspicious", "1", NO_MORE_THAN(0), BEYOND, WARNS, "no region has a row that differs from those around it, in this scan or, where it was not tested since, in an earlier one", NULL },
        { "hbm", "hbm_regions_altered", "1", NO_MORE_THAN(0), BEYOND, FAILS, "no region has lost what a test left there, in this scan or, where it was not tested since, in an earlier one", NULL },
        { "hbm", "hbm_regions_failed", "1", NO_MORE_THAN(0), BEYOND, FAILS, "no region has failed in an earlier scan and not been tested since", NULL },
        { "hbm", "hbm_reads_wide", "{error}", NO_MORE_THAN(0), BEYOND, FAILS, "beside live data no access fails in several bits, and no row in several accesses", NULL },
        { "hbm", "hbm_rows_written_astray", "{row}", NO_MORE_THAN(0), BEYOND, FAILS, "no row holds what a test wrote to another one", NULL },
        { "hbm", "hbm_region_age_max", "s", WORST_NO_MORE_THAN_SOME(1, 1e9), ASKED, WARNS, "the plan's rotation", "a plan without a rotation lets regions be of any age" },
        { "hbm", "hbm_rows_guarded", "{row}", NONE, ASKED, SAYS, "it counts live rows that were watched while others were written; what reached them stops the test", NULL },

        /* ---- sram ---- */
        { "sram", "sram_bytes_tested", "By", AT_LEAST_SOME(1, COUNTS_MAX), EACH, WARNS, "all arrays of all cores", "0 stands where passes were left out: then the step is open" },
        { "sram", "sram_mismatches", "{error}", NO_MORE_THAN(0), EACH, FAILS, "marches read what was written", NULL },
        { "sram", "sram_plants_returned", "1", EXACTLY_SOME(0, COUNTS_MAX), EACH, FAILS, "as many as were planted", NULL },
        { "sram", "sram_samples_compared", "1", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "sram", "sram_samples_wrong", "{error}", NO_MORE_THAN(0), EACH, FAILS, "what is copied out is what the march says was there", NULL },
        { "sram", "sram_ecc_plants_seen", "1", EXACTLY_SOME(0, COUNTS_MAX), ASKED, FAILS, "as many as were planted", NULL },
        { "sram", "sram_march_lies", "1", NO_MORE_THAN(0), BEYOND, FAILS, "a march reports what is planted", NULL },
        { "sram", "sram_ecc_lies", "1", NO_MORE_THAN(0), BEYOND, FAILS, "parity and SECDED correct, tell and count all that was planted, and nothing else", NULL },

        /* ---- systolic ---- */
        { "systolic", "systolic_outputs_compared", "{output}", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "systolic", "systolic_mismatched_outputs", "{output}", NO_MORE_THAN(0), EACH, FAILS, "outputs are the golden ones, bit for bit", NULL },
        { "systolic", "systolic_psum_compared", "{output}", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "systolic", "systolic_psum_faulty_cores", "{core}", NO_MORE_THAN(0), EACH, FAILS, "sums in every part of PSUM are the golden ones", NULL },
        { "systolic", "systolic_matmuls_refused", "1", NO_MORE_THAN(0), BEYOND, FAILS, "a core does what others do", NULL },
        { "systolic", "systolic_sums_mistaken", "1", NO_MORE_THAN(0), BEYOND, FAILS, "a format is never taken for another one", NULL },

        /* ---- sparsity ---- */
        { "sparsity", "sparsity_selections_compared", "{selection}", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "sparsity", "sparsity_tiles_compared", "{tile}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "sparsity", "sparsity_mismatched_selections", "{selection}", NO_MORE_THAN(0), EACH, FAILS, "what is selected is what the tags say", NULL },
        { "sparsity", "sparsity_columns_once_wrong", "{column}", NO_MORE_THAN(0), BEYOND, FAILS, "sums in a column were wrong, be it once", NULL },
        { "sparsity", "sparsity_modes_refused", "{mode}", NO_MORE_THAN(0), BEYOND, FAILS, "a core does all modes", NULL },

        /* ---- rounding ---- */
        { "rounding", "rounding_seed", "1", NONE, ASKED, SAYS, "what all random words of the step follow from", NULL },
        { "rounding", "rounding_conversions_compared", "{conversion}", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "rounding", "rounding_mismatched_conversions", "{conversion}", EXACTLY(0), EACH, FAILS, "each conversion is the golden one, bit for bit", NULL },
        { "rounding", "rounding_binomial_samples", "{conversion}", NONE, ASKED, SAYS, "how many conversions of a lane the first stage counts", NULL },
        { "rounding", "rounding_binomial_counted", "{conversion}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "rounding", "rounding_binomial_low", "{conversion}", NONE, ASKED, SAYS, "a bound of the first stage, beyond which a lane is counted again and not failed", NULL },
        { "rounding", "rounding_binomial_high", "{conversion}", NONE, ASKED, SAYS, "as rounding_binomial_low", NULL },
        { "rounding", "rounding_binomial_retests", "{lane}", NONE, ASKED, SAYS, "it counts lanes that the second stage judged", NULL },
        { "rounding", "rounding_binomial_ups", "{conversion}", NONE, ASKED, SAYS, "the least likely count of the first stage, which alone decides nothing", NULL },
        { "rounding", "rounding_p_value", "1", NONE, ASKED, SAYS, "of that count: a limit here would be a second way to a false alarm", NULL },
        { "rounding", "rounding_retest_p_value", "1", AT_LEAST_SOME(0, 1), BEYOND, FAILS, "the chance of a false alarm that the second stage may use", NULL },
        { "rounding", "rounding_retest_ratio", "1", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, FAILS, "of likelihoods, biased to sound, as a logarithm: the border of Wald's test", NULL },
        { "rounding", "rounding_false_alarms", "1", NONE, ASKED, SAYS, ALARMS, NULL },

        /* ---- host-link ---- */
        { "host-link", "host_link_trained", "Gbit/s", AT_LEAST_SOME(1, RATE_MAX), ASKED, FAILS, "width times speed that the link is built for", NULL },
        { "host-link", "host_link_bandwidth_min", "Gbit/s", WORST_AT_LEAST_SOME(0.1, RATE_MAX), ASKED, FAILS, "the plan's efficiency of what the link has trained to", NULL },
        { "host-link", "host_link_adapter_bandwidth_min", "Gbit/s", WORST_AT_LEAST_SOME(0.1, RATE_MAX), ASKED, FAILS, "the plan's efficiency of what the link has trained to", NULL },
        { "host-link", "host_link_errors_corrected", "{error}", NO_MORE_THAN(2), BEYOND, WARNS, "three of a link at the ratio that PCIe allows are rarer than one sweep in thousands", NULL },
        { "host-link", "host_link_bytes_moved", "By", SOME, ASKED, SAYS, COVERAGE, NULL },

        /* ---- neuronlink ---- */
        { "neuronlink", "neuronlink_ports_tested", "{port}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "neuronlink", "neuronlink_lanes_tested", "{lane}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "neuronlink", "neuronlink_ports_untested", "{port}", NONE, ASKED, SAYS, OPEN, NULL },
        { "neuronlink", "neuronlink_untested_<out_of_scan|silent|refused|undecided|other_end|either_end>", "{port}", NONE, ASKED, SAYS, OPEN, NULL },
        { "neuronlink", "neuronlink_bits_per_lane", "bit", NONE, ASKED, SAYS, "how many bits a lane without errors is compared for", NULL },
        { "neuronlink", "neuronlink_false_alarms", "1", NONE, ASKED, SAYS, ALARMS, NULL },
        { "neuronlink", "neuronlink_lane_errors", "{error}", WORST_NO_MORE_THAN_SOME(0, COUNTS_MAX), EACH, FAILS,
          "blocks with errors that a lane may have had when it passed or failed; of lanes that passed the one with the most", NULL },
        { "neuronlink", "neuronlink_lanes_faulty", "{lane}", NO_MORE_THAN(0), BEYOND, FAILS, "each lane carries its own stream, in time", NULL },
        { "neuronlink", "neuronlink_bits_slipped", "bit", EXACTLY(0), BEYOND, FAILS, "a clock loses and repeats nothing", NULL },
        { "neuronlink", "neuronlink_margin_ratio", "1", NO_MORE_THAN_SOME(0, 1), BEYOND, WARNS, "the plan's margin", NULL },
        { "neuronlink", "neuronlink_bandwidth", "GBy/s", AT_LEAST_SOME(0, RATE_MAX), BEYOND, FAILS, "a share of what the lanes carry that it has trained to", NULL },
        { "neuronlink", "neuronlink_bandwidth_told", "GBy/s", NO_MORE_THAN_SOME(0, RATE_MAX), BEYOND, FAILS, "what its lanes can carry", NULL },
        { "neuronlink", "neuronlink_moves_blocked", "1", NO_MORE_THAN(0), BEYOND, FAILS, "payload arrives over a link that is up", NULL },
        { "neuronlink", "neuronlink_replays", "{frame}", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, FAILS, "three times what the errors of its lanes explain, and ten", NULL },
        { "neuronlink", "neuronlink_links_down", "{port}", EXACTLY(0), BEYOND, FAILS, "a link is up, and its port, or what lies between two that hear themselves, is sound", NULL },
        { "neuronlink", "neuronlink_links_either_end", "{port}", EXACTLY(0), BEYOND, WARNS, "no link is down at times of which neither end can be told to be the one", NULL },
        { "neuronlink", "neuronlink_lanes_trained", "{lane}", AT_LEAST_SOME(0, COUNTS_MAX), BEYOND, FAILS, "as many as are built", NULL },
        { "neuronlink", "neuronlink_lane_rate", "Gbit/s", EXACTLY_SOME(0, RATE_MAX), BEYOND, FAILS, "what lanes are built for", NULL },
        { "neuronlink", "neuronlink_retrains", "1", NO_MORE_THAN(0), BEYOND, FAILS, "no link goes down during a scan", NULL },
        { "neuronlink", "neuronlink_ports_miscabled", "{port}", EXACTLY(0), BEYOND, FAILS, "a port hears the one that the design wants", NULL },
        { "neuronlink", "neuronlink_ports_unplugged", "{port}", EXACTLY(0), BEYOND, FAILS, "a port has a plug", NULL },
        { "neuronlink", "neuronlink_cable_moves", "1", NO_MORE_THAN(0), BEYOND, FAILS, "no plug has to be moved", NULL },
        { "neuronlink", "neuronlink_frames_wrong", "{port}", EXACTLY(0), BEYOND, FAILS, "a port hands out the frames that were sent to it, and no others", NULL },
        { "neuronlink", "neuronlink_cables_differing", "{port}", EXACTLY(0), BEYOND, WARNS, "both ends of a cable tell the same number, no others tell it, and it is the one that is wanted", NULL },
        { "neuronlink", "neuronlink_labels_differing", "{port}", EXACTLY(0), BEYOND, WARNS, "the label is that of the port", NULL },
        { "neuronlink", "neuronlink_counter_moved", "1", AT_LEAST_SOME(0, COUNTS_MAX), BEYOND, FAILS, "as much as was seen", NULL },
        { "neuronlink", "neuronlink_answers_garbled", "{port}", EXACTLY(0), BEYOND, FAILS, "a port answers with values that a port can have", NULL },

        /* ---- collective ---- */
        { "collective", "collective_<sendrecv|all_reduce|all_gather|reduce_scatter|alltoall>_#_<fp32|bf16|uint8>_#_time", "us", NONE, ASKED, SAYS,
          "all ranks of a ring end together; each port and each rank is held against limits of its own", NULL },
        { "collective", "collective_<sendrecv|all_reduce|all_gather|reduce_scatter|alltoall>_#_<fp32|bf16|uint8>_#_busbw", "GiBy/s", NONE, ASKED, SAYS,
          "as collective_…_time, which it is worked out from", NULL },
        { "collective", "collective_bytes_compared", "By", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "collective", "collective_untested_<out_of_scan|stopped|cables|large|partners|together|either_end>", "{chip}", NONE, ASKED, SAYS, OPEN, NULL },
        { "collective", "collective_ranks_untested_together", "{rank}", NONE, ASKED, SAYS, OPEN, NULL },
        { "collective", "collective_found_together", "{chip}", NONE, ASKED, SAYS, OPEN, NULL },
        { "collective", "collective_ports_wrong", "{port}", EXACTLY(0), EACH, FAILS, "ports at which data are wrong by what this chip sends, takes in or adds", NULL },
        { "collective", "collective_runs_wrong_either_end", "1", NO_MORE_THAN(0), BEYOND, WARNS, "blocks or sums that were wrong with one other chip alone, so that it may be either of the two", NULL },
        { "collective", "collective_pieces_wrong", "1", NO_MORE_THAN(0), BEYOND, FAILS, "sums and pieces that were wrong and are no chip's doing, as far as can be told", NULL },
        { "collective", "collective_bytes_miscounted", "By", EXACTLY(0), BEYOND, FAILS, "a port counts what came in", NULL },
        { "collective", "collective_ports_miscabled", "{port}", EXACTLY(0), BEYOND, FAILS, "what comes in is what the port at the far end by design sent", NULL },
        { "collective", "collective_steps_missing", "1", NO_MORE_THAN(0), BEYOND, FAILS, "steps that a rank left undone for want of nobody else", NULL },
        { "collective", "collective_parts_refused", "1", EXACTLY(0), BEYOND, FAILS, "a rank takes its part, and what it says of it is possible", NULL },
        { "collective", "collective_ranks_stuck", "{rank}", NO_MORE_THAN(0), BEYOND, FAILS, "ranks of which each says that it waits for another", NULL },
        { "collective", "collective_port_bandwidth", "GBy/s", AT_LEAST_SOME(0, RATE_MAX), BEYOND, FAILS, "the plan's share of what the link is built for", NULL },
        { "collective", "collective_step_ratio", "1", NO_MORE_THAN_SOME(1, COUNTS_MAX), BEYOND, FAILS, "of a rank's own time for a step to the median of all: the plan's straggler, or more where all spread", NULL },
        { "collective", "collective_step_ratio_built", "1", NO_MORE_THAN(1.5), BEYOND, FAILS, "the same to what it is built for, where all are slow or too few to compare", NULL },
        { "collective", "collective_ranks_late", "{rank}", NO_MORE_THAN(0), BEYOND, FAILS, "ranks that had not ended when all should have, while their own times name nobody", NULL },
        { "collective", "collective_time_unexplained", "us", NO_MORE_THAN(0), BEYOND, FAILS, "time of the whole that no rank accounts for, beyond twice what the longest does", NULL },

        /* ---- efa ---- */
        { "efa", "efa_packets_accounted", "{packet}", SOME, ASKED, SAYS, COVERAGE, NULL },
        { "efa", "efa_path_packets_min", "{packet}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "efa", "efa_bandwidth_min", "Gbit/s", NONE, ASKED, SAYS, "a slow partner shows here as well; whose flows were too slow is a count of packets", NULL },
        { "efa", "efa_latency_max", "us", NONE, ASKED, SAYS, "a late partner shows here as well; whose packets were late is a count of packets", NULL },
        { "efa", "efa_latency_<p50|p99>", "us", NONE, ASKED, SAYS, "of all adapters; whose packets were late is a count of packets", NULL },
        { "efa", "efa_reorder_distance_<p50|p99|max>", "{packet}", NONE, ASKED, SAYS, "order means nothing on this fabric", NULL },
        { "efa", "efa_payloads_compared", "{packet}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "efa", "efa_servers_reached", "{server}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "efa", "efa_tested_with_servers", "{server}", NONE, ASKED, SAYS, COVERAGE, NULL },
        { "efa", "efa_found_with_servers", "{server}", NONE, ASKED, SAYS, OPEN, NULL },
        { "efa", "efa_untested_other_servers", "1", NONE, ASKED, SAYS, OPEN, NULL },
        { "efa", "efa_untested_<partners|silent|flooded|either_end>", "{adapter}", NONE, ASKED, SAYS, OPEN, NULL },
        { "efa", "efa_untested_out_of_scan", "<{adapter}|{server}>", NONE, ASKED, SAYS, OPEN, NULL },
        { "efa", "efa_false_alarms", "1", NONE, ASKED, SAYS, ALARMS, NULL },
        { "efa", "efa_packets_wrong", "{packet}", EXACTLY(0), EACH, FAILS, "packets of its flows that went wrong by this adapter's doing, or its cable's, and were not only sent again", NULL },
        { "efa", "efa_packets_resent", "{packet}", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, WARNS, "what a sound fabric may send again of as many packets", NULL },
        { "efa", "efa_packets_either_end", "{packet}", NO_MORE_THAN(0), BEYOND, WARNS, "packets that went wrong with one other adapter alone, so that it may be either of the two", NULL },
        { "efa", "efa_packets_unasked", "{packet}", NO_MORE_THAN(0), BEYOND, FAILS, "an adapter sends what it is asked to", NULL },
        { "efa", "efa_packets_strange", "{packet}", NO_MORE_THAN(0), BEYOND, FAILS, "packets that nobody of this scan sent", NULL },
        { "efa", "efa_commands_refused", "1", EXACTLY(0), BEYOND, FAILS, "an adapter takes commands where its chip answers", NULL },
        { "efa", "efa_answers_garbled", "1", EXACTLY(0), BEYOND, FAILS, "an adapter answers with values that one can have", NULL },
        { "efa", "efa_paths_used", "1", AT_LEAST(2), BEYOND, WARNS, "what is sprayed comes over several paths", NULL },
        { "efa", "efa_counter_moved", "1", AT_LEAST_SOME(0, COUNTS_MAX), BEYOND, FAILS, "as much as was seen", NULL },
        { "efa", "efa_counter_excess", "1", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, FAILS, "a counter moves by no more than anything explains", NULL },
        { "efa", "efa_packets_lost", "{packet}", NO_MORE_THAN(0), ASKED, WARNS, "of the server as a whole; whose they are is told of each adapter", NULL },
        { "efa", "efa_packets_corrupt", "{packet}", NO_MORE_THAN(0), ASKED, WARNS, "of the server as a whole; whose they are is told of each adapter", NULL },
        { "efa", "efa_packets_late", "{packet}", NONE, ASKED, SAYS, "of the server as a whole; whose they are is told of each adapter", NULL },
        { "efa", "efa_plane_packets_wrong", "{packet}", NO_MORE_THAN_SOME(0, COUNTS_MAX), BEYOND, FAILS, "of late ones what a sound fabric may send again of as many packets, else none", NULL },
};

/* ---- families of names ---- */

#define DIGITS_MAX 10u

/* Behind the word of FAMILY at one of its alternatives, all of which end at '>'; NULL where NAME begins with none. */
static const char *match_alternative(const char *family, const char *name, const char **ret_end) {
        const char *end = strchr(family, '>'), *found = NULL;

        for (const char *word = family; end && word <= end && !found; word += strcspn(word, "|>") + 1) {
                size_t n = strcspn(word, "|>");

                /* No alternative is the beginning of another one. */
                if (strncmp(name, word, n) == 0)
                        found = name + n;
        }
        *ret_end = end;
        return found;
}

static const char *match_number(const char *name) {
        size_t n = strspn(name, "0123456789");

        return n == 0 || n > DIGITS_MAX || (name[0] == '0' && n > 1) ? NULL : name + n;
}

static const char *match_check(const char *check, const char *name) {
        for (; *check; check++, name++)
                if (*name != (*check == '-' ? '_' : *check))
                        return NULL;
        return name;
}

bool measurement_matches(const char *family, const char *check, const char *name) {
        for (; *family && name; family++)
                if (*family == '#')
                        name = match_number(name);
                else if (*family == '@')
                        name = match_check(check, name);
                else if (*family == '<')
                        name = match_alternative(family + 1, name, &family);
                else
                        name = *family == *name ? name + 1 : NULL;
        return name && *name == '\0';
}

/* ---- rows ---- */

const MeasurementRow *measurement_at(size_t index) {
        return index < ELEMENTS(rows) ? &rows[index] : NULL;
}

const MeasurementRow *measurement_rows(const char *check, size_t *ret_n) {
        const MeasurementRow *first = NULL;

        *ret_n = 0;
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                if (rows[i].check[0] == check[0] && strcmp(rows[i].check, check) == 0) {
                        first = first ?: &rows[i];
                        (*ret_n)++;
                }
        return first;
}

/* Most rows differ in the first letter, and every value of a record is looked up. */
static bool is_of(const MeasurementRow *row, const char *check, const char *name) {
        return (row->name[0] == name[0] || row->name[0] == '@') && measurement_matches(row->name, check, name);
}

const MeasurementRow *measurement_find(const char *check, const char *name) {
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                if (is_of(&rows[i], check, name) && (strcmp(rows[i].check, check) == 0 || strcmp(rows[i].check, "device") == 0))
                        return &rows[i];
        return NULL;
}

const MeasurementRow *measurement_named(const char *name) {
        for (size_t i = 0; i < ELEMENTS(rows); i++)
                if (is_of(&rows[i], rows[i].check, name))
                        return &rows[i];
        return NULL;
}

const char *measurement_wrong(const MeasurementRow *row, const char *unit, LimitType type, double limit) {
        if (!measurement_matches(row->unit, row->check, unit))
                return "a value has another unit than the table says";
        if (row->limit_type == LIMIT_NONE)
                return type == LIMIT_NONE ? NULL : "a value has a limit that the table does not know of";
        if (type == LIMIT_NONE)
                return row->unlimited ? NULL : "a value lacks its limit";
        if (type != row->limit_type)
                return "a value is held against its limit in another way than the table says";
        return limit >= row->least && limit <= row->most ? NULL : "a value has another limit than the table says";
}

static double least_of(const char *unit) {
        if (strcmp(unit, "1") == 0 || strcmp(unit, "K") == 0)
                return -HUGE_VAL;
        return strcmp(unit, "Cel") == 0 ? -273.15 : 0;
}

const char *measurement_impossible(const MeasurementRow *row, double value, Statistic statistic) {
        if (value < least_of(row->unit))
                return "a value is less than anything can be";
        return statistic == row->statistic ? NULL : "a value does not sum up what the table says";
}
