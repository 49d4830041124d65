import { resolve } from 'node:path'
import { z } from 'zod'
import type { BackupSettings } from '#services/backups.ts'
import type { DiskBudget } from '#services/telemetry/disk-guard.ts'
import { count, missingFaults, PREFIX, type SettingValues, secretFile } from '#shared/wire/settings.ts'
import { isS3Target, type S3Settings, s3AddressOf, s3EndpointFault } from '#store/backups/s3/s3-address.ts'

const BYTES_OR_SHARE = { error: 'must be bytes (100000000 or more) or a share of the volume, such as 80%' }
const bytesOrShare = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
  z.union(
    [
      z.string().regex(/^([1-9]\d?|100)%$/, BYTES_OR_SHARE),
      z.number().int(BYTES_OR_SHARE).min(100_000_000, BYTES_OR_SHARE),
    ],
    BYTES_OR_SHARE,
  ),
)

export const STORAGE = {
  WRITE_QUEUE_ROWS: {
    schema: count(1_000, 1_000_000).default(5_000),
    help: 'rows waiting for the disk from which reading from devices pauses',
  },
  COMMIT_MS: {
    schema: count(0, 1_000).default(45),
    help:
      'milliseconds between two transactions of messages at low load: fewer bytes written to the disk, later ' +
      'acknowledgements; 0 does not wait',
  },
  SEAL_SAMPLES: {
    schema: count(256, 100_000_000).default(32_768),
    help: 'samples in the log, or 128 per device if that is more, from which they are sealed into blocks',
  },
  READER_THREADS: {
    schema: count(0, 64).default(0),
    help: 'threads for history reads; 0 uses one less than the number of cores',
  },
  RETENTION_DAYS: {
    schema: count(0, 3_650).default(400),
    help: 'days for which positions and voltages are kept; 0 keeps them permanently',
  },
  EVENT_RETENTION_DAYS: {
    schema: count(0, 3_650).default(400),
    help: 'days for which lock events, zone events, finished commands and the audit log are kept; 0: permanently',
  },
  DISK_BUDGET: {
    schema: bytesOrShare.default('80%'),
    help: 'bytes the data folder may use, or a share of its volume; beyond it, history at the hub is deleted first',
    part: 'diskBudget',
  },
  BACKUP_BEFORE_UPGRADE: {
    schema: z.enum(['true', 'false']).default('true'),
    help: 'keeps a copy of the database before an upgrade changes it; false if there is no space for a second one',
    part: 'backsUpBeforeUpgrade',
  },
  BACKUP_TO: {
    schema: z.string().min(1).optional(),
    help:
      'folder for a backup every night, best on another disk; under /media and /mnt a disk must be mounted there; ' +
      'or s3://BUCKET/PREFIX',
    part: 'backup',
  },
  BACKUP_PASSPHRASE: {
    schema: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
    help: 'encrypts the nightly backups, which cannot be read without it: keep a copy elsewhere',
    part: 'backup',
  },
  BACKUP_PASSPHRASE_FILE: secretFile('BACKUP_PASSPHRASE'),
  BACKUP_KEEP: { schema: count(1, 3_650).default(14), help: 'nightly backups that are kept', part: 'backup' },
  BACKUP_HOUR: {
    schema: count(0, 23).default(3),
    help: 'hour of the nightly backup, by the time zone of the site',
    part: 'backup',
  },
  BACKUP_REQUIRE_MOUNT: {
    schema: z.enum(['true', 'false']).default('false'),
    help: 'true rejects any folder for backups that is not on a separate disk',
    part: 'backup',
  },
  BACKUP_S3_ENDPOINT: {
    schema: z
      .string()
      .superRefine((text, context) => {
        const fault = s3EndpointFault(text)
        if (fault !== null) context.addIssue({ code: 'custom', message: fault })
      })
      .optional(),
    help: 'address of the store with the bucket of s3:// backups, such as https://s3.example.com',
    part: 'backupS3',
  },
  BACKUP_S3_REGION: {
    schema: z
      .string()
      .regex(/^[a-z0-9-]{1,40}$/, { error: 'must be the name of a region, such as eu-central-1' })
      .default('us-east-1'),
    help: 'region of that bucket, if its store has regions',
    part: 'backupS3',
  },
  BACKUP_S3_KEY_ID: {
    schema: z
      .string()
      .regex(/^[!-~]{1,200}$/, { error: 'must be a key as the store gave it, without spaces' })
      .regex(/\w/, { error: 'must be a key as the store gave it, without spaces' })
      .optional(),
    help: 'key of that store; it must be allowed to list, read, write and delete',
    part: 'backupS3',
  },
  BACKUP_S3_SECRET: {
    schema: z.string().min(8, { error: 'must have at least 8 characters' }).optional(),
    help: 'secret of that key',
    part: 'backupS3',
  },
  BACKUP_S3_SECRET_FILE: secretFile('BACKUP_S3_SECRET'),
} as const

type Storage = SettingValues<typeof STORAGE>

interface StorageConfig {
  diskBudget: DiskBudget
  backsUpBeforeUpgrade: boolean
  /** Undefined: no nightly backup. */
  backup: BackupSettings | undefined
  /** Settings for backups to `s3://`, including those of commands. */
  backupS3: S3Settings | undefined
}

/** Derives the parts of the configuration that differ from the settings. */
export function storageOf(settings: Storage): StorageConfig {
  const { DISK_BUDGET } = settings
  const backupS3 = backupS3Of(settings)
  return {
    diskBudget:
      typeof DISK_BUDGET === 'number'
        ? { kind: 'bytes', bytes: DISK_BUDGET }
        : { kind: 'share', percent: Number.parseInt(DISK_BUDGET, 10) },
    backsUpBeforeUpgrade: settings.BACKUP_BEFORE_UPGRADE === 'true',
    backup: backupOf(settings, backupS3),
    backupS3,
  }
}

function backupOf(settings: Storage, s3: S3Settings | undefined): BackupSettings | undefined {
  const { BACKUP_TO, BACKUP_PASSPHRASE } = settings
  if (BACKUP_TO === undefined || BACKUP_PASSPHRASE === undefined) return undefined
  return {
    // a folder, existing or not
    target: isS3Target(BACKUP_TO) ? BACKUP_TO : `${resolve(BACKUP_TO)}/`,
    passphrase: BACKUP_PASSPHRASE,
    keep: settings.BACKUP_KEEP,
    hour: settings.BACKUP_HOUR,
    mustBeMounted: settings.BACKUP_REQUIRE_MOUNT === 'true',
    s3,
  }
}

function backupS3Of(settings: Storage): S3Settings | undefined {
  const { BACKUP_S3_ENDPOINT, BACKUP_S3_REGION, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET } = settings
  if (BACKUP_S3_ENDPOINT === undefined || BACKUP_S3_KEY_ID === undefined || BACKUP_S3_SECRET === undefined)
    return undefined
  return {
    endpoint: BACKUP_S3_ENDPOINT,
    region: BACKUP_S3_REGION,
    keyId: BACKUP_S3_KEY_ID,
    secret: BACKUP_S3_SECRET,
  }
}

/** Returns contradictions between settings, one line each. */
export function storageFaults(settings: Storage): string[] {
  const { BACKUP_TO, BACKUP_PASSPHRASE } = settings
  const s3 = s3Faults(settings)
  return s3.length > 0 ? s3 : missingFaults({ BACKUP_TO, BACKUP_PASSPHRASE })
}

function s3Faults(settings: Storage): string[] {
  const { BACKUP_TO, BACKUP_S3_ENDPOINT, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET } = settings
  const isTarget = BACKUP_TO !== undefined && isS3Target(BACKUP_TO)
  if (isTarget && s3AddressOf(BACKUP_TO) === null)
    return [`${PREFIX}BACKUP_TO: must be s3://BUCKET/PREFIX of letters, digits, dots, dashes and underscores`]
  const together = { BACKUP_S3_ENDPOINT, BACKUP_S3_KEY_ID, BACKUP_S3_SECRET }
  return missingFaults(together, isTarget ? 's3:// backups' : undefined)
}
