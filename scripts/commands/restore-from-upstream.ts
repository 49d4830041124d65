import { type RebuiltGateway, rebuildFromUpstream } from '#gateway/offline/rebuild.ts'
import { CommandError, type CommandIo, EXIT, pathFrom, type RunCommand, runCommand } from '#scripts/cli/command.ts'
import { number, parseCommandLine } from '#scripts/cli/command-line.ts'
import { describeError } from '#shared/errors.ts'
import { systemClock, toIso } from '#shared/time.ts'
import type { RebuildOffer } from '#shared/wire/replication/rebuild.ts'
import { createSettingsCommandLine, readSettings } from './gateway-settings.ts'

/** Rows and records between two lines of progress. */
const REPORT_EVERY = 500_000

/** `cartbarn restore --from-upstream`: recreates the database of a lost gateway from the hub's data. */
export const restoreFromUpstream: RunCommand = (argv, io) =>
  runCommand('restore', io, async () => {
    const command = createSettingsCommandLine('restore', io)
      .description(
        'Recreates the database of a lost gateway from the data of the site at its hub: positions, ' +
          'voltages, events, devices, groups, zones, configurations, users, the audit log. The hub has no ' +
          'passwords and keys: they are taken from an older database (--secrets-from), or recreated and written into ' +
          'new-credentials.csv of the data folder. The folder must have no database. When it is interrupted, call it ' +
          'again: it continues where it stopped.',
      )
      .requiredOption('--from-upstream', 'from the hub at CARTBARN_UPSTREAM_URL')
      .option('--secrets-from <file>', 'the cartbarn.db of a backup, of any age')
      .option('--retry-for <s>', 'seconds to retry while the hub is unreachable', number(0, 1e9), 300)
    const { config, secretsFrom, retryFor } = parseCommandLine(command, argv).opts()
    let reported = 0
    const rebuilt = await rebuildFromUpstream({
      config: readSettings(config, io),
      secretsFrom: secretsFrom === undefined ? undefined : pathFrom(io, secretsFrom),
      retryForS: retryFor,
      nowMs: systemClock.nowMs(),
      signal: io.signal,
      onOffer: (offer, isResumed) => io.stdout.write(`${offerText(offer, isResumed)}\n`),
      onProgress: ({ kind, rows, records }) => {
        if (rows + records < reported + REPORT_EVERY) return
        reported = rows + records
        io.stderr.write(`${kind ?? 'done'}: ${figure(rows)} rows, ${figure(records)} positions and voltages\n`)
      },
      onAway: (detail) => io.stderr.write(`waiting for the hub: ${detail}\n`),
    }).catch((error: unknown) => {
      throw new CommandError(describeError(error), { cause: error })
    })
    printResult(io, rebuilt)
    return EXIT.ok
  })

function offerText(
  { site, last_seen_ms: lastSeenMs, backlog_rows: backlog }: RebuildOffer,
  isResumed: boolean,
): string {
  const lastSeen = lastSeenMs === null ? 'never' : toIso(lastSeenMs)
  // rows may have arrived after the report that counted them
  const open =
    backlog === null || backlog === 0
      ? ''
      : ` By its last report the gateway still had ${figure(backlog)} rows to send; which of them arrived later ` +
        'is not known.'
  return (
    `${isResumed ? 'Continuing with' : 'Fetching'} site ${site}, last seen by the hub at ${lastSeen}.${open} The hub ` +
    'has no data that the gateway recorded after that.'
  )
}

function printResult({ stdout }: CommandIo, { progress, path, credentials }: RebuiltGateway): void {
  const lines = [
    `${path} has ${figure(progress.rows)} rows and ${figure(progress.records)} positions and voltages. Start ` +
      'the gateway.',
    ...(credentials === null
      ? []
      : [
          `${credentials.path} has ${credentials.devices} new MQTT passwords of devices and ` +
            `${credentials.users} new API keys of users: the old ones are invalid. Hand them out, then delete it.`,
        ]),
    'If the admin has no key any more, the first start writes a new one into admin-key.txt of the data folder.',
    'The hub never has: webhooks, notifiers, PINs, browsers that are signed in, and earlier sets of ' +
      'zones. What of them --secrets-from did not bring must be set up again.',
  ]
  stdout.write(`${lines.join('\n')}\n`)
}

function figure(count: number): string {
  return count.toLocaleString('en-US')
}
