import { z } from 'zod'
import type { Machine } from './machine.ts'
import type { SecretFilter } from './without-secrets.ts'

const LINES = 500
/** Fields of the log whose texts are of the program's own making; of others only numbers and yes or no are shown. */
const OPEN_FIELDS = [
  'level',
  'time',
  'msg',
  'reason',
  'detail',
  'code',
  'state',
  'table',
  'place',
  'stream',
  'kind',
]
const lineSchema = z.record(z.string(), z.unknown())

/** The last lines of the journal about the gateway; null where there is no journal, or this user may not read it. */
export async function readLog(machine: Machine, filter: SecretFilter): Promise<string[] | null> {
  const argv = ['-u', 'cartbarn', '-n', String(LINES), '-o', 'cat', '--no-pager', '--quiet']
  const output = await machine.ask('journalctl', argv)
  if (output === null) return null
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => filter.clean(openFieldsOf(line)))
}

/** Of a line of ours the fields that say nothing of people; any other line is from a runtime or from systemd. */
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
