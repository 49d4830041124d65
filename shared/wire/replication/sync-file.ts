import { z } from 'zod'
import { cursorSchema, latestSchema, partSchema, SYNC_PROTOCOL, syncStreamSchema, timeMsSchema } from './sync.ts'

// A file that carries parts to a head office where no network does: gzip of lines of JSON, a head, the parts of one
// stream after the other, the states of all devices in one line or several, and an end, without which the file is not
// whole.

const count = z.number().int().min(0)

export const syncFileHeadSchema = z.strictObject({
  cartbarn_sync: z.literal(SYNC_PROTOCOL),
  site: z.string().min(1).max(64),
  epoch: z.string().regex(/^[0-9a-f]{32}$/),
  forked_from: z.strictObject({ epoch: z.string(), reason: z.string() }).nullable(),
  program: z.string().max(64),
  exported_at_ms: timeMsSchema,
  /** The last sequence number that was ever given in each stream. */
  ends: z.record(syncStreamSchema, count),
  /** Where the parts begin. */
  cursors: z.record(syncStreamSchema, cursorSchema),
})
export type SyncFileHead = z.infer<typeof syncFileHeadSchema>

export const syncFileEndSchema = z.strictObject({
  parts: z.number().int().min(0),
  rows: z.number().int().min(0),
  /** Where they end: what the hub acknowledges when it has taken all of them. */
  cursors: z.record(syncStreamSchema, cursorSchema),
})
export type SyncFileEnd = z.infer<typeof syncFileEndSchema>

export const syncFileLineSchema = z.union([
  z.strictObject({ head: syncFileHeadSchema }),
  z.strictObject({ part: partSchema }),
  z.strictObject({ devices: latestSchema.shape.devices }),
  z.strictObject({ end: syncFileEndSchema }),
])

/** What the hub answers to a file, and the gateway takes as an acknowledgement. */
export const syncFileReceiptSchema = z
  .strictObject({
    site: z.string().min(1).max(64).meta({ description: 'The site the file is of.', example: 'pebble' }),
    epoch: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .meta({
        description: 'The database the file is of.',
        example: '9894304a7b671d36f10ffe459fda2e32',
      }),
    taken: count.meta({ description: 'Parts of the file that were new.', example: 12 }),
    known: count.meta({ description: 'Parts of the file that were there already.', example: 0 }),
    rows: count.meta({ description: 'Rows in the new parts.', example: 306179 }),
    cursors: z.record(syncStreamSchema, cursorSchema).meta({ description: 'Where each stream is now.' }),
  })
  .meta({ id: 'SyncFileReceipt' })
export type SyncFileReceipt = z.infer<typeof syncFileReceiptSchema>

export const takenReceiptSchema = z
  .object({ success: z.literal(true).meta({ description: 'Always true.' }) })
  .meta({ id: 'TakenSyncReceipt' })
