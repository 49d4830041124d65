import { z } from 'zod'
import { cursorSchema, latestSchema, partSchema, SYNC_PROTOCOL, syncStreamSchema, timeMsSchema } from './sync.ts'

// File that carries batches to a hub without a network: gzip of JSON lines, with a head, the batches of one stream
// after another, the states of all devices in one or more lines, and an end, without which the file is incomplete.

const count = z.number().int().min(0)

export const syncFileHeadSchema = z.strictObject({
  cartbarn_sync: z.literal(SYNC_PROTOCOL),
  site: z.string().min(1).max(64),
  epoch: z.string().regex(/^[0-9a-f]{32}$/),
  forked_from: z.strictObject({ epoch: z.string(), reason: z.string() }).nullable(),
  program: z.string().max(64),
  exported_at_ms: timeMsSchema,
  /** Last sequence number ever assigned in each stream. */
  ends: z.record(syncStreamSchema, count),
  /** Start of the batches. */
  cursors: z.record(syncStreamSchema, cursorSchema),
})
export type SyncFileHead = z.infer<typeof syncFileHeadSchema>

export const syncFileEndSchema = z.strictObject({
  parts: z.number().int().min(0),
  rows: z.number().int().min(0),
  /** End of the batches: acknowledged by the hub when it has applied all of them. */
  cursors: z.record(syncStreamSchema, cursorSchema),
})
export type SyncFileEnd = z.infer<typeof syncFileEndSchema>

export const syncFileLineSchema = z.union([
  z.strictObject({ head: syncFileHeadSchema }),
  z.strictObject({ part: partSchema }),
  z.strictObject({ devices: latestSchema.shape.devices }),
  z.strictObject({ end: syncFileEndSchema }),
])

/** Response of the hub to a file, which the gateway treats as an acknowledgement. */
export const syncFileReceiptSchema = z
  .strictObject({
    site: z.string().min(1).max(64).meta({ description: 'Site of the file.', example: 'pebble' }),
    epoch: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .meta({
        description: 'Epoch of the database that wrote the file.',
        example: '9894304a7b671d36f10ffe459fda2e32',
      }),
    taken: count.meta({ description: 'Number of new batches in the file.', example: 12 }),
    known: count.meta({ description: 'Number of batches in the file that were present already.', example: 0 }),
    rows: count.meta({ description: 'Number of rows in the new batches.', example: 306179 }),
    cursors: z.record(syncStreamSchema, cursorSchema).meta({ description: 'Current position of each stream.' }),
  })
  .meta({ id: 'SyncFileReceipt' })
export type SyncFileReceipt = z.infer<typeof syncFileReceiptSchema>

export const takenReceiptSchema = z
  .object({ success: z.literal(true).meta({ description: 'Always true.' }) })
  .meta({ id: 'TakenSyncReceipt' })
