import { beginNewSite, type NewSite } from '#gateway/new-site.ts'
import {
  CommandError,
  EXIT,
  pathFrom,
  type RunCommand,
  runCommand,
  UsageError,
} from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { systemClock } from '#shared/time.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** `cartbarn new-site`: makes a copied card the gateway of another course. */
export const newSite: RunCommand = (argv, io) =>
  runCommand('new-site', io, async () => {
    const command = createSettingsCommandLine('new-site', io)
      .description(
        'Makes a copied card, or a copied data folder, the gateway of another course. It begins a database with an ' +
          'identity and keys of its own; from the first course it takes device types, groups, their configurations and ' +
          'the settings of the site but its name. Carts, zones, people, history and keys of the first course are kept ' +
          'in a folder beside and nowhere used. The gateway must be stopped.',
      )
      .option('--data <dir>', 'the data folder [CARTBARN_DATA_DIR]')
      .option('--yes', 'do it')
    const { data, yes = false, config } = parseCommandLine(command, argv).opts()
    const settings = readSettings(config, io)
    const dataDir = pathFrom(io, data ?? settings.dataDir)
    if (!yes) throw new UsageError(`this begins another course in ${dataDir}: --yes is needed`)
    const begun = begin(dataDir)
    io.stdout.write(`${linesOf(begun, settings.upstream?.siteId).join('\n')}\n`)
    return EXIT.ok
  })

function begin(dataDir: string): NewSite {
  try {
    return beginNewSite(dataDir, systemClock.nowMs())
  } catch (error) {
    throw new CommandError(describeError(error), { cause: error })
  }
}

function linesOf({ site, devices, keptIn }: NewSite, upstreamSite: string | undefined): string[] {
  const isStillFirst = upstreamSite !== undefined && upstreamSite === site
  return [
    `The first course (${devices} devices) is kept in ${keptIn}; delete it if it is of no use here.`,
    ...(isStillFirst
      ? [
          `CARTBARN_SITE_ID is still ${site}, the first course: before the start set CARTBARN_SITE_ID and CARTBARN_UPSTREAM_KEY to those of the new one (hub site add), or remove them.`,
        ]
      : []),
    'A certificate and its key beside the data folder are those of the first course too: give this one its own.',
    'Start the gateway: it writes the key of its first admin into admin-key.txt of the data folder. Then register the carts.',
  ]
}
