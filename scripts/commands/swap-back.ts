import { spawnSync } from 'node:child_process'
import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readService } from '#gateway/doctor/service.ts'
import { type RollbackResult, swapDataBack } from '#gateway/offline/roll-back.ts'
import { CommandError, type CommandIo, EXIT, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { createCommandLine, parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { syncPath } from '#shared/files/durable.ts'
import { systemClock } from '#shared/time.ts'
import { programVersion } from '#shared/version.ts'
import { readSettings } from './gateway-settings.ts'
import { FAILURE_PROPERTIES, readFailure, reasonOf } from './service-failure.ts'

const UNIT = 'cartbarn.service'
const PROGRAMS = '/usr/lib/cartbarn'
const PROGRAM = 'cartbarn'
const PREVIOUS = `${PROGRAM}.previous`
/** Temporary name, so that the program is replaced completely or not at all. */
const NEXT = `${PROGRAM}.swap`
const LAST_LINES = 50
const MAX_BYTES = 16 << 20

/** `cartbarn swap-back`: called by systemd when the service has failed. */
export const swapBack: RunCommand = (argv, io) =>
  runCommand('swap-back', io, async () => {
    const command = createCommandLine('swap-back', io)
      .description(
        'For systemd, which calls it as root when the service has failed. A new program that could not run after ' +
          'an upgrade ' +
          'and was never ready is replaced by the one before it, which this is, once, and the database by its ' +
          'copy from before ' +
          'the upgrade. Then, and after any other fault, the service is started again. After a wrong ' +
          'setting, or if it was stopped manually, nothing is done.',
      )
      .option('--programs <dir>', 'where the program and the one before it are', PROGRAMS)
    const { programs } = parseCommandLine(command, argv).opts()
    const shown = ask(io, 'systemctl', [
      'show',
      UNIT,
      '--property=LoadState,Environment,ExecStart',
      ...FAILURE_PROPERTIES.map((name) => `--property=${name}`),
    ])
    const properties = propertiesIn(shown)
    const failure = readFailure(properties)
    if (failure !== 'too_often') {
      io.stdout.write(`${UNIT} is left as it is: ${WHY_LEFT[failure ?? 'none']}.\n`)
      return EXIT.ok
    }
    io.stdout.write(`${swap(programs, shown, properties, io)}\n`)
    // whatever the failure, the service must not stay down
    ask(io, 'systemctl', ['reset-failed', UNIT])
    ask(io, 'systemctl', ['start', '--no-block', UNIT])
    return EXIT.ok
  })

const WHY_LEFT = {
  none: 'it has not failed',
  setting: 'a setting is wrong, and only a person can help',
  stopped: 'it was stopped manually',
}

/** Replaces the failed program with this one if the upgrade caused the failure; returns a description of the action. */
function swap(programs: string, shown: string, properties: ReadonlyMap<string, string>, io: CommandIo): string {
  const version = attempt(() => ask(io, 'dpkg-query', ['--show', 'cartbarn']).split('\t')[1]) ?? ''
  if (!hasOtherBefore(programs) || version === programVersion())
    return 'There is no upgrade to undo: the service is started again.'
  try {
    const lines = attempt(() => lastLines(io)) ?? []
    const service = readService(shown)
    const { dataDir } = readSettings(service?.configFile, { ...io, env: service?.environment ?? {} })
    const upgrade = {
      dataDir,
      version: version || 'of an unknown version',
      nowMs: systemClock.nowMs(),
      reason: reasonOf(properties, lines),
    }
    // never acts as root in the folder of the service
    const back = asOwnerOf(dataDir, () => swapDataBack(upgrade))
    if (!back.isBack) return `The new program stays and is started again: ${back.why}.`
    putBefore(programs)
    return inWords(back, upgrade)
  } catch (error) {
    return `The new program stays and is started again, as this one cannot take its place: ${describeError(error)}.`
  }
}

function inWords(
  { tookDatabaseBack }: RollbackResult & { isBack: true },
  upgrade: { version: string; reason: string },
) {
  const database = tookDatabaseBack ? ', with the database from before the upgrade' : ''
  return `cartbarn ${upgrade.version} does not run (${upgrade.reason}): ${programVersion()} is back${database}.`
}

/** After a swap both names belong to one file, so that there is no second one. */
function hasOtherBefore(programs: string): boolean {
  const [previous, program] = [PREVIOUS, PROGRAM].map((name) => join(programs, name))
  if (previous === undefined || program === undefined || !existsSync(previous)) return false
  return !existsSync(program) || statSync(previous).ino !== statSync(program).ino
}

function putBefore(programs: string): void {
  const next = join(programs, NEXT)
  rmSync(next, { force: true })
  linkSync(join(programs, PREVIOUS), next)
  renameSync(next, join(programs, PROGRAM))
  syncPath(programs)
}

function asOwnerOf<Result>(folder: string, work: () => Result): Result {
  const { seteuid, setegid } = process
  if (process.geteuid?.() !== 0 || seteuid === undefined || setegid === undefined) return work()
  const { uid, gid } = statSync(folder)
  setegid(gid)
  try {
    seteuid(uid)
    return work()
  } finally {
    seteuid(0)
    setegid(0)
  }
}

function lastLines(io: CommandIo): string[] {
  const from = [`_SYSTEMD_UNIT=${UNIT}`, `--lines=${LAST_LINES}`, '--output=cat', '--no-pager', '--quiet']
  return ask(io, 'journalctl', from).split('\n')
}

/** Returns the output of a system program. Throws a `CommandError` if it is missing or fails. */
function ask({ env }: CommandIo, program: string, argv: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync(program, argv, {
    env,
    encoding: 'utf8',
    maxBuffer: MAX_BYTES,
  })
  if (error !== undefined) throw new CommandError(`cannot run ${program}: ${error.message}`, { cause: error })
  if (status !== 0) throw new CommandError(`${program} ${argv[0]} failed: ${stderr.trim().split('\n').at(-1)}`)
  return stdout.trim()
}

function propertiesIn(shown: string): ReadonlyMap<string, string> {
  return new Map(
    shown.split('\n').map((line) => {
      const [name = '', ...value] = line.split('=')
      return [name, value.join('=')]
    }),
  )
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
