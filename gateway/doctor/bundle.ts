import { arch, cpus, release, totalmem, uptime } from 'node:os'
import { gzipSync } from 'node:zlib'
import { z } from 'zod'
import { withSecretsOfFiles } from '#gateway/config.ts'
import { readSettingsFile } from '#gateway/settings-file.ts'
import { toIso } from '#shared/time.ts'
import { readVersion } from '#shared/version.ts'
import { databasePath } from '#store/db/files.ts'
import { countTables } from '#store/db/table-counts.ts'
import type { Examination } from './examine.ts'
import { lineOf } from './finding.ts'
import { attempt, type Machine } from './machine.ts'
import { SecretFilter, shownSettings } from './redact.ts'

const LINES = 500
/** Log fields whose texts the program itself writes. Of all other fields only numbers and booleans are included. */
const OPEN_FIELDS = ['level', 'time', 'msg', 'reason', 'detail', 'code', 'state', 'table', 'place', 'stream', 'kind']
const lineSchema = z.record(z.string(), z.unknown())

/** Reads the last journal lines of the gateway. Null without a journal, or if this user may not read it. */
async function readLog(machine: Machine, filter: SecretFilter): Promise<string[] | null> {
  const argv = ['-u', 'cartbarn', '-n', String(LINES), '-o', 'cat', '--no-pager', '--quiet']
  const output = await machine.ask('journalctl', argv)
  if (output === null) return null
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => filter.clean(openFieldsOf(line)))
}

/** Keeps the log fields without personal data. Lines that are not JSON, of a runtime or systemd, are kept whole. */
function openFieldsOf(line: string): string {
  const { data } = lineSchema.safeParse(parse(line))
  if (data === undefined) return line
  const open = Object.entries(data).filter(
    ([name, value]) =>
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      (OPEN_FIELDS.includes(name) && typeof value === 'string'),
  )
  return JSON.stringify(Object.fromEntries(open))
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

/** Packs everything support needs into one gzipped JSON document without keys, passwords, codes, names or positions. */
export async function packBundle(machine: Machine, examination: Examination): Promise<Buffer> {
  const { findings, settings, running } = examination
  const given = { ...givenIn(settings.file), ...settings.environment }
  const dataDir = settings.config?.dataDir
  // opening the database of a killed gateway would change what the next start reads
  const tables =
    running === undefined || dataDir === undefined ? undefined : attempt(() => countTables(databasePath(dataDir)))
  const filter = new SecretFilter(withSecretsOfFiles(given), tables?.private ?? [])
  const document = {
    made_at: toIso(machine.nowMs()),
    program: readVersion(),
    machine: {
      kernel: release(),
      architecture: arch(),
      cpus: cpus().length,
      memory_bytes: totalmem(),
      up_s: Math.round(uptime()),
    },
    findings: findings.map((finding) => filter.clean(lineOf(finding))),
    settings: shownSettings(given),
    // the subscriptions would show which users watch what
    health: running === undefined ? null : cleaned({ ...running.health, subscriptions: undefined }, filter),
    metrics: (await running?.read('/metrics'))?.split('\n').filter((line) => !line.startsWith('#')) ?? null,
    rows: tables?.rows ?? null,
    log: await readLog(machine, filter),
  }
  return gzipSync(`${JSON.stringify(document, null, 1)}\n`)
}

function givenIn(file: string | undefined): Record<string, unknown> {
  if (file === undefined) return {}
  return Object.fromEntries(
    Object.entries(attempt(() => readSettingsFile(file)) ?? {}).map(([name, value]) => [
      name.startsWith('CARTBARN_') ? name : `CARTBARN_${name}`,
      value,
    ]),
  )
}

function cleaned(value: object, filter: SecretFilter): unknown {
  return JSON.parse(JSON.stringify(value), (_name, inner) => (typeof inner === 'string' ? filter.clean(inner) : inner))
}
