import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { type RepairDialogue, type Repaired, repairDatabase } from '#gateway/offline/repair.ts'
import { CommandError, type CommandIo, EXIT, pathFrom, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { megabytes } from '#shared/files/free-space.ts'
import { systemClock } from '#shared/time.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

type Recovered = Parameters<RepairDialogue['table']>[0]
type Rebuilt = Parameters<RepairDialogue['mayReplace']>[0]
type Unreadable = Recovered['unreadable'][number]
type LostBlock = Rebuilt['lostBlocks'][number]

/** Maximum number of rows of one table, or of lost blocks, that are listed. */
const MAX_LINES = 1000

/** `cartbarn repair`: creates a new database from all readable data of a damaged one. */
export const repair: RunCommand = (argv, io) =>
  runCommand('repair', io, async () => {
    const command = createSettingsCommandLine('repair', io)
      .description(
        'Creates a new database from all readable data of a damaged one and reports unreadable data. It changes ' +
          'nothing in the old one, and asks before it replaces it with the new one; the old one is then kept in a ' +
          'folder next to it. The gateway must be stopped.',
      )
      .option('--data <dir>', 'the data folder [CARTBARN_DATA_DIR]')
      .option('--yes', 'put the new database in its place without asking')
    const { data, yes = false, config } = parseCommandLine(command, argv).opts()
    const dataDir = pathFrom(io, data ?? readSettings(config, io).dataDir)
    const repaired = await repairDatabase(dataDir, systemClock.nowMs(), dialogueOf(io, yes)).catch((error: unknown) => {
      throw new CommandError(describeError(error), { cause: error })
    })
    io.stdout.write(`${resultOf(dataDir, repaired)}\n`)
    return EXIT.ok
  })

function dialogueOf(io: CommandIo, yes: boolean): RepairDialogue {
  const say = (line: string) => io.stdout.write(`${line}\n`)
  return {
    space: (needed, free) => say(`A second database needs up to ${megabytes(needed)}; ${megabytes(free)} are free.`),
    noChecksums: () =>
      say('There are no checksums of pages on this system: wrong values on a page may pass for right ones.'),
    logDamage: say,
    wrongBits: (pages) =>
      say(
        'Of these pages one bit was wrong; their checksums say which, so nothing of them is missing: ' +
          `${pages.join(', ')}`,
      ),
    schemaDamage: (schema) => say(schemaText(schema)),
    table: (recovered) => {
      for (const line of linesOf(recovered)) say(line)
    },
    mayReplace: async (rebuilt, path) => {
      for (const line of summaryOf(rebuilt)) say(line)
      say(`The new database is whole: ${path}`)
      return yes || (io.stderr.isTTY === true && (await ask(io)))
    },
  }
}

async function ask(io: CommandIo): Promise<boolean> {
  const lines = createInterface({ input: io.stdin, output: io.stderr })
  try {
    const answer = await lines.question('Put it in the place of the old one, which is kept? [y/N] ', {
      signal: io.signal,
    })
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}

function schemaText({ found, lost }: Parameters<RepairDialogue['schemaDamage']>[0]): string {
  const text = 'The list of the tables was damaged. It was recreated'
  if (lost.length > 0) return `${text}, but the pages of these tables are unknown: ${lost.join(', ')}.`
  return found.length > 0 ? `${text}; these were found by their pages: ${found.join(', ')}.` : `${text}; all is in it.`
}

function linesOf({ table, rows, unreadable, refused, isComplete }: Recovered): string[] {
  if (isComplete) return [`${table}: all ${rows} rows`]
  const details = [
    ...unreadable.map((one) => `  ${describeUnreadable(one)}`),
    ...refused.map((key) => `  ${keyText(key)}: read, but it contradicts another row or is not a valid one`),
  ]
  return [`${table}: ${rows} rows, and some are missing:`, ...shortened(details)]
}

function describeUnreadable(unreadable: Unreadable): string {
  if ('key' in unreadable) return `${keyText(unreadable.key)}: cannot be read`
  const { after, isAfterIncluded = false, before } = unreadable
  if (after === null && before === null) return 'completely unreadable'
  const start = isAfterIncluded ? 'from' : 'after'
  const from = after === null ? 'from the beginning' : `${start} ${keyText(after)}`
  return `${from} ${before === null ? 'to the end' : `up to ${keyText(before)}`}: what was there cannot be read`
}

function keyText(key: Extract<Unreadable, { key: unknown }>['key']): string {
  return key.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)).join('/')
}

function summaryOf({ tables, lostBlocks, orphans }: Rebuilt): string[] {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const damaged = tables.filter(({ isComplete }) => !isComplete)
  return [
    ...(lostBlocks.length === 0
      ? []
      : ['Telemetry that is gone:', ...shortened(lostBlocks.map((block) => `  ${describeBlock(block)}`))]),
    ...[...orphans].map(([table, n]) => `${table}: ${n} rows were left out, as what they belong to is gone`),
    damaged.length === 0
      ? `All of the ${rows} rows of ${tables.length} tables could be read.`
      : `${rows} rows could be read; of these tables some could not: ${damaged.map(({ table }) => table).join(', ')}.`,
  ]
}

function describeBlock({ hardwareId, stream, firstMs, lastMs, count }: LostBlock): string {
  const who = hardwareId ?? 'a device that is not known any more'
  const many = count === null ? 'up to 2,048' : count
  const until = lastMs === null ? 'on' : `to ${new Date(lastMs).toISOString()}`
  return `${who}: ${many} records of ${stream} from ${new Date(firstMs).toISOString()} ${until}`
}

function resultOf(dataDir: string, { path, keptIn }: Repaired): string {
  if (keptIn !== null)
    return `It is in its place now. The old one is kept in ${keptIn}; delete that once you are sure. Start the gateway.`
  return [
    'It was not put in its place. To do so, with the gateway still stopped, call this command again with --yes, or:',
    `  cd '${dataDir}' && install -d -m 0700${ownerOptions(dataDir)} damaged && mv cartbarn.db* damaged/ && mv ` +
      `'${path}' cartbarn.db${existsSync(`${path}-sums`) ? ` && mv '${path}-sums' cartbarn.db-sums` : ''}`,
  ].join('\n')
}

/** Returns the options for root, whose folder the owner of the data folder could not read. */
function ownerOptions(dataDir: string): string {
  const { uid } = statSync(dataDir)
  if (process.geteuid?.() !== 0 || uid === 0) return ''
  const [user, group] = ['-nu', '-ng'].map((option) =>
    spawnSync('id', [option, String(uid)], { encoding: 'utf8' }).stdout.trim(),
  )
  return ` -o ${user || uid} -g ${group || uid}`
}

function shortened(lines: readonly string[]): string[] {
  if (lines.length <= MAX_LINES) return [...lines]
  return [...lines.slice(0, MAX_LINES), `  and ${lines.length - MAX_LINES} more`]
}
