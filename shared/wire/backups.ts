import { z } from 'zod'
import { isoSchema, listQuery } from './schema/params.ts'

/** The first bytes of what a backup is: what a program must know before it can read the rest. */
export const backupHeaderSchema = z.object({
  format: z.literal('cartbarn-backup'),
  version: z.number().int(),
  /** Null: it is not encrypted. */
  encryption: z
    .object({
      kdf: z.literal('scrypt'),
      /** 16 bytes, base64. */
      salt: z.string().regex(/^[A-Za-z0-9+/]{22}==$/),
      /**
       * As scrypt names them; the memory it takes is 128 * cost * blockSize bytes. Less than what this program has
       * always written would let others guess the passphrase, and more would fill the memory.
       */
      cost: z.literal([1 << 15, 1 << 16, 1 << 17]),
      blockSize: z.number().int().min(8).max(16),
      /** Tells a wrong passphrase from a part that was altered. 32 bytes, base64. */
      check: z.string().regex(/^[A-Za-z0-9+/]{43}=$/),
    })
    .nullable(),
})
export type BackupHeader = z.infer<typeof backupHeaderSchema>

/** The name of a part: a hash. */
export const PART_ID = /^[0-9a-f]{64}$/

const countSchema = z.number().int().min(0)
/** What is printed for people: it may not control their terminal. */
const lineSchema = z
  .string()
  .max(1_000)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
  .transform((text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' '))
/** What a `Date` can show. */
const MOST_DATE_MS = 8.64e15

const chunkSchema = z.object({
  id: z.string().regex(PART_ID),
  rows: countSchema,
})

/** What one backup holds: all tables of the database at one moment, as lists of parts. */
export const backupManifestSchema = z.object({
  /** Counts the backups of one place: clocks may be wrong. */
  number: z.number().int().min(1),
  atMs: z.number().int().min(-MOST_DATE_MS).max(MOST_DATE_MS),
  /** Name and version of the program that made it. */
  program: lineSchema,
  /** Migrations the database had. */
  schema: countSchema,
  /** What the database is to a head office. */
  epoch: z.string(),
  /** Ids of its first users. They are random: two databases that know the same one are of one gateway. */
  users: z.array(z.string()).optional(),
  /** How far numbers were given, by their place: tells which of two databases has more. */
  ends: z.record(z.string(), z.number().int()),
  /** The schema, as version 1.0.0 needs it to restore a backup. No later program executes it. */
  statements: z.array(z.object({ type: z.string(), name: z.string(), sql: z.string() })).default([]),
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      rows: countSchema,
      /** Before they are packed. */
      bytes: countSchema,
      chunks: z.array(chunkSchema),
    }),
  ),
  /** The authority of the gateway with its private key, in PEM; in encrypted backups only, from version 1.0.1 on. */
  authority: z.string().max(20_000).optional(),
  /** What a person needs that is not in it, in words. */
  lacks: z.array(lineSchema).max(100),
})
export type BackupManifest = z.infer<typeof backupManifestSchema>
export type BackupTable = BackupManifest['tables'][number]

const keptBackupSchema = z
  .object({
    number: z.number().int().meta({ description: 'What `cartbarn restore --number` takes.', example: 214 }),
    at: isoSchema.meta({ description: 'The moment it is of, by the clock of the gateway then.' }),
    rows: z.number().int().meta({ description: 'Rows of all tables.', example: 1_204_117 }),
    bytes: z.number().int().meta({
      description: 'What its parts take, those that it shares with others included.',
      example: 312_448_120,
    }),
  })
  .meta({ id: 'KeptBackup' })

export const backupsQuerySchema = listQuery('desc', 'By number: desc is newest first.')

export const backupsSchema = z
  .object({
    target: z.string().nullable().meta({
      description: 'Where the nightly backups are; null without CARTBARN_BACKUP_TO: there are none.',
      example: '/media/stick/cartbarn/',
    }),
    state: z.enum(['none', 'idle', 'running', 'other_machine']).meta({
      description:
        'none: no backup is wanted. running: one is being made. other_machine: the data was used on another ' +
        'machine, so none is made and none deleted until POST /machine/confirm says what this is.',
    }),
    last_good_at: isoSchema.nullable().meta({ description: 'Null: none since the target was set.' }),
    overdue: z.boolean().meta({ description: 'No good backup for 36 hours.' }),
    last_error: z
      .object({
        at: isoSchema,
        detail: z.string().meta({ description: 'For people.', example: 'no disk is mounted at /media/stick' }),
      })
      .nullable()
      .meta({ description: 'Why the last attempt failed; null when it did not.' }),
    next_at: isoSchema.nullable().meta({
      description:
        'When the next one is made by itself, to a quarter of an hour; null while one runs, on another machine, ' +
        'and without a target.',
    }),
    keep: z.number().int().nullable().meta({ description: 'How many are kept.', example: 14 }),
    lacks: z.array(z.string()).meta({
      description: 'What a restored gateway needs besides, for people: no backup contains it.',
      example: ['certificate and private key of CARTBARN_TLS_CERT and CARTBARN_TLS_KEY'],
    }),
    backups: z.array(keptBackupSchema).meta({
      description: 'Those at the target when the last good one was made, the newest first.',
    }),
  })
  .meta({ id: 'Backups' })

export const startedBackupSchema = z
  .object({ success: z.literal(true) })
  .meta({ id: 'StartedBackup', description: 'The backup is being made; GET /backups says what it came to.' })
