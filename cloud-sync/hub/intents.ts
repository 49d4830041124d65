import type { z } from 'zod'
import type { Database } from '#hub/store/database/database.ts'
import { recordIntentsAsked, sendIntents, waitingIntents } from '#hub/store/intents.ts'
import type { Intent, intentsAnswerSchema } from '#shared/wire/replication/sync.ts'
import type { IntentWatch } from './intent-watch.ts'

const INTENTS_AT_ONCE = 100

/**
 * Returns the intents of a site after `after` as soon as there are any, or an empty list after `waitMs`. `admit` throws
 * if the key is no longer valid; it is called again after the wait.
 */
export async function nextIntents(
  { database, intentWatch }: { database: Database; intentWatch: IntentWatch },
  siteId: string,
  {
    after,
    waitMs,
    signal,
    admit,
  }: { after: number; waitMs: number; signal: AbortSignal; admit: () => Promise<unknown> },
): Promise<z.infer<typeof intentsAnswerSchema>> {
  const last = await recordIntentsAsked(database, siteId, after)
  const read = async () => ({ intents: await readIntents(database, siteId, after) })
  const found = await read()
  if (found.intents.length > 0 || waitMs === 0) return found
  // all intents up to the last one have a result: no need to read them
  await intentWatch.wait(siteId, Math.max(after, last), waitMs, signal)
  if (signal.aborted) return { intents: [] }
  await admit()
  return read()
}

async function readIntents(database: Database, siteId: string, after: number): Promise<Intent[]> {
  const isAny = (await waitingIntents(database, siteId, after, 1)).length > 0
  const rows = isAny ? await sendIntents(database, siteId, after, INTENTS_AT_ONCE) : []
  return rows.map(({ intentId, seq, kind, body, issuedAtMs, expiresAtMs, baseRev }) => ({
    intent_id: intentId,
    seq,
    kind,
    // written from a JSON object
    body: JSON.parse(body) as Record<string, unknown>,
    issued_at_ms: issuedAtMs,
    expires_at_ms: expiresAtMs,
    base_rev: baseRev,
  }))
}
