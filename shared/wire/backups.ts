import { z } from 'zod'
import { isoSchema, listQuery } from './schema/params.ts'

/** First bytes of a backup file, which a program must know before it can read the rest. */
export const backupHeaderSchema = z.object({
  format: z.literal('cartbarn-backup'),
  version: z.number().int(),
  /** Null if it is not encrypted. */
  encryption: z
    .object({
      kdf: z.literal('scrypt'),
      /** 16 bytes, base64. */
      salt: z.string().regex(/^[A-Za-z0-9+/]{22}==$/),
      /**
       * Parameters of scrypt; it needs 128 * cost * blockSize bytes of memory. Lower values than this program has ever
       * written would let others guess the passphrase, and higher ones would exhaust the memory.
       */
      cost: z.literal([1 << 15, 1 << 16, 1 << 17]),
      blockSize: z.number().int().min(8).max(16),
      /** Distinguishes a wrong passphrase from a modified part. 32 bytes, base64. */
      check: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
    })
    .nullable(),
})
export type BackupHeader = z.infer<typeof backupHeaderSchema>

/** Name of a part: a hash. */
export const PART_ID = /^[0-9a-f]{64}$/

const countSchema = z.number().int().min(0)
/** Text that is printed: it must not contain control sequences for a terminal. */
const lineSchema = z
  .string()
  .max(1_000)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are replaced
  .transform((text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' '))
/** Maximum of a `Date`. */
const MOST_DATE_MS = 8.64e15

const chunkSchema = z.object({
  id: z.string().regex(PART_ID),
  rows: countSchema,
})

/** Content of one backup: all tables of the database at one instant, as lists of parts. */
export const backupManifestSchema = z.object({
  /** Sequence number within one target, because clocks may be wrong. */
  number: z.number().int().min(1),
  atMs: z.number().int().min(-MOST_DATE_MS).max(MOST_DATE_MS),
  /** Name and version of the program that created it. */
  program: lineSchema,
  /** Number of migrations of the database. */
  schema: countSchema,
  /** Identity of the database for a hub. */
  epoch: z.string(),
  /** Ids of its first users. They are random, so two databases with a common one belong to the same gateway. */
  users: z.array(z.string()).optional(),
  /** Last assigned sequence numbers, by name; show which of two databases has more data. */
  ends: z.record(z.string(), z.number().int()),
  /** Schema, required by version 1.0.0 to restore a backup. Later programs do not execute it. */
  statements: z.array(z.object({ type: z.string(), name: z.string(), sql: z.string() })).default([]),
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      rows: countSchema,
      /** Size before compression. */
      bytes: countSchema,
      chunks: z.array(chunkSchema),
    }),
  ),
  /** Authority of the gateway with its private key, in PEM; only in encrypted backups, from version 1.0.1 on. */
  authority: z.string().max(20_000).optional(),
  /** Readable list of required items that the backup does not contain. */
  lacks: z.array(lineSchema).max(100),
})
export type BackupManifest = z.infer<typeof backupManifestSchema>
export type BackupTable = BackupManifest['tables'][number]

const keptBackupSchema = z
  .object({
    number: z.number().int().meta({
      description: 'Number of the backup, as passed to `cartbarn restore --number`.',
      example: 214,
    }),
    at: isoSchema.meta({ description: 'Time of the backup, by the clock of the gateway at that time.' }),
    rows: z.number().int().meta({ description: 'Number of rows in all tables.', example: 1_204_117 }),
    bytes: z.number().int().meta({
      description: 'Size of its parts, including those shared with other backups.',
      example: 312_448_120,
    }),
  })
  .meta({ id: 'KeptBackup' })

export const backupsQuerySchema = listQuery('desc', 'Order by number: desc is newest first.')

export const backupsSchema = z
  .object({
    target: z.string().nullable().meta({
      description: 'Target of the nightly backups; null without CARTBARN_BACKUP_TO, in which case none are made.',
      example: '/media/stick/cartbarn/',
    }),
    state: z.enum(['none', 'idle', 'running', 'other_machine']).meta({
      description:
        'none: no backups are configured. running: a backup is in progress. other_machine: the data was used on ' +
        'another gateway computer, so no backup is made or deleted until POST /machine/confirm settles the matter.',
    }),
    last_good_at: isoSchema.nullable().meta({
      description: 'Time of the last good backup; null if none succeeded since the target was set.',
    }),
    overdue: z.boolean().meta({ description: 'True if there was no good backup for 36 hours.' }),
    last_error: z
      .object({
        at: isoSchema,
        detail: z.string().meta({ description: 'Readable details.', example: 'no disk is mounted at /media/stick' }),
      })
      .nullable()
      .meta({ description: 'Reason for which the last attempt failed; null if it succeeded.' }),
    next_at: isoSchema.nullable().meta({
      description:
        'Time of the next automatic backup, to a quarter of an hour; null while one is in progress, on another ' +
        'gateway computer, and without a target.',
    }),
    keep: z.number().int().nullable().meta({ description: 'Number of backups kept.', example: 14 }),
    lacks: z.array(z.string()).meta({
      description: 'Readable list of what a restored gateway needs in addition, because no backup contains it.',
      example: ['certificate and private key of CARTBARN_TLS_CERT and CARTBARN_TLS_KEY'],
    }),
    backups: z.array(keptBackupSchema).meta({
      description: 'Backups at the target at the time of the last good one, newest first.',
    }),
  })
  .meta({ id: 'Backups' })

export const startedBackupSchema = z
  .object({ success: z.literal(true) })
  .meta({ id: 'StartedBackup', description: 'Backup started; GET /backups shows the result.' })

/** Maximum of one piece of an upload. */
export const MOST_PIECE_BYTES = 8 * 1_048_576

const backupSources = [
  z.strictObject({
    kind: z.literal('stick'),
    path: z.string().max(1_000).meta({ description: 'Path from GET /setup/places.' }),
  }),
  z.strictObject({ kind: z.literal('upload') }),
  z.strictObject({
    kind: z.literal('bucket'),
    endpoint: z.string().max(500).meta({ description: 'Address of a store that speaks S3, without the bucket.' }),
    region: z.string().max(100).default('us-east-1').meta({ description: 'Region of the bucket.' }),
    bucket: z.string().max(100).meta({ description: 'Name of the bucket.' }),
    prefix: z.string().max(500).default('').meta({ description: 'Folder in the bucket; empty for the whole bucket.' }),
    key_id: z.string().min(1).max(200).meta({ description: 'Id of the key of the store.' }),
    secret: z.string().min(1).max(500).meta({ description: 'Secret of that key; used for this request only.' }),
  }),
] as const

const sourceSchema = z.discriminatedUnion('kind', backupSources).meta({ id: 'BackupSource' })
export type BackupSource = z.infer<typeof sourceSchema>

const passphraseSchema = z
  .string()
  .min(1)
  .max(1_000)
  .optional()
  .meta({ description: 'Passphrase of encrypted backups.' })

export const listedBackupsQuerySchema = z
  .strictObject({
    from: sourceSchema,
    passphrase: passphraseSchema,
  })
  .meta({ id: 'SetUpBackupsQuery' })

const restoreSourceSchema = z
  .discriminatedUnion('kind', [
    ...backupSources,
    z.strictObject({
      kind: z.literal('head_office'),
      url: z
        .string()
        .max(500)
        .regex(/^https?:\/\//, 'must be an https:// address')
        .meta({ description: 'Address of the hub.', example: 'https://hub.example.com' }),
      key: z
        .string()
        .regex(/^cbs_[a-z0-9-]{1,32}_[A-Za-z0-9_-]{43}$/, 'must be a site key of the hub')
        .meta({ description: 'Key of the site at the hub; used for this request only.' }),
    }),
  ])
  .meta({ id: 'RestoreSource' })
export type RestoreSource = z.infer<typeof restoreSourceSchema>
export type RestoreSourceInput = z.input<typeof restoreSourceSchema>

export const newRestoreSchema = z
  .strictObject({
    from: restoreSourceSchema,
    number: z.number().int().min(1).optional().meta({ description: 'Number of the backup; default: the newest.' }),
    passphrase: passphraseSchema,
  })
  .meta({ id: 'NewRestore' })

export const startedRestoreSchema = z
  .object({
    restore_id: z.string().meta({ description: 'Id for GET /setup/restore/{restore_id}, and its only credential.' }),
  })
  .meta({ id: 'StartedRestore' })

const restoreResultSchema = z.object({
  at: isoSchema.meta({ description: 'Time of the backup; for a head office the last contact with the old gateway.' }),
  rows: z.number().int().meta({ description: 'Number of restored rows.' }),
  lacks: z.array(z.string()).meta({ description: 'Readable list of what the gateway needs in addition.' }),
  left_out: z.array(z.string()).meta({ description: 'Tables of the backup that this program does not know.' }),
  authority: z.enum(['restored', 'kept', 'missing']).meta({
    description: 'TLS authority: restored from the backup, kept because the gateway has one, or in neither.',
  }),
  kept_in: z.string().nullable().meta({ description: 'Folder with the replaced database; null if there was none.' }),
  credentials: z
    .object({
      path: z.string().meta({ description: 'File in the data folder.' }),
      devices: z.number().int().meta({ description: 'Number of new passwords.' }),
      users: z.number().int().meta({ description: 'Number of new keys.' }),
    })
    .nullable()
    .meta({ description: 'File with new passwords of devices and keys of users, which a head office does not have.' }),
})
export type RestoreResult = z.infer<typeof restoreResultSchema>

export const restoreStateSchema = z
  .object({
    state: z.enum(['restoring', 'done', 'failed']).meta({
      description: 'done and failed: the gateway runs again; failed: as it was before.',
    }),
    done: z.number().int().meta({ description: 'Parts of the backup that are restored; rows from a head office.' }),
    of: z.number().int().nullable().meta({ description: 'Number of all parts; null if unknown.' }),
    reason: z.string().optional().meta({ description: 'Readable reason of a failure.' }),
    result: restoreResultSchema.optional().meta({ description: 'Result, once done.' }),
  })
  .meta({ id: 'RestoreState' })
export type RestoreState = z.infer<typeof restoreStateSchema>

const foundBackupSchema = z.object({
  number: z.number().int().meta({ description: 'Number of the backup at its place.', example: 214 }),
  at: isoSchema.meta({ description: 'Time of the backup, by the clock of its gateway.' }),
  program: z.string().meta({ description: 'Program that made it.', example: 'cartbarn 1.0.1' }),
  schema: z.number().int().meta({ description: 'Number of migrations of its database.' }),
  is_newer: z.boolean().meta({ description: 'True if this program is too old to restore it.' }),
  is_encrypted: z.boolean().meta({ description: 'True if a passphrase was needed.' }),
  rows: z.number().int().meta({ description: 'Number of rows in all tables.' }),
  bytes: z.number().int().meta({ description: 'Size of its rows before compression.' }),
  devices: z.number().int().meta({ description: 'Number of registered devices.' }),
  users: z.number().int().meta({ description: 'Number of users.' }),
  lacks: z.array(z.string()).meta({ description: 'Readable list of what a restored gateway needs in addition.' }),
})
export type FoundBackup = z.infer<typeof foundBackupSchema>

export const foundBackupsSchema = z
  .object({ backups: z.array(foundBackupSchema).meta({ description: 'Newest first.' }) })
  .meta({ id: 'FoundBackups' })

export const setUpPlacesSchema = z
  .object({
    sticks: z.array(
      z.object({ path: z.string().meta({ description: 'Set or file of backups.', example: '/media/stick/cartbarn' }) }),
    ),
    upload_bytes: z.number().int().meta({ description: 'Bytes of the upload so far; 0 without one.' }),
  })
  .meta({ id: 'SetUpPlaces' })

export const uploadQuerySchema = z.object({
  offset: z.coerce
    .number()
    .int()
    .min(0)
    .max(Number.MAX_SAFE_INTEGER)
    .meta({ description: 'Bytes sent before; 0 begins again.' }),
})
export const pieceSchema = z.custom<Blob>().meta({ type: 'string', format: 'binary' })
export const uploadedSchema = z
  .object({
    success: z.literal(true),
    upload_bytes: z.number().int().meta({ description: 'Bytes of the upload so far.' }),
  })
  .meta({ id: 'UploadedPiece' })
