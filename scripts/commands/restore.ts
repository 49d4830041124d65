import { backupPlaceOf } from '#gateway/offline/backup-places.ts'
import { type Restored, restoreBackup } from '#gateway/offline/restore.ts'
import { EXIT, pathFrom, type RunCommand, runCommand, UsageError } from '#scripts/cli/command.ts'
import { parseCommandLine } from '#scripts/cli/command-line.ts'
import { grouped, Progress } from '#scripts/cli/progress.ts'
import { systemClock, toIso } from '#shared/time.ts'
import { createBackupCommandLine, inWords, passphraseIn } from './backup-options.ts'
import { readSettings } from './gateway-settings.ts'
import { restoreFromUpstream } from './restore-from-upstream.ts'

/** `cartbarn restore`: replaces the current database with that of a backup. */
export const restore: RunCommand = (argv, io) =>
  argv.includes('--from-upstream') ? restoreFromUpstream(argv, io) : restoreFromBackup(argv, io)

const restoreFromBackup: RunCommand = (argv, io) =>
  runCommand('restore', io, async () => {
    const command = createBackupCommandLine('restore', io)
      .argument('<source>', 'a file of cartbarn backup, a folder of backups, or s3://BUCKET/PREFIX')
      .description(
        'Replaces the database in the data folder with that of a backup; the old one is kept in a ' +
          'folder next to it. It checks every part first. It keeps what was revoked since: users that were ' +
          'deleted, keys ' +
          'and passwords that were replaced. The gateway must be stopped. With cartbarn backup it moves a gateway to ' +
          'another machine.',
      )
      .option('--number <n>', 'of a folder or bucket: the backup of this number, instead of the newest')
      .option('--force', 'also when the database that is there has what the backup lacks')
      .addHelpText('after', '\ncartbarn restore --from-upstream --help describes how to recreate it from the hub.')
    const parsed = parseCommandLine(command, argv)
    const { data, passphraseFile, config, number, force = false, quiet = false } = parsed.opts()
    const [source] = parsed.processedArgs
    const progress = new Progress(io.stderr, quiet)
    const dataDir = pathFrom(io, data ?? readSettings(config, io).dataDir)
    const restored = await inWords(
      () =>
        restoreBackup({
          dataDir,
          isForced: force,
          atMs: systemClock.nowMs(),
          number: numberOf(number),
          passphrase: passphraseIn(passphraseFile, io),
          from: backupPlaceOf(source, 'read', {
            folder: io.folder,
            readS3: () => readSettings(config, io).backupS3,
          }),
          onPart: (done, all) => progress.show(done / all, `${grouped(done)} of ${grouped(all)} parts`),
        }),
      '. Nothing was changed.',
    ).finally(() => progress.end())
    io.stdout.write(`${linesOf(restored, dataDir).join('\n')}\n`)
    return EXIT.ok
  })

function linesOf({ manifest, keptIn, lost, leftOut, carriedOver, authority }: Restored, dataDir: string): string[] {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  return [
    `The backup of ${toIso(manifest.atMs)} by ${manifest.program} is in ${dataDir}: ${grouped(rows)} rows.`,
    ...(keptIn === null ? [] : [`The database that was there is kept in ${keptIn}; delete it once you are sure.`]),
    ...listed('The backup lacks, and that one has:', lost),
    ...listed('Tables that this program does not know, which were not restored:', leftOut),
    ...(carriedOver === null ? [] : revokedLines(carriedOver)),
    ...listed('Not in the backup; see to it:', manifest.lacks),
    AUTHORITY_TEXT[authority],
    'To a hub it is a new epoch: nothing there is overwritten. Start the gateway.',
  ]
}

const AUTHORITY_TEXT: Record<Restored['authority'], string> = {
  restored:
    'The TLS authority of the backup is in the folder: tablets and devices that trust it need nothing, if this ' +
    'machine has the name or the addresses of the old one ("cartbarn tls status").',
  kept: 'The TLS authority in the folder was kept.',
  missing:
    'No TLS authority: the backup has none. If the old gateway had one ("cartbarn tls init"), copy its ' +
    'tls/authority.pem into tls/ of the folder, for the user of the gateway only (0600), or each tablet and ' +
    'device must trust another one.',
}

function revokedLines({ isSameGateway, kept, rest }: NonNullable<Restored['carriedOver']>): string[] {
  if (!isSameGateway)
    return ['That database is of another gateway: of what was revoked since the backup nothing is known.']
  return [
    ...listed('Kept from that one, as it was changed since the backup:', kept),
    ...listed('Done since the backup and not done any more:', rest),
  ]
}

function listed(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`)]
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new UsageError('--number: must be the number of a backup')
  return number
}
