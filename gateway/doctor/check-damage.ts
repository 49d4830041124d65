import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { describeError } from '#shared/errors.ts'
import { DAMAGE_CODES } from '#shared/wire/machine/findings.ts'
import { openReader } from '#store/db/connection.ts'
import { DAMAGE_NOTES, databasePath } from '#store/db/files.ts'
import { isMarkedOpen, requireWholeCopy } from '#store/db/open-marker.ts'
import { damagedBlocks } from '#store/telemetry/damaged-blocks.ts'
import { requireOwnFile } from '#store/upgrade/database-owner.ts'
import { type Finding, ok, shared, warning } from './finding.ts'
import { attempt } from './machine.ts'
import type { Running } from './running.ts'

const ABOUT = 'database'
const notedSchema = z.array(
  z.object({ place: z.string(), outcome: z.enum(['set_aside', 'mended', 'lost', 'unreadable']), detail: z.string() }),
)

/** Known damage, and the number of damaged `blocks` of telemetry. */
interface Damage {
  findings: z.infer<typeof notedSchema>
  blocks: number
}

/**
 * Reports known damage: as a running gateway reports it to an admin, else from the files in the data folder. Warns if
 * this user may read neither.
 */
export function checkDamage(dataDir: string, running: Running | undefined): Finding[] {
  const damage = running?.isAdmin === true ? reportedBy(running) : foundIn(dataDir, running !== undefined)
  if (damage === undefined)
    return [warning(ABOUT, 'this user cannot read the records of damage', 'sudo cartbarn doctor')]
  const { findings, blocks } = damage
  const all = findings.map(({ place, outcome, detail }) => shared(DAMAGE_CODES[outcome], { place, detail }))
  if (blocks > 0) all.push(shared('telemetry_damaged', { blocks }))
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

function reportedBy({ health }: Running): Damage {
  return { findings: health.damage ?? [], blocks: health.damaged_telemetry?.blocks ?? 0 }
}

function foundIn(dataDir: string, isRunning: boolean): Damage | undefined {
  const findings = notedIn(dataDir)
  if (findings === undefined) return undefined
  const path = databasePath(dataDir)
  // opening the database of a killed gateway would change what the next start reads
  const counted = isRunning || !isMarkedOpen(path) ? attempt(() => countIn(path)) : undefined
  return { findings, blocks: counted?.blocks ?? 0 }
}

function notedIn(dataDir: string): Damage['findings'] | undefined {
  try {
    return notedSchema.parse(JSON.parse(readFileSync(join(dataDir, DAMAGE_NOTES), 'utf8')))
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? [] : undefined
  }
}

function countIn(path: string): { blocks: number } {
  const reader = openReader(path)
  try {
    return damagedBlocks(reader)
  } finally {
    reader.close()
  }
}
