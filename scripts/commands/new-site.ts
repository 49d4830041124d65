import type { Config } from '#gateway/config.ts'
import { beginNewSite, keepCourse, type NewSite } from '#gateway/offline/new-site.ts'
import { initTls } from '#gateway/offline/tls-files.ts'
import { CommandError, EXIT, pathFrom, type RunCommand, runCommand, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { systemClock } from '#shared/time.ts'
import { typedCommand } from '#shared/typed-command.ts'
import { actAsOwnerOf } from './data-owner.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** `cartbarn new-site`: makes a copied card the gateway of another course, or records that it is the same one. */
export const newSite: RunCommand = (argv, io) =>
  runCommand('new-site', io, async () => {
    const command = createSettingsCommandLine('new-site', io)
      .description(
        'Makes a copied card, or a copied data folder, the gateway of another course. It begins a database with an ' +
          'identity and keys of its own; from the first course it takes device types, groups, their ' +
          'configurations and ' +
          'the settings of the site but its name. Carts, zones, people, history and keys of the first course are ' +
          'kept ' +
          'in a separate folder and not used. The gateway must be stopped. As root it acts as the owner of the ' +
          'folder.',
      )
      .option('--data <dir>', 'the data folder [CARTBARN_DATA_DIR]')
      .option('--yes', 'do it')
      .option('--same-course', 'change nothing: this is the same course on a new machine')
    const { data, yes = false, sameCourse = false, config } = parseCommandLine(command, argv).opts()
    if (yes && sameCourse) throw new UsageError('--yes starts another course, which contradicts --same-course')
    const settings = readSettings(config, io)
    const dataDir = pathFrom(io, data ?? settings.dataDir)
    if (!yes && !sameCourse)
      throw new UsageError(
        `this begins another course in ${dataDir}: --yes is needed; if it is the same course on a new machine, ` +
          '--same-course',
      )
    actAsOwnerOf(dataDir)
    const lines = sameCourse
      ? await confirm({ ...settings, dataDir })
      : begin({ ...settings, dataDir }, systemClock.nowMs())
    io.stdout.write(`${lines.join('\n')}\n`)
    return EXIT.ok
  })

async function confirm(config: Config): Promise<string[]> {
  await keepCourse(config).catch(fail)
  return ['Start the gateway: the course continues on this machine with all its data.']
}

function begin(config: Config, nowMs: number): string[] {
  const begun = attempt(() => beginNewSite(config.dataDir, nowMs))
  const lines = linesOf(begun, config.upstream?.siteId)
  if (begun.hasItsAuthority) replaceAuthority(config, nowMs, lines)
  return lines
}

/** Replaces the authority: tablets of another course trust it, so its key must not stay in use here. */
function replaceAuthority(config: Config, nowMs: number, lines: readonly string[]): void {
  try {
    initTls(config, { names: [], isReplacing: true, nowMs })
  } catch (error) {
    throw new CommandError(
      `the other course is begun, but it still has the authority of the first one (${describeError(error)}): ` +
        `type "${typedCommand('tls init --replace')}". ${lines.join(' ')}`,
      { cause: error },
    )
  }
}

function attempt<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    return fail(error)
  }
}

function fail(error: unknown): never {
  throw new CommandError(describeError(error), { cause: error })
}

function linesOf({ site, devices, keptIn, hasItsAuthority }: NewSite, upstreamSite: string | undefined): string[] {
  const isStillFirst = upstreamSite !== undefined && upstreamSite === site
  return [
    `The first course (${devices} devices) is kept in ${keptIn}; delete it if it is of no use here.`,
    ...(isStillFirst
      ? [
          `CARTBARN_SITE_ID is still ${site}, the first course: before the start set CARTBARN_SITE_ID and ` +
            'CARTBARN_UPSTREAM_KEY to those of the new one (hub site add), or remove them.',
        ]
      : []),
    ...(hasItsAuthority ? ['It has a TLS authority of its own: each tablet must trust it once, at /trust.'] : []),
    'A certificate and its key next to the data folder also belong to the first course: give this one its own.',
    'Start the gateway: it writes the key of its first admin into admin-key.txt of the data folder. Then ' +
      'register the carts.',
  ]
}
