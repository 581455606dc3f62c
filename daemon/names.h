/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Names: every public string of the bus, in one place for daemon, command line and sinks. */

#define ASSAY_BUS_NAME          "org.assay.Assay1"
#define ASSAY_OBJECT_PATH       "/org/assay/Assay1"
#define ASSAY_SCAN_PATH_PREFIX  "/org/assay/Assay1/scan"
#define ASSAY_MANAGER_INTERFACE "org.assay.Assay1.Manager"
#define ASSAY_SCAN_INTERFACE    "org.assay.Assay1.Scan"

/* polkit actions, by risk */
#define ASSAY_ACTION_SCAN             "org.assay.assay1.scan"             /* plans that disturb at most idle parts */
#define ASSAY_ACTION_SCAN_DESTRUCTIVE "org.assay.assay1.scan-destructive" /* resets, repairs, ignores `occupied` */
#define ASSAY_ACTION_CANCEL_ANY       "org.assay.assay1.cancel-any"       /* someone else's scan */
#define ASSAY_ACTION_KEYS             "org.assay.assay1.keys"             /* changes of the key of records */
#define ASSAY_ACTION_COSIGN           "org.assay.assay1.cosign"           /* bring signatures of witnesses */
#define ASSAY_ACTION_LOG_LEVEL        "org.assay.assay1.log-level"

/* errors, and the errno each is on both sides of the bus (SD_BUS_ERROR_MAP) */
#define ASSAY_ERROR_NO_SUCH_TARGET "org.assay.Assay1.Error.NoSuchTarget"  /* ENOENT */
#define ASSAY_ERROR_NO_SUCH_PLAN   "org.assay.Assay1.Error.NoSuchPlan"    /* ENOENT */
#define ASSAY_ERROR_BAD_PLAN       "org.assay.Assay1.Error.BadPlan"       /* EBADMSG, text FILE:LINE:COLUMN: … */
#define ASSAY_ERROR_NO_SUCH_SCAN   "org.assay.Assay1.Error.NoSuchScan"    /* ESRCH */
#define ASSAY_ERROR_SCAN_FINISHED  "org.assay.Assay1.Error.ScanFinished"  /* ESTALE */
#define ASSAY_ERROR_TOO_MANY_SCANS "org.assay.Assay1.Error.TooManyScans"  /* EDQUOT */
#define ASSAY_ERROR_OCCUPIED       "org.assay.Assay1.Error.Occupied"      /* EBUSY */
#define ASSAY_ERROR_NO_SUCH_RECORD "org.assay.Assay1.Error.NoSuchRecord"  /* ERANGE */
#define ASSAY_ERROR_NO_CHECKPOINT  "org.assay.Assay1.Error.NoCheckpoint"  /* ENODATA: none that covers it, yet */
#define ASSAY_ERROR_STORE          "org.assay.Assay1.Error.Store"         /* EIO: the log cannot take records */
#define ASSAY_ERROR_KEY_CHANGED    "org.assay.Assay1.Error.KeyChanged"    /* EKEYEXPIRED: restart with the new key */

/* options of StartScan, a{sv}; any other key is refused */
#define ASSAY_OPTION_SEED      "Seed"      /* t */
#define ASSAY_OPTION_CHALLENGE "Challenge" /* s, 4 to 128 characters of base64 */
#define ASSAY_OPTION_NOTE      "Note"      /* s, a line of 1 to 256 bytes of printable UTF-8 */
#define ASSAY_OPTION_BUDGET    "BudgetSec" /* d, device seconds, less than the plan's */

/* flags; any other bit is refused */
#define ASSAY_TARGETS_CHIPS (1u << 0) /* ListTargets: chips too */
#define ASSAY_SCAN_NO_QUEUE (1u << 0) /* StartScan: Occupied instead of waiting for another scan */
#define ASSAY_RECORD_REGIONS (1u << 0) /* FindRecord: one that tells regions */
#define ASSAY_LEAVES_MAX    65536     /* OpenLeaves: of one call */
#define ASSAY_SCANS_KEPT    64        /* finished scans that keep their object */

/* the state of a target that no scan wants; else the words of Scan.State */
#define ASSAY_TARGET_IDLE        "idle"
#define ASSAY_TARGET_UNREACHABLE "unreachable" /* the same, and its device did not answer the newest scan */

/* in place of a companion, by the daemon and the command line alike */
#define ASSAY_NO_COMPANIONS                                                                                   \
        "Companions (test-result/v0.1) are not signed any more: the record itself has the fields of test-result, see assay-records(7)"

/* words of Scan.State */
#define ASSAY_STATE_QUEUED   "queued"
#define ASSAY_STATE_RUNNING  "running"
#define ASSAY_STATE_SIGNING  "signing"
#define ASSAY_STATE_FINISHED "finished"

/* journal fields */
#define ASSAY_JOURNAL_SCAN   "ASSAY_SCAN"
#define ASSAY_JOURNAL_TARGET "ASSAY_TARGET"
#define ASSAY_JOURNAL_RECORD "ASSAY_RECORD"
#define ASSAY_JOURNAL_ALARM  "ASSAY_ALARM" /* the log that is not sound */

/* what a journal entry is an instance of: MESSAGE_ID=, explained in units/assay.catalog */
#define ASSAY_MESSAGE_PASSED       "b02c2d64179549ba96a380d7dfa99b0c"
#define ASSAY_MESSAGE_WARNED       "9a0880c12e0c4eb5a62515fa40e4a14f"
#define ASSAY_MESSAGE_FAILED       "7a0e9422cf8f445a8be5dae55e3976a9"
#define ASSAY_MESSAGE_INCONCLUSIVE "c4bd87da91e4456d9489c4e6f9a3cd46"
#define ASSAY_MESSAGE_RUN_STARTED  "d512592fa3c0493e98643a96bf09f7db"
#define ASSAY_MESSAGE_HEARTBEAT    "99f692565f5e4d0baf0e1776a5369c68"
#define ASSAY_MESSAGE_KEY_ROTATED  "6a35d7e9f4aa4d7d98920ba91c6c9ded"
#define ASSAY_MESSAGE_ALARM        "efb4de9e5e9a48b39a9c3cfdb92516c5"
