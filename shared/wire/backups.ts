import { z } from 'zod'

/** The first bytes of what a backup is: what a program must know before it can read the rest. */
export const backupHeaderSchema = z.object({
  format: z.literal('cartbarn-backup'),
  version: z.number().int(),
  /** Null: it is not encrypted. */
  encryption: z
    .object({
      kdf: z.literal('scrypt'),
      /** 16 bytes, base64. */
      salt: z.string(),
      /** As scrypt names them; the memory it takes is 128 * cost * blockSize bytes. */
      cost: z
        .number()
        .int()
        .min(2)
        .max(1 << 17),
      blockSize: z.number().int().min(1).max(16),
      /** Tells a wrong passphrase from a part that was altered. */
      check: z.string(),
    })
    .nullable(),
})
export type BackupHeader = z.infer<typeof backupHeaderSchema>

const chunkSchema = z.object({
  id: z.string().regex(/^[0-9a-f]{64}$/),
  rows: z.number().int().min(0),
})

/** What one backup holds: all tables of the database at one moment, as lists of parts. */
export const backupManifestSchema = z.object({
  /** Counts the backups of one place: clocks may be wrong. */
  number: z.number().int().min(1),
  atMs: z.number().int(),
  /** Name and version of the program that made it. */
  program: z.string(),
  /** Migrations the database had. */
  schema: z.number().int().min(0),
  /** What the database is to a head office. */
  epoch: z.string(),
  /** Ids of its first users. They are random: two databases that know the same one are of one gateway. */
  users: z.array(z.string()).optional(),
  /** How far numbers were given, by their place: tells which of two databases has more. */
  ends: z.record(z.string(), z.number().int()),
  /** Statements that make everything but the rows, in their order. */
  statements: z.array(z.object({ type: z.string(), name: z.string(), sql: z.string() })),
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      rows: z.number().int(),
      /** Before they are packed. */
      bytes: z.number().int(),
      chunks: z.array(chunkSchema),
    }),
  ),
  /** What a person needs that is not in it, in words. */
  lacks: z.array(z.string()),
})
export type BackupManifest = z.infer<typeof backupManifestSchema>
export type BackupTable = BackupManifest['tables'][number]
