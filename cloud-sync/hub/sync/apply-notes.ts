import type { Sql } from '#hub/store/database/database.ts'
import { insertGap } from '#hub/store/gaps.ts'
import { finishIntent } from '#hub/store/intents.ts'
import { eraseRecords, insertErasure } from '#hub/store/telemetry/erasures.ts'
import { describeError } from '#shared/errors.ts'
import { eraseSchema, gapSchema, intentResultSchema, type NoteSyncRow } from '#shared/wire/sync.ts'
import type { RowsTarget } from './apply-rows.ts'

const BODIES = { gap: gapSchema, erase: eraseSchema, intent_result: intentResultSchema } as const

/** Why a note of a kind this hub knows cannot be applied. */
export function checkNote({ kind, body }: NoteSyncRow): string | undefined {
  if (!isKnownKind(kind)) return undefined
  const parsed = BODIES[kind].safeParse(body)
  return parsed.success ? undefined : describeError(parsed.error)
}

/** Does what a note says. After a fork notes come again: then it was done, and data may have come since. */
export async function applyNote(
  sql: Sql,
  note: NoteSyncRow,
  { siteId, epoch, nowMs, isResend, isKnown }: RowsTarget & { readonly isKnown: boolean },
): Promise<void> {
  const { note_id, kind, at_ms, body } = note
  if (kind === 'gap' && !isKnown) await insertGap(sql, siteId, note_id, gapSchema.parse(body), at_ms)
  if (kind === 'intent_result' && !isKnown) {
    await finishIntent(sql, siteId, intentResultSchema.parse(body), at_ms)
  }
  if (kind !== 'erase') return
  const erase = eraseSchema.parse(body)
  // of another epoch too: the positions of its database go on
  await insertErasure(sql, siteId, epoch, note_id, erase, { atMs: at_ms, nowMs })
  if (isKnown) return
  const erased = { hardwareId: erase.hardware_id, streams: erase.kinds }
  // what an audit sends again comes behind data that was measured since
  await eraseRecords(sql, siteId, erased, isResend ? at_ms : undefined)
}

function isKnownKind(kind: string): kind is keyof typeof BODIES {
  return Object.hasOwn(BODIES, kind)
}
