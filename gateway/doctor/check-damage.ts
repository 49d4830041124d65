import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { describeError } from '#shared/errors.ts'
import { openReader } from '#store/db/connection.ts'
import { DAMAGE_NOTES, databasePath } from '#store/db/files.ts'
import { isMarkedOpen, requireWholeCopy } from '#store/db/open-marker.ts'
import { damagedBlocks } from '#store/telemetry/damaged-blocks.ts'
import { requireOwnFile } from '#store/upgrade/database-owner.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'database'
/** Instruction that a finding about damage ends with. */
export const REPAIR =
  'stop the gateway, then: cartbarn repair; see docs/when-something-is-wrong.md, Something is damaged'
const notedSchema = z.array(z.object({ place: z.string(), outcome: z.string(), detail: z.string() }))

/** Known damage; `blocks` of telemetry and their `records`, as far as they could be counted. */
interface Damage {
  findings: z.infer<typeof notedSchema>
  blocks: number
  records: number
}

/**
 * Reports known damage: as a running gateway reports it to an admin, else from the files in the data folder. Warns if
 * this user may read neither.
 */
export function checkDamage(dataDir: string, running: Running | undefined): Finding[] {
  const damage = running?.isAdmin === true ? reportedBy(running) : foundIn(dataDir, running !== undefined)
  if (damage === undefined)
    return [warning(ABOUT, 'this user cannot read the records of damage', 'sudo cartbarn doctor')]
  const { findings, blocks, records } = damage
  const all = findings.map(({ place, outcome, detail }) =>
    outcome === 'mended'
      ? warning(ABOUT, `${place}: ${detail}`, 'watch the disk')
      : failure(ABOUT, `${place}: ${detail}`, REPAIR),
  )
  if (blocks > 0) all.push(failure(ABOUT, telemetryInWords(blocks, records), REPAIR))
  return all.length === 0 ? [ok(ABOUT, 'no damage is known')] : all
}

/** Reason why a gateway would refuse to start with this database, by the file alone; undefined if it would start. */
export function databaseRefusal(dataDir: string): string | undefined {
  const path = databasePath(dataDir)
  try {
    requireOwnFile(path)
    requireWholeCopy(path)
    return undefined
  } catch (error) {
    return describeError(error)
  }
}

function telemetryInWords(blocks: number, records: number): string {
  const what = blocks === 1 ? '1 block of telemetry is damaged' : `${blocks} blocks of telemetry are damaged`
  return `${what} (${records === 0 ? 'unknown number of records' : `${records} known records`})`
}

function reportedBy({ health }: Running): Damage {
  const { blocks = 0, records = 0 } = health.damaged_telemetry ?? {}
  return { findings: health.damage ?? [], blocks, records }
}

function foundIn(dataDir: string, isRunning: boolean): Damage | undefined {
  const findings = notedIn(dataDir)
  if (findings === undefined) return undefined
  const path = databasePath(dataDir)
  // opening the database of a killed gateway would change what the next start reads
  const counted = isRunning || !isMarkedOpen(path) ? attempt(() => countIn(path)) : undefined
  return { findings, blocks: counted?.blocks ?? 0, records: counted?.records ?? 0 }
}

function notedIn(dataDir: string): Damage['findings'] | undefined {
  try {
    return notedSchema.parse(JSON.parse(readFileSync(join(dataDir, DAMAGE_NOTES), 'utf8')))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? [] : undefined
  }
}

function countIn(path: string): { blocks: number; records: number } {
  const reader = openReader(path)
  try {
    return damagedBlocks(reader)
  } finally {
    reader.close()
  }
}
